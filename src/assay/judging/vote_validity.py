"""Whether what was judged still stands: under which version of the rubric, on which text, on which
scale."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from assay.core.types import Finding, GoldSet, Vote, counted
from assay.judging.rubrics import Rubric, version
from assay.judging.votes import current, stale


def versions_used(gold: GoldSet, votes: Sequence[Vote]) -> dict[str, int]:
    """The rubric versions under which votes were given or, where there are none, judgments were
    made; empty where a judge did not say."""
    given = [vote.rubric for vote in current(votes)]
    if not given and "rubric" in gold.judgments.columns:
        given = [str(name or "") for name in gold.judgments["rubric"]]
    if not given:
        given = [""] * gold.judgments.height
    return dict(Counter(given).most_common())


def older_rubrics(gold: GoldSet, rubric: Rubric, votes: Sequence[Vote]) -> Iterator[Finding]:
    now = version(rubric)
    if gold.rubric not in ("", rubric.id, now):
        message = f"the set was judged under {gold.rubric}; that rubric reads {now} now"
        yield Finding(level="flag", code="older-rubric", where=gold.name, message=message)
    noun = "vote" if votes else "judgment"
    for name, count in versions_used(gold, votes).items():
        if name not in ("", rubric.id, now, gold.rubric):
            message = f"{counted(count, noun)} under {name}, the rubric of the set is {now}"
            yield Finding(level="flag", code="older-rubric", where=gold.name, message=message)


def votes_off_scale(rubric: Rubric, votes: Sequence[Vote]) -> Iterator[Finding]:
    """A rubric that lost a grade on which people have voted cannot be used."""
    lost = Counter(
        vote.grade
        for vote in current(votes)
        if vote.grade is not None and vote.grade not in rubric.values
    )
    for grade, count in sorted(lost.items()):
        message = f"{counted(count, 'vote')} with grade {grade}, which {rubric.id} does not have"
        yield Finding(level="error", code="votes-off-scale", where=rubric.id, message=message)


def stale_votes(votes: Iterable[Vote], fingerprints: Mapping[str, str]) -> Iterator[Finding]:
    changed: dict[str, list[str]] = defaultdict(list)
    for vote in stale(current(votes), fingerprints):
        changed[vote.query_id].append(vote.doc_id)
    for query_id, doc_ids in changed.items():
        documents = ", ".join(dict.fromkeys(doc_ids))
        message = f"{counted(len(doc_ids), 'vote')} on a text that has changed since: {documents}"
        yield Finding(level="flag", code="stale-votes", where=query_id, message=message)
