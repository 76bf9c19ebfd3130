"""The wording of results, the same on every page, terminal, file and tool: the gold set's standing,
the change since a baseline, cited places, reasons, gates, whether one system beats another, and
why a search hit was found.

`Sentences` words facts in one language; the functions after it word comparisons. The phrases are in
`reports/words`. Results files hold their reasons in English: an English report repeats those, and
another language builds them from the facts stored beside them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.core.results import (
    ALPHA,
    ANSWER_COUNTS,
    ANSWER_SHARES,
    BOUNDS,
    DROPS,
    MIN_JUDGED_HITS,
    MIN_QUERIES,
    SURE,
    WIDE,
    Baseline,
    Check,
    GoldCard,
    GoldenEntry,
    GoldenHit,
    GoldenResults,
    GradedEntry,
    GradedResults,
    MeasureLine,
    OneJudge,
    Results,
    RiskyQueries,
    Status,
    Unjudged,
    Why,
    rounded,
    standing_line,
)
from assay.core.types import Finding, approval_status, counted
from assay.reports.numbers import PASS, Numbers, is_rate
from assay.reports.shapes import ComparisonAnswer
from assay.reports.words import Words, page_table, page_words

if TYPE_CHECKING:
    from assay.evaluation.comparison import Comparison, ComparisonVerdict, Difference
    from assay.evaluation.unjudged.verdict_stability import Stability
    from assay.review.backlog import Backlog
    from assay.search.why import Why as HitReasons

HEBREW = re.compile("[א-ת]")
LAW_KEYS = ("law", "law_id", "law_key", "law_name", "law_names", "statute")
DOC_KEYS = ("doc_id", "node_id", "document_id", "opinion_id", "id")
PRIMARY = ("ndcg@10", "pass_rate_total")  # the measures that a change is reported in
BESIDE = ("top1_rate", "mrr_at_k")  # golden figures reported beside the pass rate when they fall
FALL = 0.05  # the smallest such fall that is reported: taste
SHARES = ("share", "up", "down")  # facts of a reason that are written in per cent
ERRORS = ("n_failed", "errors")  # measures of the gate on failed calls
COMMAND = "assay gold next"
PLAN = "assay plan"
SHOWN_RISKS = 3  # queries that a warning names; taste
FEWEST_QUERIES = 2  # that an interval takes
SHOWN_MUSTS = 3  # failed questions that an answer names; taste
STATUSES: dict[ComparisonVerdict, Status] = {"better": "pass", "worse": "fail"}


class CitedPlace(NamedTuple):
    """A place as a gold set or an engine wrote it."""

    source: str
    chapter: str
    section: str
    moment: str
    page: str
    table: str
    row: str
    version: str
    schedule: str = ""
    language: str = ""


def inline(text: object) -> str:
    """One line of text, whatever the question or the title holds."""
    return " ".join(str(text).split())


class Sentences:
    """The facts of results as sentences in one language."""

    def __init__(self, words: Words) -> None:
        self.words = words
        self.numbers = Numbers(words)

    def bounds(
        self, unjudged: Unjudged, cutoff: int | None, counts: Mapping[str, int] | None = None
    ) -> str:
        """How much of a measure's hits is judged, and between which values it could lie; empty
        where all are judged. Where `counts` show queries without a value, the sentence says that
        the share is over the others: a gate counts all queries, and finds less."""
        if unjudged.judged_share is None or unjudged.judged_share >= 1:
            return ""
        say, numbers = self.words, self.numbers
        looked_at = self.looked_at(cutoff)
        scored = (counts or {}).get("n_scored", 0)
        if counts and scored < counts.get("n_expected", scored):
            looked_at += say("terminal.of_scored", n=scored)
        return say(
            "terminal.bounds",
            share=numbers.percent(unjudged.judged_share, 0),
            looked_at=looked_at,
            measure=unjudged.measure,
            only=numbers.decimal(unjudged.judged_only),
            worst=numbers.decimal(unjudged.worst),
            best=numbers.decimal(unjudged.best),
        )

    def looked_at(self, cutoff: int | None) -> str:
        """The hits that a measure looks at: the top 10, or all of them."""
        if cutoff is None:
            return self.words("terminal.all_hits")
        return self.words("terminal.the_top", cutoff=cutoff)

    # ── the gold set ──────────────────────────────────────────────────────────────────────────────

    def standing(self, card: GoldCard) -> str:
        """How much of the gold set an expert has approved, or how much machines have labelled;
        empty where neither applies."""
        share = card.approved_share
        if self.words.is_english:
            return standing_line(card)
        if share is None:
            whole = card.by_machine >= card.judgments
            key = "standing_machines" if whole else "standing_machines_partly"
            counts = {"n": card.by_machine, "labels": card.judgments}
            numbers = {name: self.numbers.whole(count) for name, count in counts.items()}
            return self.words(key, **numbers) if card.by_machine else ""
        approved = round(share * card.queries)
        stands = self.words.named("standings", approval_status(approved, card.queries))
        text = self.numbers.percent(share, 0)
        return self.words(
            "standing", standing=stands, approved=approved, rows=card.queries, share=text
        )

    def judged(self, card: GoldCard) -> str:
        """A sentence that nothing is judged yet; empty if something is."""
        return "" if card.judgments else self.words("nothing_judged")

    def finding(self, finding: Finding) -> str:
        if self.words.is_english or not self.words.has("findings", finding.code):
            return finding.message
        message = finding.message
        is_placed = message.startswith(("expected_", "confusion["))
        place = f"{message.partition(': ')[0]}: " if is_placed else ""
        tail = message.rpartition(": ")[2]
        return place + self.words(f"findings.{finding.code}", tail=tail)

    def warnings(self, notes: Sequence[str]) -> tuple[str, ...]:
        """The reasons why two results cannot be compared one to one; in general terms outside
        English."""
        if self.words.is_english or not notes:
            return tuple(notes)
        return (self.words("differ_note"),)

    def rulings(self, count: int) -> tuple[str, ...]:
        """How many pairs of the set need a ruling, as a warning; empty where none does."""
        return (self.words.plural("rulings_needed", count),) if count else ()

    def stale(self, why: str) -> str:
        """The reason why a baseline is stale, as part of a sentence."""
        return self.words("differ") if why and not self.words.is_english else why

    def since(self, baseline: Baseline, names: Mapping[str, str]) -> str:
        """The change of the first measure that decides, with its interval and test, and over how
        many queries where not all are in both; of a golden set also what a pass hides."""
        key = next((key for key in PRIMARY if key in baseline.p), next(iter(baseline.p), ""))
        text = ""
        if key:
            text += self.words(
                "since_baseline",
                measure=names.get(key) or self.words.named("figures", key),
                change=self._moved(key, baseline.delta[key]),
                between=self.numbers.change_between(key, *baseline.intervals[key]),
                p=self.numbers.p_value(baseline.p[key]),
                n=baseline.n,
            )
        fell = [key for key in BESIDE if baseline.delta.get(key, 0.0) <= -FALL]
        for other in fell[:1]:
            change = self._moved(other, baseline.delta[other])
            text += self.words("fell_too", measure=names.get(other, other), change=change)
        if baseline.n_apart:
            text += self.words("on_common", n=baseline.n, apart=baseline.n_apart)
        return text

    def _moved(self, key: str, change: float) -> str:
        """A change with its sign; rates change in points."""
        if not is_rate(key):
            return self.numbers.signed(change)
        return self.numbers.change(key, change, "+" if round(change, 3) else "")

    # ── places ────────────────────────────────────────────────────────────────────────────────────

    def place(self, place: CitedPlace) -> str:
        """A place in the order people cite it, in Hebrew where it is a Hebrew one."""
        printed = f"{place.source}{place.section}{place.moment}"
        if place.section and (place.language == "he" or HEBREW.search(printed)):
            return inline(_in_hebrew(place))
        if place.section and place.language == "en":
            return inline(_in_english(place))
        cited = [
            place.source,
            _with_number("{} luku", place.chapter),
            place.section,
            _with_number("{}" if "mom" in place.moment.casefold() else "{} mom.", place.moment),
            _with_number(self.words("golden.page") + " {}", place.page),
            place.table,
            _with_number(self.words("golden.row") + " {}", place.row),
            _with_number("({})", _cited_version(place.version)),
        ]
        return inline(" ".join(word for word in cited if word)) or "?"

    def hit(self, hit: GoldenHit) -> str:
        """A hit by its place and title, with its score."""
        title = str(hit.title or hit.fields.get("section_title") or "")
        place = self.place(_place_of_hit(hit)._replace(version=""))
        if place.casefold() in inline(title).casefold():
            place = ""  # the title of a hit may cite the place itself
        name = f"{place} {inline(title)}".strip() if title and title not in place else place
        return f"{name} ({self.words('golden.score')} {self.score(hit.score)})"

    def score(self, value: float | None) -> str:
        return self.numbers.figure("score", value)

    def expected(self, entry: GoldenEntry) -> str:
        """All that a question expects."""
        say, stated = self.words, entry.stated
        first = entry.hits[0].fields if entry.hits else {}
        is_hebrew = HEBREW.search(str(first.get("law") or ""))
        language = "he" if is_hebrew else str(first.get("language") or "")

        def told_as(place: Any) -> str:
            return self.place(_cited_place(place)._replace(language=language))

        places = [told_as(place) for place in entry.expected_any]
        negatives = _as_list(stated.get("expected_none"))
        places += [f"{say('golden.not')} {told_as(place)}" for place in negatives]
        traps = _as_list(stated.get("confusion"))
        laws = [_cited_place(trap) for trap in traps if trap is not True]
        places += [say("golden.not_on_top", place=self.place(law)) for law in laws]
        if True in traps:
            places.append(say("golden.no_other_law"))
        if stated.get("must_abstain"):
            places.append(say("golden.abstain"))
        return "; ".join(places) or say("golden.nothing")

    def rank_of(self, entry: GoldenEntry) -> str:
        """The rank of the expected hit."""
        say = self.words
        if entry.expected_rank is None:
            return say("golden.not_returned")
        score = self.score(entry.expected_score)
        return f"{say('golden.rank')} {entry.expected_rank}, {say('golden.score')} {score}"

    # ── reasons ───────────────────────────────────────────────────────────────────────────────────

    def graded_reason(self, entry: GradedEntry) -> str:
        """The reason why a query has no value, or a 0."""
        if self.words.is_english or not entry.reason:
            return entry.reason
        if entry.error is not None:
            return self.words("reasons.failed", error=entry.error)
        return self.words.translated("reasons", entry.reason)

    def golden_reason(self, entry: GoldenEntry) -> str:
        """The reason why a question failed, or how it passed."""
        if self.words.is_english:
            return entry.reason
        if entry.passed:
            return self._how_passed(entry)
        if not self.words.has("failures", entry.failure):
            return entry.reason
        say = self.words
        at, version = entry.negative_rank, say("failures.other_version")
        if entry.as_of:
            version = say("failures.not_in_force", day=self.numbers.day(entry.as_of))
        evidence = [_as_list(entry.stated.get("evidence"))]
        evidence += [_as_list(place.get("evidence")) for place in entry.expected_any]
        terms = dict.fromkeys(str(term) for stated in evidence for term in stated)
        return say(
            f"failures.{entry.failure}",
            error=entry.error,
            top=self.place(_place_of_hit(entry.hits[0])) if entry.hits else "",
            negative=self.place(_place_of_hit(entry.hits[at - 1])) if at else "",
            negative_rank=at,
            rank=entry.expected_rank,
            score=self.score(entry.expected_score),
            min_score=self.numbers.local(f"{entry.min_score:g}"),
            before=say("failures.before_expected") if entry.expected_any else "",
            not_right=version,
            terms=", ".join(terms),
            k=entry.k,
        ).rstrip()

    def _how_passed(self, entry: GoldenEntry) -> str:
        rank = entry.first_rank
        if rank is not None and 0 < rank <= len(entry.hits):
            hit = entry.hits[rank - 1]
            place, score = self.place(_place_of_hit(hit)), self.score(hit.score)
            return self.words("failures.passed_at", place=place, rank=rank, score=score)
        abstained = bool(entry.stated.get("must_abstain"))
        return self.words("failures.passed_abstained" if abstained else "failures.passed_nothing")

    # ── gates ─────────────────────────────────────────────────────────────────────────────────────

    def may_ship(
        self, engine: str, answer: str, *, musts: Sequence[str], judge: str, built_in: bool
    ) -> str:
        """Whether an engine may ship, in the words of the pages: `answer` is yes, no, not_yet or
        no_gates. It names the questions that must pass and do not, and the `judge` on whom alone
        the verdict depends; `built_in` gates are those of a project that sets none."""
        words = page_words(self.words.language, "decide")
        if answer == "yes" and musts:
            text = self.failed_musts(musts, SHOWN_MUSTS)
        elif judge:
            text = words[f"ship {answer} one"].format(judge=judge)
        else:
            text = words[f"ship {answer}"]
        usual = self.words("gate.built_in") if built_in else ""
        return f"{words['may_ship'].format(engine=engine)} {text}{usual}."

    def failed_musts(self, musts: Sequence[str], limit: int | None = None) -> str:
        """A sentence on questions that must pass and failed although every gate passes."""
        which = ", ".join(map(self.words.isolated, musts[:limit]))
        return self.words.plural("passed_but", len(musts), which=which)

    def gate_found(self, results: Results, check: Check, *, to_judge: int) -> str:
        """The status and the sentence of a gate. One that too few judgments leave open says how
        many are `to_judge`, and how many queries have none: its share counts these, too."""
        found = f"{check.status.upper()}: {self.check_of(results, check)}"
        if check.status != "inconclusive" or not isinstance(results, GradedResults):
            return f"{found}."
        notes = [self.words.plural("gate.more_judgments", to_judge)] if to_judge else []
        bare = sum(not entry.known_grades for entry in results.per_query)
        if bare and any(why.kind == "few_judged" for why in check.whys):
            facts = {"queries": len(results.per_query), "bare": bare}
            notes.append(self.words("gate.without_judgments", **facts))
        return f"{found} ({'; '.join(notes)})." if notes else f"{found}."

    def one_judge(self, rests: OneJudge | None) -> str:
        """A sentence that a verdict depends on documents that only one judge has judged."""
        if rests is None:
            return ""
        status = self.words.named("statuses", rests.without)
        return self.words(
            "verdict_one_judge", judge=rests.judge, n=rests.documents, status=status.lower()
        )

    def to_judge(self, count: int, pairs: str, *, first: bool) -> str:
        """How many judgments are needed, and the first of them."""
        needed = self.judgments_needed(count, first=first)
        if first:
            return f"{needed}: {pairs}"
        return self.words("these_first", judgments=needed, pairs=pairs)

    def judgments_needed(self, count: int, *, first: bool) -> str:
        """How many judgments should settle a verdict; or, where too few are made to predict
        anything, how many have to come `first`. Gates and `gold next` say it alike."""
        return self.words.plural("judge_first" if first else "would_settle", count)

    def gate_name(self, check: Check) -> str:
        """The name that a gate was given; one without is called by its measure."""
        gate = check.gate
        if gate.measure in ERRORS:
            return self.words("golden.calls")
        if not gate.name or gate.name.startswith(gate.measure):
            return self.gate_measure(check)
        return gate.name

    def gate_measure(self, check: Check) -> str:
        measure = check.gate.measure
        of_answers = measure in (*ANSWER_COUNTS, *ANSWER_SHARES)
        name = self.words(f"answers.{measure}") if of_answers else self.words.figure(measure)
        if check.gate.slice == "overall":
            return name
        kind, _, slice_name = check.gate.slice.partition(":")
        return f"{name} ({self.words.slice_kind(kind)}: {slice_name})"

    def gate_limit(self, check: Check) -> str:
        if not check.limit_kind or not self.words.has("golden", check.limit_kind):
            return check.limit
        measure, is_drop = check.gate.measure, check.limit_kind in DROPS
        as_text = self.numbers.change if is_drop else self.numbers.figure
        base = ""
        if check.baseline is not None:
            base = self.words("golden.from", base=self.numbers.figure(measure, check.baseline))
        return self.words(f"golden.{check.limit_kind}", limit=as_text(measure, check.bound)) + base

    def check(self, check: Check) -> str:
        """The finding of a gate. The English sentence holds more than the facts beside it."""
        if not self.words.is_english:
            return self._check(check)
        key = check.gate.measure
        name = self.words.figure(key) if self.words.has("figures", key) else key
        return check.message.replace(key, name, 1)

    def check_of(self, results: Results, check: Check) -> str:
        """The finding of a gate on these results; for a golden set in per cent and points like its
        card, with the card's interval if the gate goes by the value."""
        if check.value is None or not check.counts or not isinstance(results, GoldenResults):
            return self.check(check)
        gate = check.gate
        by_value = gate.slice == "overall" and is_rate(gate.measure) and gate.alpha is None
        bounds = results.intervals.overall.get(gate.measure) if by_value else None
        ends = [end for end in bounds or () if end is not None] if gate.drop is None else []
        return self._check(check, self.numbers.percents(ends) if len(ends) == 2 else "")

    def _check(self, check: Check, between: str = "") -> str:
        say, gate = self.words, check.gate
        if gate.measure in ERRORS and check.value is not None:
            return say("gate.errors", n=f"{check.value:g}")
        title = self.gate_name(check)
        is_drop = gate.drop is not None
        if check.value is None or (is_drop and not check.counts):
            why = "; ".join(map(self.why, check.whys))
            if why:
                return say("gate.is", title=title, value=why)
            return say("gate.no_baseline" if is_drop else "gate.no_value", title=title)
        measure = self.gate_measure(check)
        value = self._gate_value(check)
        text = say("gate.is", title=title, value=value)
        if title != measure:
            text = say("gate.measure_is", title=title, measure=measure, value=value)
        if between:
            text += say("gate.between", level=self.numbers.percent(0.95, 0), between=between)
        text += say("gate.identical") if check.is_identical else self._gate_interval(check)
        text += say("gate.wanted", limits=self._limits(check)) if check.limit_kind else ""
        if check.risk is not None:
            named, changed = named_queries(check.risk, say), len(check.risk.queries)
            text += say.plural(f"gate.risk_{check.risk.kind}", changed, queries=named)
        if check.status != "inconclusive":
            return text
        if check.whys:
            return f"{text}{say('gate.undecided')}: {'; '.join(map(self.why, check.whys))}"
        demands = ", ".join(self._demands(check))  # of an older file
        thin = say("gate.too_thin", demands=demands) if demands else ""
        return text + say("gate.undecided") + thin

    def why(self, why: Why) -> str:
        """The reason why a gate is inconclusive."""
        percents = (*SHARES, "needed") if why.kind == "few_judged" else SHARES
        facts = {
            name: self.numbers.percent(fact, 0)
            if name in percents
            else self.numbers.local(rounded(fact))
            for name, fact in why.facts.items()
        }
        known = self.words.has("gate", f"why_{why.kind}")  # older files have other reasons
        return self.words(f"gate.why_{why.kind if known else 'inside'}", **facts)

    def _gate_value(self, check: Check) -> str:
        if self.words.has("figures", check.gate.measure):
            return self._golden_value(check)
        text = rounded(check.value or 0.0, check.gate.holds)
        sign = "+" if check.gate.drop is not None and (check.value or 0) > 0 else ""
        return self.numbers.local(sign + text)

    def _golden_value(self, check: Check) -> str:
        """Rounded as on every page, unless it would then seem to stand on the other side."""
        gate, value = check.gate, check.value or 0.0
        shown = round(value, 1 if "latency" in gate.measure else 3)
        if gate.drop is not None or gate.holds(shown) == gate.holds(value):
            return self.numbers.figure(gate.measure, value)
        if is_rate(gate.measure):
            return self.numbers.percent(value, 3)
        return self.numbers.local(rounded(value, gate.holds))

    def _gate_interval(self, check: Check) -> str:
        if check.interval is None or check.level is None:
            return ""
        level, gate = self.numbers.percent(check.level, 0), check.gate
        if self.words.has("figures", gate.measure) and gate.drop is not None:
            between = self.numbers.change_between(gate.measure, *check.interval)
            unit = self.words("golden.points") if is_rate(gate.measure) else ""
            return self.words("gate.between_changes", level=level, between=between, unit=unit)
        if is_rate(gate.measure):
            ends = [self.numbers.percent(end) for end in check.interval]
        else:
            ends = [self.numbers.local(rounded(end, gate.sides)) for end in check.interval]
        between = self.words("to", low=ends[0], high=ends[1])
        return self.words("gate.between", level=level, between=between)

    def _limits(self, check: Check) -> str:
        gate = check.gate
        if self.words.has("figures", gate.measure):
            return self.gate_limit(check)
        limits = [
            self.words(f"golden.{name}", limit=self.numbers.local(f"{bound:g}"))
            for name, bound in gate.stated((*BOUNDS, *DROPS)).items()
        ]
        return self.words("gate.and").join(limits) or check.limit

    def _demands(self, check: Check) -> Iterable[str]:
        """The evidence that a gate asks for."""
        gate = check.gate
        if gate.min_judged is not None:
            yield self.words("gate.min_judged", share=self.numbers.percent(gate.min_judged, 0))
        if gate.min_queries is not None:
            yield self.words("gate.min_queries", n=gate.min_queries)
        if gate.significance is not None:
            level = self.numbers.local(f"{gate.significance:g}")
            yield self.words("gate.significance", level=level)
        if gate.worst_case:
            yield self.words("gate.worst_case")


def _in_hebrew(place: CitedPlace) -> str:
    from assay.law.he import schedule_name  # only where there is Hebrew: it compiles many patterns

    section = place.section.removesuffix(" §").removeprefix("סעיף ")
    moment = f"({place.moment})" if place.moment else ""
    words = [
        f"סעיף {section}{moment}",
        schedule_name(place.schedule).strip(),
        f"ל{place.source}" if HEBREW.search(place.source) else place.source,
        f"({place.version})" if place.version else "",
    ]
    return " ".join(word for word in words if word)


def _in_english(place: CitedPlace) -> str:
    from assay.law.en_names import place_name

    section = place.section.removesuffix(" §")
    name = place_name(section, place.moment, schedule=place.schedule, chapter=place.chapter)
    words = (place.source, name, f"({place.version})" if place.version else "")
    return " ".join(word for word in words if word)


def _place_of_hit(hit: GoldenHit) -> CitedPlace:
    """The place of a hit without its chapter, which most citations leave out."""
    return _cited_place(hit.place_fields)._replace(chapter="")


def _cited_place(expectation: Mapping[str, object] | str) -> CitedPlace:
    """A place as it stands in a results file: a law may stand alone."""
    parts = expectation if isinstance(expectation, Mapping) else {"law": expectation}

    def given(*keys: str) -> str:
        """The first of these that is stated; 0 is something stated."""
        values = map(parts.get, keys)
        value = next((value for value in values if value not in (None, "", [])), "")
        return str(value[0] if isinstance(value, list | tuple) else value)

    section = given("section_id", "section_num", "section")
    source = given(*LAW_KEYS) or ("" if section else given(*DOC_KEYS))
    if section:
        suffix = parts.get("section_suffix") or ""
        sign = " §" if section[-1].isalnum() else ""
        section = f"{section}{suffix if section.isdigit() else ''}{sign}"
    return CitedPlace(
        source=source,
        chapter=given("chapter"),
        section=section,
        moment=given("moment"),
        page=given("page"),
        table=given("table", "table_id"),
        row=given("row"),
        version=given("version", "finlex_version"),
        schedule=given("schedule"),
        language=given("language"),
    )


def _as_list(expectation: Any) -> list[Any]:
    if isinstance(expectation, list | tuple):
        return list(expectation)
    return [expectation] if expectation else []


def _cited_version(version: str) -> str:
    from assay.law.versions import cited_version  # only for acts, which most reports are not of

    return cited_version(version) if version else ""


def _with_number(words: str, number: str) -> str:
    return words.format(number) if number else ""


# ── comparisons ───────────────────────────────────────────────────────────────────────────────────


def answers(comparison: Comparison, sentences: Sentences) -> Iterator[ComparisonAnswer]:
    """Each system against the baseline, by the measure that decides."""
    for row in headlines(comparison):
        key, sure = row.verdict.replace(" ", "_"), sureness(row, sentences)
        text = sentences.words(key, system=row.system, baseline=comparison.baseline, sure=sure)
        yield ComparisonAnswer(
            text=text + caveats(row, comparison, sentences),
            change=_change_found(row, comparison.tests, sentences),
            status=STATUSES.get(row.verdict, "inconclusive"),
            verdict=row.verdict,
            notes=(*_notes(row, sentences), *_query_advice(row, comparison, sentences)),
        )


def headlines(comparison: Comparison) -> list[Difference]:
    """The differences in the measure that decides, one a system."""
    return [row for row in comparison.differences if row.measure == comparison.headline]


def caveats(head: Difference, comparison: Comparison, sentences: Sentences) -> str:
    """Qualifications that follow the verdict in the same sentence."""
    return hidden_loss(head, comparison, sentences) + gold_change(head, comparison, sentences)


def sureness(row: Difference, sentences: Sentences) -> str:
    """How sure it is which of two systems is better, in per cent: of what is called probable, 95 at
    most, whatever the unjudged hits are predicted to add."""
    sure = 0.5 if row.sure is None else max(row.sure, 1 - row.sure)
    return (
        f">{sentences.numbers.percent(SURE, 0)}"
        if sure > SURE
        else sentences.numbers.percent(sure, 0)
    )


def gold_change(head: Difference, comparison: Comparison, sentences: Sentences) -> str:
    """A sentence that the set changed between the runs; empty if it did not."""
    changed = comparison.gold_changed
    return sentences.words(f"gold_changed_{changed}", n=head.n) if changed else ""


def hidden_loss(head: Difference, comparison: Comparison, sentences: Sentences) -> str:
    """The loss that a pass of a golden set hides: every question may pass although the first or the
    first right hit fell. A verdict of worse hides nothing."""
    if head.verdict in ("worse", "probably worse"):
        return ""
    beside = [row for row in comparison.differences if row.key in BESIDE]
    fell = [row for row in beside if row.system == head.system and row.difference <= -FALL]
    if not fell:
        return ""
    worst = min(fell, key=lambda row: row.difference)
    share = worst.key == "top1_rate"
    before, now = (
        sentences.numbers.percent(value, 0) if share else sentences.numbers.decimal(value)
        for value in (worst.baseline, worst.value)
    )
    shown = "loss_shown" if worst.p_adjusted <= ALPHA else "loss_not_shown"
    figure, p = sentences.words.figure(worst.key), sentences.numbers.p_value(worst.p_adjusted)
    inside = figure[0].lower() + figure[1:] if figure[1:2].islower() else figure
    return sentences.words(shown, figure=inside, before=before, now=now, p=p)


def is_golden(comparison: Comparison) -> bool:
    """A golden set is closed: its hits have no grades, and none is unjudged."""
    return any(row.key == PASS for row in comparison.differences)


def as_sentence(caveat: str) -> str:
    """A qualification of the answer as a sentence of its own, for a page."""
    text = caveat.removeprefix("; ")
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _change_found(row: Difference, tests: int, sentences: Sentences) -> str:
    numbers = sentences.numbers
    figures = (
        _in_points(row, sentences)
        if row.key == PASS
        else {
            "measure": row.measure,
            "before": numbers.decimal(row.baseline),
            "now": numbers.decimal(row.value),
            "change": numbers.signed(row.difference),
            "between": numbers.change_span(row.low_adjusted, row.high_adjusted),
        }
    )
    return sentences.words(
        "change_found",
        **figures,
        p=numbers.p_value(row.p_adjusted),
        together=sentences.words("tested_together", tests=tests) if tests > 1 else "",
        wins=sentences.words.counted(row.wins, "query"),
        ties=row.ties,
        losses=row.losses,
    )


def _in_points(row: Difference, sentences: Sentences) -> dict[str, str]:
    """A pass rate is told in per cent, as everywhere; its change in points."""
    numbers = sentences.numbers
    return {
        "measure": sentences.words.figure("pass_rate_total"),
        "before": numbers.figure(PASS, row.baseline),
        "now": numbers.figure(PASS, row.value),
        "change": numbers.change(PASS, row.difference, "+"),
        "between": numbers.change_between(PASS, row.low_adjusted, row.high_adjusted),
    }


def pool_advice(row: Difference, sentences: Sentences) -> str:
    """How many judgments pool both lists one rank deeper, where a change is not proven; empty where
    all is judged."""
    if row.pool is None or row.verdict in STATUSES:
        return ""
    return sentences.words.plural("pool_both", row.pool.judgments, depth=row.pool.depth)


def _notes(row: Difference, sentences: Sentences) -> Iterator[str]:
    if advice := pool_advice(row, sentences):
        yield advice
    if row.stability is not None:
        waits = row.verdict not in STATUSES and row.stability.is_open
        settle = f" {sentences.words('doubt_settle', command=COMMAND)}" if waits else ""
        yield _doubt(row.stability, sentences) + settle
    if row.low is not None and row.high is not None and row.high - row.low > WIDE:
        yield sentences.words("change_too_wide")
    if row.risk is not None:
        yield risk_in_words(row, sentences)


def risk_in_words(row: Difference, sentences: Sentences) -> str:
    """The reason why the interval of a difference may be too narrow, with the queries; empty if it
    is not."""
    if row.risk is None:
        return ""
    changed = sentences.numbers.whole(row.wins + row.losses)
    facts = {"changed": changed, "n": row.n, "queries": named_queries(row.risk, sentences.words)}
    return sentences.words(f"risk_{row.risk.kind}", **facts)


def named_queries(risk: RiskyQueries, words: Words) -> str:
    """The queries that make an interval doubtful, the weightiest first."""
    named = [words.isolated(query) for query in risk.queries[:SHOWN_RISKS]]
    return ", ".join(named) + (", …" if len(risk.queries) > SHOWN_RISKS else "")


def _query_advice(row: Difference, comparison: Comparison, sentences: Sentences) -> Iterator[str]:
    """How many queries it takes, and the command that computes it for other differences."""
    if needed := more_queries(row, comparison, sentences):
        yield f"{needed} {sentences.words('other_differences', command=PLAN)}"


def more_queries(row: Difference, comparison: Comparison, sentences: Sentences) -> str:
    """How many queries would show a difference that is not proven; empty if it is proven."""
    from assay.evaluation.planning import DEFAULT_DIFFERENCE, queries_to_show

    if row.verdict == "open" or row.p_adjusted <= ALPHA:
        return ""
    needed = queries_to_show(row, DEFAULT_DIFFERENCE, tests=comparison.tests)
    if needed is None:
        return ""
    numbers = sentences.numbers
    golden = row.key == PASS
    change = (
        numbers.change(PASS, DEFAULT_DIFFERENCE)
        if golden
        else numbers.decimal(DEFAULT_DIFFERENCE, 2)
    )
    return sentences.words(
        "more_needed" if needed > row.n else "enough_here",
        change=change,
        n=numbers.whole(row.n),
        needed=numbers.whole(needed),
        more=numbers.whole(needed - row.n),
    )


def powers(comparison: Comparison, sentences: Sentences) -> list[str]:
    """The smallest significant change with so many queries, or why there is none, for each
    system."""
    return [_power(row, sentences) for row in headlines(comparison)]


def _power(row: Difference, sentences: Sentences) -> str:
    say = sentences.words
    if row.n < FEWEST_QUERIES:
        return say("few_power", queries=say.counted(row.n, "query"), fewest=FEWEST_QUERIES)
    if row.detectable is None:
        return say("no_power", measure=row.measure)
    if row.detectable >= 1 >= max(row.baseline, row.value):
        return say("less_power", queries=say.counted(row.n, "query"), measure=row.measure)
    numbers = sentences.numbers
    rate = row.key == PASS
    change = numbers.change(PASS, row.detectable) if rate else numbers.decimal(row.detectable)
    return say("power", n=row.n, change=change, measure=row.measure)


def _doubt(doubt: Stability, sentences: Sentences) -> str:
    numbers = sentences.numbers
    hits = {"unjudged": doubt.unjudged, "hits": doubt.unjudged + doubt.judged}
    facts: dict[str, object] = {name: numbers.whole(count) for name, count in hits.items()}
    if doubt.stands is None:
        first = min(max(MIN_JUDGED_HITS - doubt.judged, 0), doubt.unjudged)
        return sentences.words("doubt_unknown", **facts, n=first or MIN_JUDGED_HITS)
    if doubt.expected is None:
        return sentences.words("doubt_none", **facts)
    facts |= {
        "expected": numbers.signed(doubt.expected),
        "between": numbers.change_span(doubt.low, doubt.high),
    }
    facts["ahead"] = chance(doubt.ahead, sentences)
    return sentences.words("doubt", **facts)


def chance(value: float | None, sentences: Sentences) -> str:
    """A probability in per cent; one that comes from draws is never 0 or 100."""
    if value is None:
        return "–"
    if value < 0.01:
        return f"<{sentences.numbers.percent(0.01, 0)}"
    return (
        f">{sentences.numbers.percent(0.99, 0)}"
        if value > 0.99
        else sentences.numbers.percent(value, 0)
    )


# ── runs ──────────────────────────────────────────────────────────────────────────────────────────


def warning(key: str, **facts: object) -> str:
    """A warning about a run in English; `Words.translated` tells it in another language."""
    return Words("en")(f"warnings.{key}", **facts)


def run_warnings(counts: Mapping[str, int], *, golden: bool = False) -> Iterator[str]:
    """Warnings about a run: queries that it lacks, has in excess, or failed on."""
    of_set = "_questions" if golden else ""
    every = counts["n_expected"]
    if duplicates := counts.get("duplicates"):
        yield warning("duplicates", n=duplicates)
    if retried := counts.get("retried"):
        yield warning("retried_one" if retried == 1 else "retried", n=retried)
    if missing := counts["n_missing"]:
        yield warning(f"missing{of_set}", n=missing, all=every)
    if extra := counts["n_extra"]:
        yield warning(f"extra{of_set}", n=extra)
    if failed := counts.get("n_failed"):
        yield warning(f"failed{of_set}", n=failed, all=every)


# ── search hits ───────────────────────────────────────────────────────────────────────────────────

RELATIONS = ("section", "refers_to", "referred_by", "near")


def hit_reasons_in_words(why: HitReasons, language: str = "en", *, isolated: bool = False) -> str:
    """The reasons why a search hit was found, the surest first. On a page each fact is `isolated`,
    so that it keeps its direction in a sentence of the other one."""
    words = Words(language)
    said = page_table("why", language)

    def tell(key: str, **facts: str) -> str:
        shown = {name: words.isolate(fact) if isolated else fact for name, fact in facts.items()}
        return str(said[f"here {key}"]).format(**shown)

    parts = [tell("named")] if why.named else []
    held = ", ".join(_word(word, why.instead.get(word, "")) for word in why.words)
    if held and why.missing:
        parts.append(tell("words missing", words=held, missing=", ".join(why.missing)))
    elif held:
        parts.append(tell("words", words=held))
    elif why.meaning:
        parts.append(tell("meaning"))
    for relation in RELATIONS:
        if rank := getattr(why, relation):
            parts.append(tell(relation, rank=str(rank), place=why.place))
    return " · ".join(parts)


def _word(word: str, instead: str) -> str:
    return f"{word} ({instead})" if instead else word


# ── what agents are told of a run ─────────────────────────────────────────────────────────────────

CLOSE = (
    "Close means a neighbour of the expected place: another moment of its section, or the section, "
    "page or column beside it."
)


def summary_of(results: Results) -> str:
    """How good a run is, in a sentence or two. The unjudged share comes first, since the score
    alone would be taken for the answer."""
    if isinstance(results, GoldenResults):
        failed = [entry for entry in results.per_query if not entry.passed]
        must = sum(entry.must for entry in failed)
        passed = len(results.per_query) - len(failed)
        questions = f"{passed} of {counted(len(results.per_query), 'question')} passed"
        if not failed:
            return f"{questions}."
        musts = f"{must} of them MUST questions" if must else "none of them a MUST question"
        return f"{questions}; {len(failed)} failed, {musts}."
    line = deciding_measure(results)
    value = results.overall.get(line.key) if line is not None else None
    if line is None or value is None:
        return "Nothing is judged yet, so there are no figures."
    low, high = results.intervals.overall.get(line.key, (None, None))
    between = (
        f" (95% interval {low:.3f} to {high:.3f})" if low is not None and high is not None else ""
    )
    over = counted(results.receipt.n.overall, "query")
    figure = f"{line.measure} is {value:.3f}{between} over {over}."
    unjudged = [each for each in results.receipt.unjudged.values() if each.measure == line.measure]
    counts = results.receipt.counts
    doubt = Sentences(Words("en")).bounds(unjudged[0], line.cutoff, counts) if unjudged else ""
    return f"{doubt} Counted so, {figure}" if doubt else figure


def deciding_measure(results: GradedResults) -> MeasureLine | None:
    """The measure that stands for a run in a sentence: nDCG@10, else the first one."""
    lines = results.receipt.measures
    return next((line for line in lines if line.key == "ndcg@10"), next(iter(lines), None))


def expected_and_outcome(entry: GradedEntry | GoldenEntry) -> tuple[str, str]:
    """The expectation of a query and the engine's outcome, both in words."""
    if isinstance(entry, GoldenEntry):
        expected = f"{Sentences(Words('en')).expected(entry)}, in the top {entry.k}"
        if entry.min_score:
            expected += f" with a score of at least {entry.min_score:g}"
        state = "Passed" if entry.passed else "Failed"
        place = _expected_place(entry) if entry.expected_any and not entry.passed else ""
        reason = entry.reason.removesuffix(".") if place else entry.reason  # "… 3 mom."
        return expected, f"{state}: {reason}{place}"
    relevant = sum(grade > 0 for grade in entry.known_grades)
    expected = f"{relevant} of the {len(entry.known_grades)} judged documents are relevant"
    if entry.reason:
        return expected, entry.reason
    ranks = [rank for rank, grade in enumerate(entry.grades, start=1) if grade]
    unknown = sum(grade is None for grade in entry.grades[:10])
    first = f"the first relevant one at rank {ranks[0]}" if ranks else "none of them was found"
    found = f"{len(ranks)} of them found, {first}" if ranks else first
    return expected, f"{found}; {unknown} of the first {len(entry.grades[:10])} are not judged"


def _expected_place(entry: GoldenEntry) -> str:
    """The rank of the expected place, unless the reason names it, and why a miss is called
    close."""
    if f"rank {entry.expected_rank}" in entry.reason:
        return "."
    close = f" {CLOSE}" if entry.failure == "near_miss" else ""
    if entry.expected_rank is None:
        among = counted(len(entry.hits), "result")
        return f".{close} An expected place is not among the {among}."
    return f".{close} The first expected place is at rank {entry.expected_rank}."


def why_not_estimated(judged: int, nothing_relevant: int) -> str:
    """The reason why machine votes give no estimate: people judged too few queries in full."""
    reason = f"people judged {counted(judged, 'query')} in full, and {MIN_QUERIES} are needed"
    if nothing_relevant:
        reason += f" that have something relevant: {nothing_relevant} have nothing"
    return reason


# ── the review queue ──────────────────────────────────────────────────────────────────────────────


def waiting_items(count: int) -> str:
    """How many items are in the review queue."""
    verb = "waits" if count == 1 else "wait"
    many = f"{counted(count, 'item')} {verb} in the expert's review queue."
    return many if count else "Nothing waits in the expert's review queue."


def words_note(unknown: Sequence[str], corrected: Mapping[str, str]) -> str:
    """A sentence on words of a question that no document has, or that were read as another."""
    read = [f"{word!r} was read as {other!r}" for word, other in corrected.items()]
    sentence = [f"{'; '.join(read)}."] if read else []
    if unknown:
        sentence.append(f"No document contains: {', '.join(unknown)}.")
    return " ".join(sentence)


def waiting_elsewhere(disagreements: int, to_judge: int) -> str:
    """Work outside the queue, to follow a sentence about it; empty if there is none."""
    kinds = []
    if disagreements:
        ruled = "to be ruled on (on the pages of the workbench)"
        kinds.append(f"{counted(disagreements, 'disagreement')} {ruled}")
    if to_judge:
        kinds.append(f"{counted(to_judge, 'document')} of pools to be judged")
    return f" Not in that queue: {' and '.join(kinds)}." if kinds else ""


def backlog_summary(backlog: Backlog) -> str:
    """The review queue: what is pending, what was decided, and the forecast."""
    since = (
        f", the oldest since {backlog.oldest_pending_at:%Y-%m-%d}"
        if backlog.oldest_pending_at
        else ""
    )
    return (
        f"{counted(backlog.pending_review, 'item')} in the expert's queue{since}. "
        f"Through this queue: {backlog.approved} approved, {backlog.rejected} turned down, "
        f"{backlog.published} published; how much of a set is approved in all, "
        f"list_gold_sets says. Forecast: {backlog.forecast}."
    )
