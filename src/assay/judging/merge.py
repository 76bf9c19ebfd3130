"""New judgments into a gold set: what is new, what was known, and where people disagree. Nothing is
overwritten."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from assay.core.types import Judgment

Pair = tuple[str, str]


class Merged(msgspec.Struct, frozen=True, kw_only=True):
    """Judgments to write, how many were so already, and the disagreements, of which none is
    written."""

    new: list[Judgment]
    already: int
    conflicts: list[str]


def merge(
    known: Mapping[Pair, Judgment], given: Iterable[Judgment], *, replace: bool = False
) -> Merged:
    """A judge's later word stands for the earlier. A pair with two grades is a conflict, unless
    `replace` puts the given one in the place of the known one, which it then names as
    superseded."""
    latest = {(judgment.query_id, judgment.doc_id, judgment.judge): judgment for judgment in given}
    by_pair: dict[Pair, list[Judgment]] = {}
    for judgment in latest.values():
        by_pair.setdefault((judgment.query_id, judgment.doc_id), []).append(judgment)
    new, already, conflicts = list[Judgment](), 0, list[str]()
    for pair, words in by_pair.items():
        before, grades = known.get(pair), {judgment.grade for judgment in words}
        if before is not None and grades == {before.grade}:
            already += 1
        elif len(grades) == 1 and (before is None or replace):
            new.append(_together(words, before))
        else:
            stands = f"; {_said(before)} stays" if before is not None else ""
            conflicts.append(f"{pair[0]} {pair[1]}: {' against '.join(map(_said, words))}{stands}")
    return Merged(new=new, already=already, conflicts=conflicts)


def _together(words: Sequence[Judgment], before: Judgment | None) -> Judgment:
    """Judges who agree are all named."""
    return msgspec.structs.replace(
        words[-1],
        judge=", ".join(dict.fromkeys(word.judge for word in words if word.judge)),
        rationale="; ".join(dict.fromkeys(word.rationale for word in words if word.rationale)),
        supersedes=_said(before) if before is not None else words[-1].supersedes,
    )


def _said(judgment: Judgment) -> str:
    by = f" by {judgment.judge}" if judgment.judge else ""
    at = f" on {judgment.at[:10]}" if judgment.at else ""
    why = f" ({judgment.rationale})" if judgment.rationale else ""
    return f"grade {judgment.grade}{by}{at}{why}"
