"""The people of a project: their names by pseudonymous id, in `people.toml`.

Logs and gold files hold ids alone. A name can be changed or deleted in this one file; who is
deleted goes by the id. Machines, and what is not a person, are written as they are called."""

from __future__ import annotations

import json
import re
import secrets
from pathlib import Path

from assay.core.errors import InputError
from assay.core.files import Stamp, glance_at, read_toml, stamp_of, write_atomic
from assay.formats.gold_jsonl import lock_gold_set

FILE = "people.toml"
CONFIG = "assay.toml"
IMPORTED = "imported"  # the judge of labels that a set had before anybody voted
BY_HAND = "file"  # who changed a row in the file itself
NOBODY = frozenset({"", IMPORTED, BY_HAND, "bootstrap", "terminal"})
_ID = re.compile(r"p-[0-9a-f]{8}")
_HEADER = """\
# The people of this project, by the id that logs and gold files have for them.
# Change a name here, or delete it: the judgments stay, under the id.
"""


class People:
    """The names that a set's project has. They are read again when a file changes."""

    def __init__(self, dataset: Path) -> None:
        place = dataset.resolve()  # once: every page asks for names many times
        self._above = [(folder / CONFIG, folder / FILE) for folder in place.parents]
        self.stamps: tuple[Stamp | None, ...] = ()  # of its files, as they were read
        self._names: dict[str, str] = {}
        self._ids: dict[str, str] = {}
        self._changes = 0

    def name_of(self, who: str) -> str:
        """The name of a person; the id itself if no file names it."""
        if not _ID.fullmatch(who):
            return who
        self._refresh()
        return self._names.get(who) or who

    def id_of(self, name: str, kind: str = "human") -> str:
        """The id of a person. A new person gets one."""
        name = name.strip()
        if kind in ("machine", "citation") or name in NOBODY or _ID.fullmatch(name):
            return name
        self._refresh()
        return self._ids.get(name) or self._add(name)

    def known_id(self, name: str) -> str:
        """The id of a person who has one, else the name."""
        self._refresh()
        return self._ids.get(name, name)

    def renamed(self) -> int:
        """How often a known person got another name, or lost it, since this was opened."""
        self._refresh()
        return self._changes

    def _files(self) -> list[Path]:
        """The files that may name a set's people, from the project down to the set: a project may
        have been made around a set that had its own."""
        project = next((i for i, (config, _) in enumerate(self._above) if glance_at(config)), 0)
        return [file for _, file in reversed(self._above[: project + 1])]

    def _refresh(self) -> None:
        files = self._files()
        if tuple(map(glance_at, files)) == self.stamps:
            return
        stamps = tuple(map(stamp_of, files))
        if stamps == self.stamps:
            return
        names = {id: name for file in files for id, name in _read_people_file(file).items()}
        self._changes += any(names.get(id) != name for id, name in self._names.items())
        self._names, self.stamps = names, stamps
        self._ids = {name: id for id, name in reversed(names.items()) if name}

    def _add(self, name: str) -> str:
        file = self._files()[0]
        with lock_gold_set(file):
            self._refresh()
            if name in self._ids:  # another was faster
                return self._ids[name]
            id = f"p-{secrets.token_hex(4)}"
            before = file.read_text(encoding="utf-8") if file.exists() else _HEADER
            before += "" if before.endswith("\n") else "\n"
            write_atomic(file, f"{before}{id} = {json.dumps(name, ensure_ascii=False)}\n")
        self._refresh()
        return self._ids.get(name, id)


def _read_people_file(file: Path) -> dict[str, str]:
    if not file.exists() or not file.stat().st_size:
        return {}
    try:
        return {id: name for id, name in read_toml(file).items() if isinstance(name, str)}
    except InputError as error:
        hint = "Every line is an id and a name. Where a merge left an id twice, keep one line."
        raise InputError(error.message, where=str(file), hint=hint) from error
