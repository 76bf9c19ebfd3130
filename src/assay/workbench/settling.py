"""What would settle the open question of a set, as far as it is not judged yet: the one list that
home, the judge's pages, runs and comparisons lead to."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from assay.core.errors import AssayError
from assay.core.results import Pair
from assay.workbench.decisions import RunLine, board_of, decided, run_at_hand, run_line
from assay.workbench.desk import desk_of
from assay.workbench.facing import duel
from assay.workbench.opening import Service, gold_path, stored_name

__all__ = ["Settling", "left_to_judge", "settling"]

LOOKED_AT = 60  # runs of a set


class Settling(msgspec.Struct, frozen=True, kw_only=True):
    """The run that is in question, the one that it is compared with where there is one, and what
    is left to judge of `asked` documents."""

    run: RunLine
    other: RunLine | None
    asked: int
    pairs: list[Pair]

    @property
    def page(self) -> str:
        """Where the question is answered."""
        if self.other is None:
            return f"/runs/{self.run.id}"
        return f"/compare?a={self.other.id}&b={self.run.id}"


def settling(service: Service, name: str) -> Settling | None:
    """Of the best engine on a set: whether it may ship, else whether it is better than the next.
    None where nothing is open, or judging cannot help."""
    try:
        gold = stored_name(service, name)
        records = service.store.runs(gold=gold, limit=LOOKED_AT)
        leaders = board_of(gold, [run_line(service, record) for record in records]).leaders
        if not leaders or desk_of(gold_path(service, name)).gold.from_logs:
            return None
        run, other = leaders[0], leaders[1] if len(leaders) > 1 else None
        verdict = decided(service, run_at_hand(service, run.id))
        pairs = list(verdict.judge_next or ()) if verdict else []
        if not pairs and other is not None:
            pairs = duel(service, other.id, run.id).change.to_judge
    except AssayError:  # the pages of its runs say what is wrong
        return None
    if not pairs:
        return None
    left = left_to_judge(service, name, pairs)
    return Settling(run=run, other=other, asked=len(pairs), pairs=left)


def left_to_judge(service: Service, name: str, pairs: Sequence[Pair]) -> list[Pair]:
    """Without those that somebody who counts has graded since."""
    try:
        desk = desk_of(gold_path(service, name))
    except AssayError:
        return list(pairs)
    with desk.votes.reading:
        return [
            pair
            for pair in pairs
            if not any(
                vote.grade is not None and vote.kind in desk.policy.counts
                for vote in desk.votes.holding((pair.query_id, pair.doc_id))
            )
        ]
