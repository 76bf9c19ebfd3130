"""The pool of a gold set: the pairs that judges are asked to grade, and who is asked for each.

Pooling works as in TREC (Spärck Jones & van Rijsbergen 1975): the top results of several systems
are judged, so that no system is scored only on documents that the others found.

STEM.pool.json beside a set keeps which pairs are asked for, and of whom. It is blind: the order is
drawn, and nothing says which system found a document, at which rank or with which score. Pooling
again adds what is new; who was asked stays asked. What has been judged is in the votes and the set,
and `waiting` is the rest."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import msgspec
import polars as pl

from assay.core.decoding import thread_safe
from assay.core.errors import InputError, UsageError
from assay.core.files import read_strict_json, write_atomic
from assay.core.types import WHOLE_DOCUMENTS, Document, GoldSet, Vote, VoteKind
from assay.corpus.disk import Corpus, documents_of
from assay.corpus.lookup import corpus_named, documents, is_corpus, require_corpus
from assay.gold.people import People
from assay.gold.rows import sibling_path
from assay.gold.votes import PairKey, by_pair, current_votes
from assay.judging.votes import stale_in

# ── dealing pairs to judges ───────────────────────────────────────────────────────────────────────

JudgePair = tuple[str, str]


def deal_pairs(
    count: int,
    judges: Sequence[str],
    *,
    doubles: int,
    seed: int = 0,
    loads: Mapping[str, int] | None = None,
) -> list[tuple[str, ...]]:
    """The judges of each of `count` pairs, in their order; `doubles` of them have two. If the
    numbers do not come out even, whoever has had less (`loads`) comes first."""
    rng = random.Random(seed)
    ranked = sorted(judges)
    rng.shuffle(ranked)
    before = loads or {}
    ranked.sort(key=lambda judge: before.get(judge, 0))
    twos = _judge_pairs(ranked, doubles, rng)
    work = Counter(judge for two in twos for judge in two)
    alone: Counter[str] = Counter()
    for _ in range(count - doubles):
        least = min(ranked, key=lambda judge: work[judge])  # the first of equals
        alone[least] += 1
        work[least] += 1
    singles = [(judge,) for judge in ranked for _ in range(alone[judge])]
    return _place_doubles(count, twos, singles, rng)


def doubles_wanted(overlap: float, total: int, already: int, new: int) -> int:
    """How many of the `new` pairs go to two judges, so that the share is right over all."""
    return min(max(round(overlap * total) - already, 0), new)


def _place_doubles(
    count: int, twos: Sequence[JudgePair], singles: Sequence[tuple[str, ...]], rng: random.Random
) -> list[tuple[str, ...]]:
    """The doubles at even distances, the rest in their order between them."""
    start = rng.randrange(max(count, 1))
    places = {(number * count + start) // len(twos) for number in range(len(twos))}
    doubled, single = iter(twos), iter(singles)
    return [next(doubled) if place in places else next(single) for place in range(count)]


def _judge_pairs(ranked: Sequence[str], doubles: int, rng: random.Random) -> list[JudgePair]:
    """The two judges of each doubly judged document: every two judges in turn."""
    if not doubles:
        return []
    every = list(combinations(ranked, 2))
    rounds, rest = divmod(doubles, len(every))
    order: list[JudgePair] = []
    for _ in range(rounds):
        rng.shuffle(every)
        order += every
    last = _even_judge_pairs(ranked, rest)
    rng.shuffle(last)
    return order + last


def _even_judge_pairs(ranked: Sequence[str], count: int) -> list[JudgePair]:
    """`count` different twos in which no judge is more than once oftener than another: the graph of
    Havel (1955) and Hakimi (1962) on degrees that differ by at most one, which always exists."""
    degree, more = divmod(2 * count, len(ranked))
    left = {judge: degree + (place < more) for place, judge in enumerate(ranked)}
    twos = []
    while left:
        judge = max(left, key=lambda name: left[name])
        wanted = left.pop(judge)
        for other in sorted(left, key=lambda name: -left[name])[:wanted]:
            left[other] -= 1
            twos.append((judge, other))
    return twos


# ── the pool ──────────────────────────────────────────────────────────────────────────────────────

FORMAT = 1  # of the file; a change that older versions cannot read raises it
PEOPLE_ONLY: tuple[VoteKind, ...] = ("human",)


class PooledPair(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A pair that is asked for. Without judges it is anybody's, until as many as are `wanted` have
    graded it. `why` is what the person wrote who put it in by hand."""

    query_id: str
    doc_id: str
    judges: tuple[str, ...] = msgspec.field(default_factory=lambda: ())  # written where empty too
    why: str = ""
    wanted: int = 1

    @property
    def key(self) -> PairKey:
        return self.query_id, self.doc_id


class Pool(msgspec.Struct, frozen=True, kw_only=True):
    """The pairs to judge. Every one of `systems` is pooled to `depth`; `corpus` is what they
    searched, if known. `pairs` are in the order in which a judge sees them."""

    format: int = FORMAT
    depth: int = 0
    systems: tuple[str, ...] = ()
    corpus: str = ""
    corpus_fingerprint: str = ""
    seed: int = 0
    judges: tuple[str, ...] = ()
    overlap: float = 0.0
    pairs: tuple[PooledPair, ...] = ()

    @property
    def keys(self) -> set[PairKey]:
        return {pair.key for pair in self.pairs}


# ── the file ──────────────────────────────────────────────────────────────────────────────────────


def pool_path(dataset: Path) -> Path:
    return sibling_path(dataset, "pool.json")


def is_answer_set(dataset: Path) -> bool:
    """Whether the queries of a set are answers, and their documents claims
    (`workbench/judging/answer_pool.py`). No engine is run on such a set."""
    return sibling_path(dataset, WHOLE_DOCUMENTS).is_file()


def read_pool(dataset: Path) -> Pool | None:
    """The pool beside a set; None where nothing was pooled."""
    path = pool_path(dataset)
    if not path.exists():
        return None
    try:
        pool = msgspec.convert(read_strict_json(path), thread_safe(Pool))
    except msgspec.ValidationError as error:
        raise InputError(
            f"not a pool: {error}",
            where=str(path),
            hint="It is written by `assay gold pool`; move it away to start a new pool.",
        ) from error
    if pool.format != FORMAT:
        raise InputError(
            f"the pool has format {pool.format}, and this version reads {FORMAT}", where=str(path)
        )
    seen: set[PairKey] = set()
    for place, pair in enumerate(pool.pairs):
        at = f"{path}: $.pairs[{place}]"
        if pair.key in seen:
            raise InputError(
                f"{pair.doc_id!r} on query {pair.query_id!r} is in the pool twice", where=at
            )
        if len(set(pair.judges)) < len(pair.judges):
            raise InputError(f"a judge is asked twice to judge {pair.doc_id!r}", where=at)
        seen.add(pair.key)
    return _renamed(pool, People(dataset).name_of)


def write_pool(dataset: Path, pool: Pool) -> None:
    """The file has the ids of people, and not their names."""
    write_atomic(pool_path(dataset), pool_content(_renamed(pool, People(dataset).id_of)))


def _renamed(pool: Pool, called: Callable[[str], str]) -> Pool:
    names = {name: called(name) for pair in pool.pairs for name in pair.judges}
    names |= {name: called(name) for name in pool.judges}
    if all(old == new for old, new in names.items()):
        return pool
    pairs = (
        msgspec.structs.replace(pair, judges=tuple(names[name] for name in pair.judges))
        for pair in pool.pairs
    )
    judges = tuple(names[name] for name in pool.judges)
    return msgspec.structs.replace(pool, judges=judges, pairs=tuple(pairs))


def pool_content(pool: Pool) -> bytes:
    """A pair a line, so that a difference shows what was asked for and nothing more."""
    head = msgspec.json.encode(msgspec.structs.replace(pool, pairs=()))
    rows = b",\n".join(b"  " + msgspec.json.encode(pair) for pair in pool.pairs)
    pairs = b"[\n" + rows + b"\n ]" if rows else b"[]"
    return msgspec.json.format(head, indent=1).removesuffix(b"[]\n}") + pairs + b"\n}\n"


# ── what goes in ──────────────────────────────────────────────────────────────────────────────────


def with_pairs(pool: Pool, pairs: Iterable[PooledPair]) -> Pool:
    """The pool with the pairs it did not have. The documents of a query stand together; the order
    of queries and of their documents is drawn by the seed and tells nothing. Each has a lot of its
    own, so that what comes later does not move the others."""
    known = pool.keys
    new = {pair.key: pair for pair in pairs if pair.key not in known}
    every = sorted(
        (*pool.pairs, *new.values()),
        key=lambda pair: (
            _random_rank(pool.seed, pair.query_id),
            pair.query_id,
            _random_rank(pool.seed, *pair.key),
            pair.doc_id,
        ),
    )
    return msgspec.structs.replace(pool, pairs=tuple(every))


def _random_rank(seed: int, *names: str) -> float:
    return random.Random("\n".join((str(seed), *names))).random()


def with_judges(pool: Pool, keys: Collection[PairKey], *, same_share: bool = True) -> Pool:
    """The pool with these pairs dealt to its judges, if they are nobody's. With `same_share`, pairs
    with two judges are kept at the stated share of all ever dealt, otherwise of those dealt now."""
    if not pool.judges:
        return pool
    new = [pair for pair in pool.pairs if pair.key in keys and not pair.judges]
    before = [pair.judges for pair in pool.pairs if pair.judges] if same_share else []
    doubles = doubles_wanted(
        pool.overlap,
        total=len(before) + len(new),
        already=sum(len(judges) > 1 for judges in before),
        new=len(new),
    )
    loads = Counter(judge for pair in pool.pairs for judge in pair.judges)
    asked = deal_pairs(len(new), pool.judges, doubles=doubles, seed=pool.seed, loads=loads)
    given = {pair.key: judges for pair, judges in zip(new, asked, strict=True)}
    return _with_judges_of(pool, given)


def after_unsure(pool: Pool, votes: Iterable[Vote]) -> Pool:
    """The pool with one more judge for pairs on which all who were asked are unsure: whoever has
    had least."""
    loads = Counter(judge for pair in pool.pairs for judge in pair.judges)
    votes_of_pair = by_pair(vote for vote in current_votes(votes) if vote.kind == "human")
    given: dict[PairKey, tuple[str, ...]] = {}
    for pair in pool.pairs:
        here = votes_of_pair.get(pair.key, [])
        voters = {vote.judge for vote in here}
        others = [judge for judge in pool.judges if judge not in {*voters, *pair.judges}]
        unsure = here and all(vote.grade is None for vote in here) and voters >= {*pair.judges}
        if unsure and others:
            given[pair.key] = (*pair.judges, _least_loaded(others, loads))
    return _with_judges_of(pool, given)


def with_one_more_judge(pool: Pool, keys: Collection[PairKey]) -> Pool:
    """The pairs with these keys, asked of one more than were asked: of somebody else of the pool's
    judges, the one who has had least, or of anybody where it was nobody's."""
    loads = Counter(judge for pair in pool.pairs for judge in pair.judges)
    wanted = set(keys)
    every = with_pairs(
        pool, [PooledPair(query_id=query, doc_id=doc) for query, doc in sorted(wanted)]
    )
    pairs = []
    for pair in every.pairs:
        if pair.key in wanted and pair.wanted == 1 and len(pair.judges) < 2:
            others = [judge for judge in pool.judges if judge not in pair.judges]
            if pair.judges and others:
                judges = (*pair.judges, _least_loaded(others, loads))
                pair = msgspec.structs.replace(pair, judges=judges)
            else:
                pair = msgspec.structs.replace(pair, judges=(), wanted=2)
        pairs.append(pair)
    return msgspec.structs.replace(every, pairs=tuple(pairs))


def _least_loaded(judges: Sequence[str], loads: Counter[str]) -> str:
    """The judge who has the fewest pairs, and gets one more."""
    judge = min(judges, key=lambda name: loads[name])
    loads[judge] += 1
    return judge


def _with_judges_of(pool: Pool, judges_of: Mapping[PairKey, tuple[str, ...]]) -> Pool:
    pairs = tuple(
        msgspec.structs.replace(pair, judges=judges_of.get(pair.key, pair.judges))
        for pair in pool.pairs
    )
    return msgspec.structs.replace(pool, pairs=pairs)


# ── what has been answered ────────────────────────────────────────────────────────────────────────


def judged_pairs(
    gold: GoldSet, votes: Iterable[Vote], counts: Collection[VoteKind] = PEOPLE_ONLY
) -> set[PairKey]:
    """The pairs that have a label or a grade of those who count; who was unsure has not judged. A
    label that rests on machines alone is judged where machines count."""
    labels = zip(gold.judgments["query_id"], gold.judgments["doc_id"], strict=True)
    votes_of_pair = by_pair(current_votes(votes))
    by_others = {
        pair for pair, here in votes_of_pair.items() if not any(v.kind in counts for v in here)
    }
    graded = {
        pair
        for pair, here in votes_of_pair.items()
        if any(vote.kind in counts and vote.grade is not None for vote in here)
    }
    return ({*labels} - by_others) | graded


def pairs_left(
    pool: Pool, gold: GoldSet, votes: Iterable[Vote], counts: Collection[VoteKind] = PEOPLE_ONLY
) -> list[PooledPair]:
    """The pairs that still want a judge, with those of their judges who have not voted. A pair of
    nobody's waits until anybody who counts has judged it; one that two were asked for waits for
    both, whatever machines say that nobody asked, and one of which a second look is wanted for
    that."""
    labelled = {*zip(gold.judgments["query_id"], gold.judgments["doc_id"], strict=True)}
    votes_of_pair = by_pair(current_votes(votes))
    left = (
        still_wanted(pair, votes_of_pair.get(pair.key, ()), pair.key in labelled, counts)
        for pair in pool.pairs
    )
    return [pair for pair in left if pair is not None]


def still_wanted(
    pair: PooledPair,
    votes: Sequence[Vote],
    labelled: bool,
    counts: Collection[VoteKind] = PEOPLE_ONLY,
) -> PooledPair | None:
    """The pair with the judges still wanted; None if its votes suffice."""
    by_people = [vote for vote in votes if vote.kind in PEOPLE_ONLY]
    judged = any(vote.grade is not None for vote in by_people)
    judged = judged or (labelled and (not votes or bool(by_people)))
    kinds = PEOPLE_ONLY if pair.judges else counts
    current_votes = [
        vote
        for vote in votes
        if vote.kind in kinds or (vote.kind in counts and vote.judge in pair.judges)
    ]
    if judged and not current_votes:
        return None  # a label from elsewhere
    voters = {vote.judge for vote in current_votes}
    graded = {vote.judge for vote in current_votes if vote.grade is not None}
    missing = max(len(pair.judges), pair.wanted) - len(graded)
    left = tuple(judge for judge in pair.judges if judge not in voters)[: max(missing, 0)]
    if left or (missing > 0 and not pair.judges):
        return msgspec.structs.replace(pair, judges=left)
    return None


# ── the corpus that a set is judged on ────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True)
class CorpusTexts:
    ids: Set[str]
    some: Callable[[Set[str]], list[Document]]  # the documents with these ids


def corpus_texts(dataset: Path, corpus: Path | None) -> CorpusTexts | None:
    """The texts of the named corpus, else of the pool's corpus; None if neither is here."""
    corpus = corpus or pooled_corpus(dataset)
    if corpus is None:
        return None
    require_corpus(corpus)
    if is_corpus(str(corpus)):
        return _imported(corpus_named(str(corpus)))
    every = documents(corpus)
    return CorpusTexts(
        ids={document.id for document in every},
        some=lambda ids: [document for document in every if document.id in ids],
    )


def pooled_corpus(dataset: Path) -> Path | None:
    """The corpus that the pool of a set is from, where it is here."""
    pool = read_pool(dataset)
    if pool is None or not pool.corpus:
        return None
    path = Path(pool.corpus)
    return path if path.exists() or is_corpus(pool.corpus) else None


def texts_of(
    pairs: Iterable[PairKey], dataset: Path, corpus: Path | str | None
) -> dict[str, Document]:
    """The documents of these pairs, from the corpus that is named or the pool's; one that the
    corpus lacks is an error."""
    wanted = {doc_id: query_id for query_id, doc_id in pairs}
    texts = corpus_texts(dataset, Path(corpus) if corpus else None)
    if texts is None:
        raise UsageError(
            "the corpus of the documents is unknown",
            where=str(pool_path(dataset)),
            hint="Name it with --corpus.",
        )
    found = {document.id: document for document in texts.some(wanted.keys())}
    if missing := [doc_id for doc_id in wanted if doc_id not in found]:
        first = f"{missing[0]!r}, which query {wanted[missing[0]]!r} asks for"
        more = f", and {len(missing) - 1} more" if missing[1:] else ""
        raise InputError(
            f"the corpus has no document {first}{more}",
            where=str(corpus or pool_path(dataset)),
            hint="Were they pooled from another corpus? Name it with --corpus. "
            f"Or remove one: assay gold add {dataset} --remove --document ID --for QUERY",
        )
    return {doc_id: found[doc_id] for doc_id in wanted}


def _imported(corpus: Corpus) -> CorpusTexts:
    def some(ids: Set[str]) -> list[Document]:
        return list(documents_of(corpus.frame.filter(pl.col("id").is_in(list(ids))).collect()))

    return CorpusTexts(ids=set(corpus.ids), some=some)


def stale_votes(votes: Iterable[Vote], texts: CorpusTexts) -> list[Vote]:
    """The votes on documents that have changed since they were read."""
    given = list(votes)
    return stale_in(given, texts.some({vote.doc_id for vote in given if vote.document}))
