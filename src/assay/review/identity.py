"""Which gold set is which. Two files of the same name are two sets, in one store and on any number
of machines.

A set is known by where its file is: inside a git repository with an `origin`, by that address and
the path in it, so that every checkout shares one history; in the project whose folder holds the
store, by the path in it, so that a project can be moved or copied as a whole; elsewhere by its full
path. The name that the store keeps its history under is the short one, the file's own, as long as
no other set has it. A file that was moved alone takes its history along where its rows say that it
is the one: a history never goes to another set."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from assay.core.errors import AssayError
from assay.core.git import git
from assay.core.workspace import DEFAULT
from assay.formats import gold_jsonl
from assay.store import Store

HERE = "./"  # starts the identity of a set in the project of its store


def name_of(store: Store, path: Path, *, claim: bool = True) -> str:
    """The name of a gold set in the store. Without `claim` nothing is written: it is the name the
    set would get."""
    place = path.resolve()
    known = store.gold_identities()
    identity = _identity(store, place)
    if identity in known:
        return known[identity]
    before = _same_file(store, place, known) or _moved_from(store, place, known)
    parts = place.with_suffix("").parts[1:]
    names = ["/".join(parts[start:]) for start in range(len(parts) - 1, -1, -1)]
    if before:
        names.insert(0, known[before])
    return store.gold_name(identity, names, gone=lambda other: other == before, claim=claim)


def known_sets(store: Store) -> dict[str, Path]:
    """The gold sets that the store has a history of and whose files can be known from here, by
    name."""
    places = _places(store, Path.cwd(), store.gold_identities())
    return {name: path for name, path in places.values() if path.is_file()}


def places_of(store: Store, sets: Iterable[Path]) -> dict[str, Path]:
    """The file of every identity that the store knows, of those given and those that can be known
    from here."""
    known = store.gold_identities()
    places = {id: path.resolve() for id, (_, path) in _places(store, Path.cwd(), known).items()}
    given = {_identity(store, path.resolve()): path.resolve() for path in sets}
    return places | {identity: place for identity, place in given.items() if identity in known}


def leading(store: Store, identity: str, folder: Path) -> bool:
    """Whether whoever works in the folder would take a file for the set of this identity."""
    return bool(_places(store, folder, {identity: ""}))


def bring_set(store: Store, identity: str, path: Path) -> None:
    """The set that goes by this identity lies at `path` from now on, with its history."""
    known = store.gold_identities()
    if _identity(store, path.resolve()) == identity:
        return
    file = next(
        file
        for number in itertools.count(1)
        if _identity(
            store, file := path if number == 1 else path.with_stem(f"{path.stem}-{number}")
        )
        not in known
    )
    names = [known[identity]]
    store.gold_name(_identity(store, file), names, gone=lambda other: other == identity)


def _identity(store: Store, place: Path) -> str:
    origin, root = _repository(place.parent)
    if origin:
        return f"{origin}#{place.relative_to(root).as_posix()}"
    project = _project(store)
    if project is not None and place.is_relative_to(project):
        return f"{HERE}{place.relative_to(project).as_posix()}"
    return str(place)


def _project(store: Store) -> Path | None:
    """The folder that a store in a file belongs to; none of one on a server."""
    file = Path(store.address)
    if "://" in store.address or not file.is_file():
        return None
    folder = file.resolve().parent
    return folder.parent if folder.name == DEFAULT else folder


def _places(store: Store, folder: Path, known: Mapping[str, str]) -> dict[str, tuple[str, Path]]:
    """identity -> name and file, where that can be known from a folder. There may be no such file
    any more."""
    origin, root = _repository(folder)
    project = _project(store)
    places = {}
    for identity, name in known.items():
        if ".." in re.split(r"[/#]", identity):  # not ours: we write none that leads up
            continue
        if origin and identity.startswith(f"{origin}#"):
            places[identity] = name, root / identity.removeprefix(f"{origin}#")
        elif project is not None and identity.startswith(HERE):
            places[identity] = name, project / identity
        elif Path(identity).is_absolute():
            places[identity] = name, Path(identity)
    return places


def _same_file(store: Store, place: Path, known: Mapping[str, str]) -> str:
    """The identity that this very file had before its project became a git repository, or got an
    `origin`."""
    places = _places(store, place.parent, known)
    return next((id for id, (_, path) in places.items() if path.resolve() == place), "")


def _moved_from(store: Store, place: Path, known: Mapping[str, str]) -> str:
    """The identity of a set whose file is gone and that this one certainly is: their rows have the
    same ids, or, where the store has no rows of it, so has the folder. Of several the one that lay
    in folders of the same names; empty where that does not tell."""
    gone = {
        identity: (name, path)
        for identity, (name, path) in _places(store, place.parent, known).items()
        if path.name == place.name and not path.exists()
    }
    rows = _ids(place) if gone else {}
    found: dict[int, list[str]] = {}
    for identity, (name, path) in gone.items():
        issued = store.issued_ids(name)
        alike = _same_folders(path, place)
        shared = len(rows.items() & issued.items())
        certain = shared and 2 * shared >= min(len(rows), len(issued)) if issued else alike > 1
        if certain:
            found.setdefault(alike, []).append(identity)
    best = found[max(found)] if found else []
    return best[0] if len(best) == 1 else ""


def _ids(path: Path) -> dict[str, str]:
    """key -> id of the rows of a gold-set.jsonl."""
    try:
        lines = gold_jsonl.read_lines(path) if path.suffix == ".jsonl" else []
    except AssayError:
        return {}
    return {row.key: row.id for row in gold_jsonl.rows(lines)}


def _same_folders(one: Path, other: Path) -> int:
    """How many parts at the end of two paths are the same."""
    pairs = zip(reversed(one.parts), reversed(other.parts), strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), len(one.parts))


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
