"""`assay backlog`: how much is pending in the review queue and in external backlogs, and what is
over its limit."""

from __future__ import annotations

import threading
import time
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from assay.review import backlog as figures_of_queue
from assay.review.backlog import Backlog as Backlog
from assay.review.backlog import HalachaBacklog, breaches
from assay.review.backlog import Limits as Limits
from assay.review.backlog import notify as notify
from assay.review.external_backlog import ExternalBacklog as ExternalBacklog
from assay.review.external_backlog import count_external_backlogs
from assay.workbench.project.config import CONFIG_NAME, read_config
from assay.workbench.project.service import NoStore as NoStore
from assay.workbench.project.service import Service
from assay.workbench.review.queue import items

RECENT_SECONDS = 10.0  # how long a running service keeps the counts of external backlogs


class BacklogFigures(msgspec.Struct, frozen=True, kw_only=True):
    """The review queue, the external backlogs by name, and the six figures that the specification
    names: of the external backlog called halacha if there is one (None if it cannot be read), else
    of the review queue."""

    backlog: Backlog
    halacha_backlog: HalachaBacklog | None
    backlogs: dict[str, ExternalBacklog] = {}


def backlog(service: Service, *, gold: str = "", weeks: int = 4) -> Backlog:
    """The backlog of one gold set, or of all."""
    return figures_of_queue.backlog(items(service, gold), now=service.clock(), weeks=weeks)


def check_backlog(service: Service, limits: Limits, *, gold: str = "") -> tuple[Backlog, list[str]]:
    """The backlog and what is over its limit. A gold set that cannot be read is an error: its items
    would not be counted."""
    for name, path in service.gold_sets.items() if not gold else ():
        if path.exists():
            items(service, name)
    figures = backlog(service, gold=gold)
    return figures, breaches(figures, limits)


def external_backlogs(service: Service) -> dict[str, ExternalBacklog]:
    """The external backlogs of the configuration, counted now."""
    sources = service.config.backlog if service.config is not None else {}
    return count_external_backlogs(sources, service.clock())


_recent: dict[bytes, tuple[float, dict[str, ExternalBacklog]]] = {}
_lock = threading.Lock()


def recent_external_backlogs(service: Service) -> dict[str, ExternalBacklog]:
    """The external backlogs for a running service, which counts them every few seconds at most,
    however many visitors it has."""
    sources = service.config.backlog if service.config is not None else {}
    if not sources:
        return {}
    key = msgspec.json.encode(sources)
    with _lock:
        at, found = _recent.get(key, (0.0, {}))
        if not found or time.monotonic() - at > RECENT_SECONDS:
            found = external_backlogs(service)
            _recent[key] = time.monotonic(), found
    return found


def configured_backlogs() -> dict[str, ExternalBacklog]:
    """The external backlogs of the configuration in this folder, for when there is no store yet."""
    path = Path(CONFIG_NAME)
    sources = read_config(path).backlog if path.exists() else {}
    return count_external_backlogs(sources, datetime.now(UTC))


def backlog_figures(service: Service, *, gold: str = "") -> BacklogFigures:
    """Everything that is pending, of one gold set or of all, and in the external backlogs."""
    figures, external = backlog(service, gold=gold), recent_external_backlogs(service)
    six = external.get("halacha", figures)
    return BacklogFigures(
        backlog=figures,
        halacha_backlog=_six_figures(six) if six.total is not None else None,
        backlogs=external,
    )


def _six_figures(source: Backlog | ExternalBacklog) -> HalachaBacklog:
    return HalachaBacklog(
        **{figure.name: getattr(source, figure.name) for figure in fields(HalachaBacklog)}
    )
