"""The encoders of Assay's search engine, as files. Nothing is loaded here: `assay.search` reads
what it needs.

`wrong()` compares the files with SHA256SUMS, which is written when a release is made."""

from __future__ import annotations

import hashlib
from importlib import resources

__version__ = "0.4.0"

SUMS = "SHA256SUMS"


def sums() -> dict[str, str]:
    """{file: its SHA-256} as SHA256SUMS says."""
    lines = (resources.files(__name__) / SUMS).read_text(encoding="ascii").splitlines()
    return {name: known for known, name in (line.split() for line in lines)}


def wrong() -> list[str]:
    """The files that are missing or are not what SHA256SUMS says."""
    folder = resources.files(__name__)
    found = []
    for name, known in sums().items():
        file = folder / name
        if not file.is_file() or hashlib.sha256(file.read_bytes()).hexdigest() != known:
            found.append(name)
    return found
