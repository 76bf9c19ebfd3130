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
    latest = {(one.query_id, one.doc_id, one.judge): one for one in given}
    by_pair: dict[Pair, list[Judgment]] = {}
    for one in latest.values():
        by_pair.setdefault((one.query_id, one.doc_id), []).append(one)
    new, already, conflicts = list[Judgment](), 0, list[str]()
    for pair, words in by_pair.items():
        before, grades = known.get(pair), {one.grade for one in words}
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
        judge=", ".join(dict.fromkeys(one.judge for one in words if one.judge)),
        rationale="; ".join(dict.fromkeys(one.rationale for one in words if one.rationale)),
        supersedes=_said(before) if before is not None else words[-1].supersedes,
    )


def _said(one: Judgment) -> str:
    by, at = f" by {one.judge}" if one.judge else "", f" on {one.at[:10]}" if one.at else ""
    return f"grade {one.grade}{by}{at}" + (f" ({one.rationale})" if one.rationale else "")
