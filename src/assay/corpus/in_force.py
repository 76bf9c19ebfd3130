"""Tell which provisions of a corpus are in force on a given day.

A text may say itself that it is repealed or has no words here, and a record that it is not in force
today. Of several versions of one place, each ends when the next one begins. What does not say when
it began or ended is taken to hold. The first version of a place is not in force before it begins,
and yet is not put behind others: there is none in its place. Documents that are no provisions have
no status.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

import numpy as np
import polars as pl

from assay.corpus.disk import Corpus, open_path
from assay.law.versions import (
    IN_FORCE,
    MAX_STATUS_CHARACTERS,
    NOT_YET,
    SUPERSEDED,
    holds_on,
    normal_date,
    status_of_text,
    valid_periods,
)

Rows = np.ndarray[tuple[int, ...], np.dtype[np.int64]]
Mask = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


def today() -> str:
    return datetime.now(UTC).date().isoformat()


@dataclass(frozen=True, kw_only=True)
class ProvisionStatuses:
    """For every row of a corpus: whether it is a provision, its place (None where it has no
    number), its period, and what its text says about its own status."""

    provisions: Mask
    firsts: Mask  # the first version of its place
    places: list[Hashable | None]
    periods: list[tuple[str, str]]
    own_status: list[str]
    by_act: Mask  # only the day of the whole act is known, and not that of the provision
    is_known: Mask  # a date or the source tells whether it is in force

    def holding(self, day: str) -> Mask:
        """The rows whose period includes a day. A text that says it is repealed is not looked at
        here."""
        on = normal_date(day)
        return np.array([holds_on(on, *period) for period in self.periods], bool)

    def status(self, row: int, day: str) -> str:
        """Whether a provision is in force on a day; empty where nothing tells, and of what is no
        provision."""
        if not self.provisions[row]:
            return ""
        begins, ends = self.periods[row]
        on = normal_date(day)
        if holds_on(on, begins, ends):
            return self.own_status[row] or (IN_FORCE if self.is_known[row] else "")
        return NOT_YET if on[: len(begins)] < begins else SUPERSEDED

    def is_dated(self, row: int) -> bool:
        """Whether the date of the provision itself is known. Where a whole act has one date, a
        section that was added later has it too."""
        return not (self.provisions[row] and self.by_act[row])

    def _in_force(self, row: int, day: str) -> bool:
        """Whether a row is in force, or is the first version of a place where nothing was
        before."""
        status = self.status(row, day)
        return status in ("", IN_FORCE) or (
            status == NOT_YET and bool(self.firsts[row]) and not self.own_status[row]
        )

    def lowered(self, day: str) -> tuple[Mask, Rows]:
        """The rows that are not in force on a day, and for each row the row that is in its place:
        itself, or the version in force."""
        current = np.arange(len(self.places))
        every = range(len(self.places))
        here = np.array([self._in_force(row, day) for row in every], np.bool_)
        of_place = {
            self.places[row]: int(row)
            for row in np.flatnonzero(here)
            if self.places[row] is not None
        }
        gone = ~here & self.provisions
        for row in np.flatnonzero(gone):
            current[row] = of_place.get(self.places[row], int(row))
        return gone, current


@lru_cache(maxsize=4)
def statuses_of_open_corpus(data_folder: str) -> ProvisionStatuses:
    """The standings of an open corpus, read once; its data folder never changes."""
    return provision_statuses(open_path(Path(data_folder).parent))


def provision_statuses(corpus: Corpus) -> ProvisionStatuses:
    keys = ("law_id", "law", "chapter", "schedule", "in_force", "status")
    metadata = [pl.col("metadata").str.json_path_match(f"$.{key}").alias(key) for key in keys]
    place = [pl.col(f"locator.{name}") for name in ("doc_id", "section", "moment")]
    text = (
        pl.when(pl.col("text").str.len_chars() <= MAX_STATUS_CHARACTERS)
        .then(pl.col("text"))
        .otherwise(None)
    )
    columns = ["valid_from", "valid_to", *metadata, *place, text.alias("said")]
    places: list[Hashable | None] = []
    laws: list[Hashable] = []
    provisions, periods, own_statuses, denied, known_statuses = [], [], [], [], []
    is_files = corpus.manifest.kind == "documents"  # whose sections are law in acts alone
    for row in corpus.frame.select(columns).collect().iter_rows(named=True):
        law = row["law_id"] or row["law"] or row["locator.doc_id"]
        steps = (row["schedule"], row["chapter"], row["locator.section"], row["locator.moment"])
        is_provision = bool(row["law"] or (row["locator.section"] and not is_files))
        provisions.append(is_provision)
        laws.append(law)
        places.append((law, *steps) if row["locator.section"] else None)
        periods.append((row["valid_from"] or "", row["valid_to"] or ""))
        known_statuses.append(
            any(row[key] for key in ("valid_from", "valid_to", "in_force", "status"))
        )
        denied.append(is_provision and row["in_force"] == "false")
        own_statuses.append(status_of_text(row["said"] or "") if is_provision else "")
    begun: dict[Hashable, set[str]] = {}
    for law, (begins, _) in zip(laws, periods, strict=True):
        begun.setdefault(law, set()).add(begins)
    dated = [(place, *period) for place, period in zip(places, periods, strict=True)]
    known = valid_periods(dated)
    now = today()
    for number, (_, ends) in enumerate(known):
        # a record speaks of today: if its time is over, it says nothing of a day before
        if denied[number] and not (ends and not holds_on(now, "", ends)):
            own_statuses[number] = own_statuses[number] or SUPERSEDED
    earliest: dict[Hashable, str] = {}
    for at, begins, _ in sorted(dated, key=lambda one: str(one[1])):
        earliest.setdefault(at, str(begins))
    return ProvisionStatuses(
        provisions=np.array(provisions, bool),
        firsts=np.array(
            [at is None or earliest[at] == begins for at, begins, _ in dated], np.bool_
        ),
        places=places,
        periods=known,
        own_status=own_statuses,
        by_act=np.array([len(begun[law]) == 1 for law in laws], np.bool_),
        is_known=np.array(known_statuses, bool),
    )
