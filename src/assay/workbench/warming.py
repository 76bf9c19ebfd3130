"""What a server does before anybody asks: it opens sets and corpora and computes their figures, so
that the first reader waits as little as the second."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from functools import partial
from itertools import permutations

from assay.core.errors import AssayError
from assay.workbench import agreed, facing, grading, searching
from assay.workbench.decisions import decided
from assay.workbench.history import kept_run
from assay.workbench.opening import Service
from assay.workbench.overview import overview
from assay.workbench.settling import settling
from assay.workbench.trend import trends_by_set

NEWEST = 3  # runs of a set that are compared with each other


def show_ahead(service: Service, run: str) -> None:
    """What the pages say of a new run: what the gates decide, and against the run before it."""
    with contextlib.suppress(AssayError):
        kept = kept_run(service, run)
        overview(service)
        decided(service, kept)
        before = [line.id for line in service.store.runs(gold=kept.gold, limit=NEWEST)]
        facing.prepare(service, [(other, run) for other in before if other != run])
        settling(service, kept.gold)


def open_sets(service: Service) -> None:
    """The sets, their votes and their documents, which every page for judges reads."""
    for name in service.gold_sets:
        with contextlib.suppress(AssayError):
            grading.make_ready(service, name)


def warm(service: Service, stopping: threading.Event) -> None:
    """Everything that is kept, until somebody is `stopping`; what cannot be opened is told to
    whoever asks for it."""
    for step in _steps(service):
        if stopping.is_set():
            return
        with contextlib.suppress(AssayError):
            step()


def _steps(service: Service) -> Iterator[Callable[[], object]]:
    yield partial(overview, service)
    for name in service.gold_sets:
        yield partial(_judged, service, name)
        yield partial(settling, service, name)
    yield partial(searching.warm, service)
    yield partial(_compared, service)
    yield partial(trends_by_set, service)


def _judged(service: Service, name: str) -> None:
    if agreed.agreement_of(service, name).pairs:
        agreed.open_disputes(service, name)


def _compared(service: Service) -> None:
    for name in service.store.gold_names():
        runs = service.store.runs(gold=name, limit=NEWEST)
        facing.prepare(service, list(permutations([run.id for run in runs], 2)))
