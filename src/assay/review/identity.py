"""Which gold set is which. Two files of the same name are two sets, in one store and on any number
of machines.

A set is known by where its file is: inside a git repository with an `origin`, by that address and
the path in it, so that every checkout shares one history; elsewhere by its full path. The name that
the store keeps its history under is the short one, the file's own, as long as no other set has it;
a file that was moved takes its history along."""

from __future__ import annotations

import functools
import re
from pathlib import Path

from assay.core.git import git
from assay.store import Store


def name_of(store: Store, path: Path, *, claim: bool = True) -> str:
    """The name of a gold set in the store. Without `claim` nothing is written: it is the name the
    set would get."""
    place = path.resolve()
    origin, root = _repository(place.parent)
    identity = f"{origin}#{place.relative_to(root).as_posix()}" if origin else str(place)
    parts = place.with_suffix("").parts[1:]
    names = ["/".join(parts[start:]) for start in range(len(parts) - 1, -1, -1)]

    def gone(other: str) -> bool:
        if origin and other.startswith(f"{origin}#"):
            return not (root / other.removeprefix(f"{origin}#")).exists()
        return Path(other).is_absolute() and not Path(other).exists()

    return store.gold_name(identity, names, gone=gone, claim=claim)


def known_sets(store: Store) -> dict[str, Path]:
    """The gold sets that the store has a history of and whose files can be known from here, by
    name."""
    origin, root = _repository(Path.cwd())
    known = {}
    for identity, name in store.gold_identities().items():
        inside = origin and identity.startswith(f"{origin}#")
        path = root / identity.removeprefix(f"{origin}#") if inside else Path(identity)
        if path.is_absolute() and path.is_file():
            known[name] = path
    return known


@functools.lru_cache(maxsize=256)
def _repository(folder: Path) -> tuple[str, Path]:
    """(address of origin, top folder); an empty address outside a repository or without an
    origin."""
    existing = next(parent for parent in (folder, *folder.parents) if parent.is_dir())
    origin = git("config", "--get", "remote.origin.url", folder=existing)
    top = git("rev-parse", "--show-toplevel", folder=existing)
    if not origin or not top or not folder.is_relative_to(top):
        return "", folder
    return re.sub(r"(?<=//)[^/@]*@", "", origin), Path(top)  # without what may be a password
