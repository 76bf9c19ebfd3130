"""`assay init --layout`: the project structure of a specification, for a new project. A layout is a
folder here, whose files have `.txt` after their names."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib import resources
from pathlib import Path

from assay.core.errors import UsageError
from assay.core.files import write_atomic
from assay.judging import rubrics
from assay.workbench.project.init import ATTRIBUTES, MERGED, Begun, check_free, with_lines

ENDING = ".txt"
GROWING = (".gitignore", "scripts/SCRIPTS.md")  # lines are added to those that are there
# layout -> the next command
LAYOUTS = {
    "fppc": "assay gold add eval/dataset.json",
    "harness": "python scripts/eval_gold_bootstrap.py",
}
RUBRIC_PAGE = "RELEVANCE_RUBRIC.md"


def lay_out(layout: str) -> Begun:
    """Write the files of a layout, or nothing: a file that is there is never written over."""
    files = layout_files(layout)
    check_free(*sorted(files.keys() - {*GROWING}))
    for name in files.keys() & {*GROWING}:
        files[name] = with_lines(Path(name), files[name].splitlines())
    files[ATTRIBUTES] = with_lines(Path(ATTRIBUTES), MERGED)
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        write_atomic(Path(name), text)
    return Begun(files=list(files), next=LAYOUTS[layout])


def layout_files(layout: str) -> dict[str, str]:
    """The files of a layout by their paths in the project."""
    if layout not in LAYOUTS:
        raise UsageError(f"no layout {layout!r}", hint=f"Known: {', '.join(LAYOUTS)}.")
    home = Path(str(resources.files(__name__) / layout))
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    found = {
        path.relative_to(home).as_posix().removesuffix(ENDING): path.read_text(encoding="utf-8")
        for path in sorted(home.rglob(f"*{ENDING}"))
    }
    files = {name: text.replace("CREATED", now) for name, text in found.items()}
    if layout == "fppc":
        files[RUBRIC_PAGE] = rubrics.as_markdown(rubrics.load(rubrics.FPPC))
    return files
