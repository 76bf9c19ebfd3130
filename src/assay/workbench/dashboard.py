"""The team's page: how much waits, where the gold sets stand, what was done and measured lately."""

from __future__ import annotations

import msgspec

from assay.review.waiting import Backlog
from assay.store.records import AuditEntry, RunRecord
from assay.telemetry.recorder import Counts
from assay.workbench.backlog import backlog
from assay.workbench.gold import GoldSummary, gold_list
from assay.workbench.history import runs
from assay.workbench.opening import Service
from assay.workbench.review import strays

RECENT = 8  # changes and runs that are shown


class Dashboard(msgspec.Struct, frozen=True, kw_only=True):
    """`strays` are what waits for a row that is not there; `telemetry` is None where nothing is
    recorded."""

    backlog: Backlog
    strays: int
    gold_sets: list[GoldSummary]
    runs: list[RunRecord]
    audit: list[AuditEntry]
    telemetry: Counts | None


def make_dashboard(service: Service) -> Dashboard:
    return Dashboard(
        backlog=backlog(service),
        strays=len(strays(service)),
        gold_sets=gold_list(service),
        runs=runs(service, limit=RECENT).items,
        audit=service.store.audit(limit=RECENT),
        telemetry=service.recorder.counts() if service.recorder is not None else None,
    )
