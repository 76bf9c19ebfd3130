"""A workspace to search in: the three samples, and texts that mean harm in three scripts."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.workbench.searching.corpora import import_corpus, index_corpus
from kit.files import write_json_lines

SAMPLES = Path(__file__).parents[2] / "samples"
HARM = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&{{ 7*7 }}"
# an id, and what stands in the document
HOSTILE = {
    "a/b (c).d": f"The gift limit {HARM}\x00\u202e covers tickets.",
    "..": "A gift whose id is two dots.",
    "50%?x=1#y&z": "A gift with an odd id.",
    "סעיף 4(7)/א": f"מתנה לעובד הציבור {HARM} אסורה.",
    'ä"><b>': f"Lahja virkamiehelle {HARM} on kielletty.",
}


@pytest.fixture(scope="session")
def sample_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """To read, not to write: all tests share it, in all processes."""
    return made_once(tmp_path_factory, "searched", _indexed_samples)


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """A folder that the first of several test processes makes and the others wait for."""
    shared = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    folder, done = shared / name, shared / f"{name}.done"
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            folder.mkdir()
            make(folder)
            done.touch()
    return folder


def _indexed_samples(home: Path) -> None:
    import_corpus("fppc", SAMPLES / "en" / "opinions", name="opinions", home=home)
    import_corpus("finlex", SAMPLES / "fi" / "saaristokuntalaki.jsonl", name="act", home=home)
    import_corpus("jsonl", SAMPLES / "he" / "precedents.jsonl", name="precedents", home=home)
    rows = [
        {"id": id, "title": f"{HARM} {id}", "text": text, "topic": HARM, "citations": [HARM]}
        for id, text in HOSTILE.items()
    ]
    import_rows(home, "hostile", rows)
    for name in ("opinions", "act", "precedents", "hostile"):
        index_corpus(name, home=home)


def import_rows(home: Path, name: str, rows: list[dict[str, object]]) -> None:
    source = write_json_lines(home / f"{name}.jsonl", *rows)
    import_corpus("jsonl", source, name=name, home=home)
