"""What mkdocs does while it builds the site: it adds the reference, which is made from the program,
and the files of the repository that a page links to, such as the experiments in research/. A
screenshot is shown as the reader's screen is: narrow or wide, light or dark."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from posixpath import dirname, join, normpath, relpath
from typing import Any

from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).parent))

from reference import PAGES, ROOT

LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\])\(((?!\w+:|#)[^)\s#]+)(#[^)\s]*)?\)")
PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)\s]*screenshots/en-)wide-light(/[\w-]+\.webp)\)")
MADE = re.compile(r'<a id="([\w-]+)"></a>([^|]+?) \|')  # a row of the reference in a checkout
INDEX = "docs/reference/index.md"
SOURCE = "source"  # where the files of the repository are on the site
LANGUAGES = {".py": "python", ".toml": "toml", ".yml": "yaml", ".json": "json"}


def on_files(files: Any, config: Any) -> Any:
    for path, make in PAGES.items():
        files.append(File.generated(config, path, content=make()))
    docs = [ROOT / "docs" / file.src_uri for file in files.documentation_pages()]
    for path in _linked(page for page in docs if page.exists()):
        name = f"{SOURCE}/{path}"
        if path.endswith(".md"):
            files.append(File.generated(config, name, content=(ROOT / path).read_text("utf-8")))
        elif path.endswith(".svg"):
            files.append(File.generated(config, name, abs_src_path=str(ROOT / path)))
        else:
            files.append(File.generated(config, f"{name}.md", content=_listing(path)))
    return files


def _linked(pages: Iterator[Path]) -> list[str]:
    """The files outside docs/ that pages lead to; an experiment may lead to others."""
    found, waiting = set[str](), list(pages)
    while waiting:
        page = waiting.pop()
        of_research = page.is_relative_to(ROOT / "research")
        for _, target, _ in LINK.findall(page.read_text(encoding="utf-8")):
            path = normpath(join(str(page.relative_to(ROOT).parent), target))
            if path.startswith(("docs/", "..")) or path in found or not (ROOT / path).is_file():
                continue
            if of_research and not path.startswith("research/"):
                continue
            found.add(path)
            waiting += (
                [ROOT / path] if path.startswith("research/") and path.endswith(".md") else []
            )
    return sorted(found)


def _listing(path: str) -> str:
    text = (ROOT / path).read_text(encoding="utf-8").rstrip()
    return f"# {path}\n\n````{LANGUAGES.get(Path(path).suffix, 'text')}\n{text}\n````\n"


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Links to the repository lead to its files on the site, and to what is not there by its path
    in words. A link to nothing is an error."""
    here = page.file.src_uri
    outside = here.startswith(f"{SOURCE}/")
    if outside:
        page.meta["search"] = {"exclude": True}  # who searches wants the guides
    elif here.startswith("decisions/"):
        page.meta["search"] = {"boost": 0.02}
    elif here == "reference/glossary.md":
        page.meta["search"] = {"boost": 4}  # who asks for a word wants to know what it means
    if outside and Path(here.removesuffix(".md")).suffix:
        return markdown  # a listing: what looks like a link in it is none
    if here == INDEX.removeprefix("docs/"):
        markdown = MADE.sub(r"[\2](\1.md) |", markdown)
    origin = here.removeprefix(f"{SOURCE}/") if outside else join("docs", here)

    def led(link: re.Match[str]) -> str:
        path = normpath(join(dirname(origin), link[2]))
        if path == INDEX and link[3]:  # the page itself, which only the site has
            return f"{link[1]}({link[2].removesuffix('index.md')}{link[3].lstrip('#')}.md)"
        if not outside and path.startswith("docs/"):
            return link[0]
        if not (ROOT / path).exists() and path.removeprefix("docs/") not in PAGES:
            raise ValueError(f"{here}: there is no {path} in the repository")
        on_site = path.removeprefix("docs/") if path.startswith("docs/") else f"{SOURCE}/{path}"
        for name in (on_site, f"{on_site}.md"):
            if files.get_file_from_path(name):
                return f"{link[1]}({relpath(name, dirname(here) or '.')}{link[3] or ''})"
        words = link[1].strip("![]")
        return f"{words} (`{path}`)" if words.strip("`") != path else f"`{path}`"

    return PICTURE.sub(_as_the_screen, LINK.sub(led, markdown))


def _as_the_screen(picture: re.Match[str]) -> str:
    shown = []
    for size in ("wide", "phone"):
        for scheme in ("light", "dark"):
            path = f"{picture[2]}{size}-{scheme}{picture[3]}"
            shown.append(f"![{picture[1]}]({path}#only-{scheme}){{ .{size} loading=lazy }}")
    return "\n".join(shown)


def on_post_page(output: str, page: Any, config: Any) -> str:
    """The search of a page that is opened from disk is ours, and is not fetched from elsewhere."""
    up = "../" * page.file.dest_uri.count("/")
    return output.replace("https://unpkg.com/iframe-worker/shim", f"{up}site/worker.js")
