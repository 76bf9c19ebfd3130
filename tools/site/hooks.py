"""What mkdocs does while it builds the site: it adds the reference, which is made from the program,
and says of a link out of docs/ where in the repository it leads, since that is not on the site."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any

from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).parent))

from reference import PAGES, ROOT

OUTSIDE = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\((\.\./[^)\s#]+)(?:#[^)\s]*)?\)")


def on_files(files: Any, config: Any) -> Any:
    for path, make in PAGES.items():
        files.append(File.generated(config, path, content=make()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """A link to a file of the repository becomes its words and its path."""
    if page.file.src_uri.startswith("decisions/"):
        page.meta["search"] = {"boost": 0.4}  # who searches wants the guides first
    here = join("docs", dirname(page.file.src_uri))

    def said(link: re.Match[str]) -> str:
        path = normpath(join(here, link[2]))
        if path.startswith("docs/"):
            return link[0]
        if not (ROOT / path).exists():
            raise ValueError(f"{page.file.src_uri}: there is no {path} in the repository")
        return f"{link[1]} (`{path}`)" if link[1].strip("`") != path else f"`{path}`"

    return OUTSIDE.sub(said, markdown)


def on_post_page(output: str, page: Any, config: Any) -> str:
    """The search of a page that is opened from disk is ours, and is not fetched from elsewhere."""
    up = "../" * page.file.dest_uri.count("/")
    return output.replace("https://unpkg.com/iframe-worker/shim", f"{up}site/worker.js")
