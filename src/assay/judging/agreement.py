"""How far judges agree who judged apart from each other.

Rulings and spot checks are left out: who rules has read the others, and spot checks measure labels.
People are compared with people and machines with machines; people against machines stand apart. A
judge's vote that holds now is compared, and unsure votes are counted but have no grade."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from assay.core.errors import InputError
from assay.core.types import GoldSet, Vote, counted
from assay.evaluation.concordance import LEVEL, MIN_CLUSTERS, SAMPLES
from assay.evaluation.statistics import SEED
from assay.gold.votes import VoteBook, book_of
from assay.judging.agreement_figures import (
    Agreement,
    Figures,
    JudgeFigures,
    Kind,
    LeftOut,
    PairFigures,
)
from assay.judging.comparisons import (
    Comparisons,
    Scale,
    by_grade,
    compared,
    confusion_of,
    figures_of,
)
from assay.judging.leaning import against_others, differences, drift_of, votes_by_judge
from assay.judging.votes import EDITED, RULING, SAMPLE

WHO: Mapping[str, tuple[str, str]] = {
    "human": ("people", "no two people"),
    "machine": ("machines", "no two machines"),
    "across": ("people and machines", "no person and machine"),
    "all": ("judges", "no two of these judges"),
}
KINDS: tuple[Kind, ...] = ("human", "machine", "across")


def agreement(
    gold: GoldSet,
    votes: Sequence[Vote],
    *,
    relevant_from: int = 1,
    kind: Kind | None = None,
    judges: Collection[str] = (),
) -> Agreement:
    """Between people where two of them share a pair; else between machines; else between people and
    machines. `kind` says which, and named judges are all compared with each other."""
    book = book_of(votes)
    asked, left_out = _asked(gold, book, judges)
    holding = [vote for vote in book.current() if vote.id in asked]
    scale = _scale(gold, holding, relevant_from)
    groups = {name: _between(name, holding, scale) for name in KINDS}
    chosen = kind or ("all" if judges else _first_with_pairs(groups))
    seen = groups[chosen] if chosen in groups else _between("all", holding, scale)
    among = [vote for vote in holding if _is_of(vote, chosen)]
    figures = figures_of(seen)
    names = list(votes_by_judge(among))
    mine = differences(among)
    given = votes_by_judge(vote for vote in votes if vote.id in asked and _is_of(vote, chosen))
    return Agreement(
        dataset=gold.name,
        kind=chosen,
        statement=_statement(chosen, names, figures, groups, bool(holding)),
        pairs=figures.pairs,
        judges=names,
        queries=figures.queries,
        votes=len(among),
        unsure=sum(vote.grade is None for vote in among),
        left_out=left_out,
        resampled="queries" if figures.queries >= MIN_CLUSTERS or not figures.pairs else "pairs",
        level=LEVEL,
        samples=SAMPLES,
        seed=SEED,
        exact=figures.exact,
        cohen_kappa=figures.cohen_kappa,
        weighted_kappa=figures.weighted_kappa,
        krippendorff_alpha=figures.krippendorff_alpha,
        far_apart=figures.far_apart,
        relevant=figures.relevant,
        confusion=confusion_of(seen),
        by_kind={name: figures_of(group) for name, group in groups.items() if len(group.unit)},
        by_judge=_by_judge(among, seen),
        by_pair=_by_pair(seen),
        by_topic=_by_query(gold, seen, "topic"),
        by_type=_by_query(gold, seen, "type"),
        by_grade=by_grade(seen),
        consensus={judge: against_others(mine.get(judge, [])) for judge in given},
        drift={judge: drift_of(said, mine.get(judge, []), scale) for judge, said in given.items()},
    )


def _asked(
    gold: GoldSet, book: VoteBook, judges: Collection[str]
) -> tuple[dict[str, None], LeftOut]:
    """The ids of the votes that judges gave independently of each other, and how many others were
    left out and why."""
    votes = book.ids.values()
    known = {vote.judge for vote in votes}
    if missing := sorted(set(judges) - known):
        raise InputError(
            f"no judge {missing[0]!r} has voted",
            hint=f"Who has: {', '.join(sorted(known)) or 'nobody yet'}.",
        )
    queries = set(gold.query_ids)
    counts = dict.fromkeys(LeftOut.__struct_fields__, 0)
    asked = dict[str, None]()
    held = {vote.id for pair in book.pairs() for vote in book.heads(pair)}
    for vote in votes:
        source = book.whose(vote).source
        reasons = {
            "rulings": source in (RULING, EDITED),
            "spot_checks": source == SAMPLE,
            "citations": vote.kind == "citation",
            "other_judges": bool(judges) and vote.judge not in judges,
            "unknown_queries": vote.query_id not in queries,
        }
        why = next((name for name, holds in reasons.items() if holds), "")
        if why in ("rulings", "spot_checks"):
            counts[why] += vote.id in held  # one that was undone is no ruling any more
        elif why:
            counts[why] += 1
        else:
            asked[vote.id] = None
    return asked, LeftOut(**counts)


def _scale(gold: GoldSet, votes: Sequence[Vote], relevant_from: int) -> Scale:
    grades = [vote.grade for vote in votes if vote.grade is not None]
    return Scale(
        lowest=min(0, *grades, 0),
        highest=max(gold.max_grade, relevant_from, *grades, 0),
        relevant_from=relevant_from,
    )


def _is_of(vote: Vote, kind: Kind) -> bool:
    return kind in ("all", "across", vote.kind)


def _between(kind: Kind, votes: Sequence[Vote], scale: Scale) -> Comparisons:
    def wanted(one: Vote, other: Vote) -> bool:
        if one.judge == other.judge:
            return False
        return kind == "all" or (one.kind != other.kind if kind == "across" else True)

    return compared([vote for vote in votes if _is_of(vote, kind)], scale, wanted)


def _first_with_pairs(groups: Mapping[Kind, Comparisons]) -> Kind:
    return next((name for name, group in groups.items() if len(group.unit)), "human")


def _statement(
    kind: Kind,
    judges: Sequence[str],
    figures: Figures,
    groups: Mapping[Kind, Comparisons],
    voted: bool,
) -> str:
    who, nobody = WHO[kind]
    if not voted:
        return "Nobody has voted on this set yet: there is nothing to compare."
    if figures.pairs:
        shared = f"{counted(figures.pairs, 'pair')} of {counted(figures.queries, 'query')}"
        return f"Agreement between {who} ({', '.join(judges)}) on {shared}."
    if len(judges) == 1:
        return f"One judge only ({judges[0]}): agreement needs a second one on the same pairs."
    others = [WHO[name][0] for name, group in groups.items() if len(group.unit)]
    beside = f" There are figures between {', and between '.join(others)}." if others else ""
    return f"{nobody[0].upper()}{nobody[1:]} graded the same pair: nothing to compare.{beside}"


# ── by judge, query and time ──────────────────────────────────────────────────────────────────────


def _by_judge(votes: Sequence[Vote], seen: Comparisons) -> dict[str, JudgeFigures]:
    found = {}
    for judge, given in votes_by_judge(votes).items():
        graded = [vote.grade for vote in given if vote.grade is not None]
        found[judge] = JudgeFigures(
            kind=given[-1].kind,
            votes=len(given),
            unsure=len(given) - len(graded),
            grades={str(grade): graded.count(grade) for grade in seen.scale.grades},
            agreement=figures_of(seen.between_judges([two for two in seen.judges if judge in two])),
        )
    return found


def _by_pair(seen: Comparisons) -> list[PairFigures]:
    found = []
    for judges in seen.judges:
        theirs = seen.between_judges([judges])
        agreed, table = figures_of(theirs), confusion_of(theirs)
        found.append(PairFigures(judges=judges, agreement=agreed, confusion=table))
    return found


def _by_query(gold: GoldSet, seen: Comparisons, attribute: str) -> dict[str, Figures]:
    """By topic or type, in the order of the set; queries without one are in none."""
    here, ids = set(seen.queries), dict[str, set[str]]()
    for query in gold.queries:
        if query.id in here and getattr(query, attribute):
            ids.setdefault(getattr(query, attribute), set()).add(query.id)
    return {name: figures_of(seen.of_queries(wanted)) for name, wanted in ids.items()}
