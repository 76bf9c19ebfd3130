"""Which file of a backup is which set of its store. A store knows a set by where its file lies; in
a folder that was restored it is the file that came back, and never the one it was copied from,
which may still be in use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from assay.review.identity import bring_set, leading, places_of
from assay.store import Store
from assay.workbench.backup_files import outside_name


def named_parts(
    store: Store, sets: Mapping[str, Path], files: Mapping[str, Path]
) -> dict[str, str]:
    """The identity of every set that the store knows -> the name of its file in the backup."""
    names = {path.resolve(): name for name, path in files.items()}
    places = places_of(store, sets.values())
    return {identity: names[place] for identity, place in sorted(places.items()) if place in names}


def bring_home(
    store: Store,
    named: Mapping[str, str],
    target: Callable[[str], Path | None],
    parts: Mapping[str, object],
) -> None:
    """Every set is the file that came back. One that is not among them and would be looked for at
    a place outside is looked for in the folder: a backup from elsewhere may name any file. A set
    of another project, which cannot be known from here, stays that project's."""
    for identity in store.gold_identities():
        name = named.get(identity, "")
        if name not in parts:
            name = _alike(identity, parts)
        place = target(name) if name else None
        if place is not None and (name in parts or leading(store, identity, place.parent)):
            bring_set(store, identity, place)


def _alike(identity: str, parts: Mapping[str, object]) -> str:
    """Of a backup that does not say it: the file whose path ends like that of the set."""
    if identity.startswith("./"):
        return ""
    path = "/" + identity.rpartition("#")[2].lstrip("/")
    outside = outside_name(Path(path))
    inside = [part for part in parts if part.startswith("project/")]
    alike = [part for part in inside if path.endswith(part.removeprefix("project"))]
    return outside if outside in parts else max(alike, key=len, default=outside)
