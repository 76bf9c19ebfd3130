"""What the verbs of the running service work on: a store, gold sets, a configuration, a workspace.
A value that is opened once and given to every verb first."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from assay import formats
from assay.core.errors import AssayError, NotHere
from assay.core.types import GoldSet
from assay.core.workspace import default_store
from assay.formats.gold_jsonl import locked
from assay.review.identity import known_sets, name_of
from assay.review.intents import heal, interrupted
from assay.store import NoStore, open_store
from assay.telemetry.recorder import Recorder, Recording
from assay.workbench.config import CONFIG_NAME, Config, read_config

if TYPE_CHECKING:
    from assay.store import Store

__all__ = ["NoStore", "NotOpen", "Recording", "Service", "gold_path", "kept_path", "open_service"]


SEPARATOR = ":"  # between folder and file: a name is one part of the address of a page


def _now() -> datetime:
    return datetime.now(UTC)


def _unheard(message: str) -> None:
    """What nobody listens to."""


@dataclass(frozen=True, kw_only=True)
class Service:
    """What is open. `gold_sets` are files by the name people use, `clock` says what time it is, a
    server has a `recorder` of its own, and `say` hears what takes long and why."""

    store: Store
    gold_sets: Mapping[str, Path] = field(default_factory=dict)
    config: Config | None = None
    home: Path | None = None
    clock: Callable[[], datetime] = _now
    recorder: Recorder | None = None
    say: Callable[[str], None] = _unheard
    opens_files: bool = True  # whether a gold set may be named by its file: not from elsewhere


@contextlib.contextmanager
def open_service(
    store: str = "",
    *,
    gold: Sequence[Path] = (),
    config: Path | None = None,
    home: Path | None = None,
    recording: Recording | None = None,
    create: bool = True,
    say: Callable[[str], None] = _unheard,
) -> Iterator[Service]:
    """A service on a store, with the gold sets and engines of `assay.toml` (where there is one),
    the gold sets given, and those that were bootstrapped into the store. With `recording` it logs
    searches. Without `create`, there must be a store."""
    target = store or default_store(home)
    path = config or Path(CONFIG_NAME)
    settings = read_config(path) if config is not None or path.exists() else None
    opened = open_store(target, create=create)
    recorder = Recorder(lambda: open_store(target), recording) if recording is not None else None
    if opened.created:
        say(f"new store: {opened.address}")
    try:
        sets = sets_of(opened, settings, gold)
        _heal(opened, sets.values(), say)
        yield Service(
            store=opened,
            gold_sets=sets,
            config=settings,
            home=home,
            recorder=recorder,
            say=say,
        )
    finally:
        if recorder is not None:
            recorder.close()
        opened.close()


def _heal(store: Store, paths: Iterable[Path], say: Callable[[str], None]) -> None:
    """Decisions that a killed process left half done. A set that somebody writes now, or that
    cannot be written, is left to them."""
    for path in paths:
        if not interrupted(store, path):
            continue
        with contextlib.suppress(AssayError), locked(path, wait=0):
            try:
                said = heal(store, path)
            except AssayError as error:
                said = str(error)
            if said:
                say(said)


def sets_of(
    store: Store | None, config: Config | None, given: Sequence[Path] = ()
) -> dict[str, Path]:
    """The gold sets of the configuration, those given, and those that the store knows, each once.
    Two files of one name are told apart by their folders, and no file goes by the name that
    another has in the store, unless the configuration says so."""
    sets = configured_sets(config)
    stored = known_sets(store) if store is not None else {}
    known = {name.replace("/", SEPARATOR): path.resolve() for name, path in stored.items()}
    for path in given:
        _add(sets, path, taken=known)
    for name, path in known.items():
        _add(sets, path, name)
    return sets


def _add(
    sets: dict[str, Path], path: Path, *wanted: str, taken: Mapping[str, Path] | None = None
) -> None:
    place = path.resolve()
    if place in {each.resolve() for each in sets.values()}:
        return
    parts = place.with_suffix("").parts[1:]
    names = [SEPARATOR.join(parts[-some:]) for some in range(1, len(parts) + 1)]
    free = (
        name
        for name in (*wanted, *names)
        if name not in sets and (taken or {}).get(name, place) == place
    )
    sets[next(free, str(place).replace("/", SEPARATOR))] = path


def configured_sets(config: Config | None) -> dict[str, Path]:
    return {name: Path(gold.path) for name, gold in config.gold.items()} if config else {}


# ── gold sets by name ─────────────────────────────────────────────────────────────────────────────


def gold_path(service: Service, name: str) -> Path:
    """By the name it is configured under, or by the name of its file, which is how the store knows
    it."""
    if name in service.gold_sets:
        return service.gold_sets[name]
    for path in service.gold_sets.values():
        if name == name_of(service.store, path, claim=False):
            return path
    known_names = ", ".join(service.gold_sets)
    hint = f"Known: {known_names or 'none yet. Name one in assay.toml or with --gold'}."
    raise NotHere(f"no gold set {name!r}", hint=hint)


class NotOpen(NotHere):
    """What belongs to a gold set that is not open here."""


def kept_path(service: Service, kept: str) -> Path:
    """The file of the set that the store keeps under a name: of an item, a vote, a run. It is that
    set or none, whatever another is called here."""
    for path in service.gold_sets.values():
        if kept == name_of(service.store, path, claim=False):
            return path
    raise NotOpen(
        f"this belongs to a set that is not open here: {kept}",
        hint=f"Open its file with --gold; if it is gone, `assay gold withdraw {kept} --gone`.",
    )


def read_gold(service: Service, name: str) -> GoldSet:
    return formats.read_gold(gold_path(service, name))


def stored_name(service: Service, gold: str) -> str:
    """The name in the store of a set that is configured, or that the store knows, or of a file;
    empty for all sets."""
    if not gold:
        return ""
    if gold in service.gold_sets or (service.opens_files and Path(gold).is_file()):
        path = service.gold_sets.get(gold) or Path(gold)
        return name_of(service.store, path, claim=False)
    known = service.store.gold_names()
    if gold not in known:
        names = ", ".join(dict.fromkeys([*service.gold_sets, *known]))
        raise NotHere(f"no gold set {gold!r}", hint=f"Known: {names or 'none yet'}.")
    return gold
