"""Check one answer: each citation, quotation and figure, with the reason behind every finding.

A quotation or a figure belongs to the citations of its sentence; where that has none, a quotation
may stand in any source of the answer, and so may a figure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from assay.answers.mentions import (
    MASK,
    Mention,
    Quote,
    find_mentions,
    find_quotes,
    language_of,
    sentence_ends,
)
from assay.answers.readers import (
    MAX_ANSWER_CHARACTERS,
    MOST_CITED,
    MOST_GIVEN,
    MOST_PASSAGES,
    Answer,
    Reason,
    because,
)
from assay.answers.sources import CitationContext, CitationTarget, LocatedPassage, Sources
from assay.answers.texts import fragments, letters_and_digits, nearest_text, stands_in, words
from assay.core.errors import InputError
from assay.core.results import (
    AnswerEntry,
    AnswerNote,
    CitationFinding,
    Exists,
    FigureFinding,
    FigureStatus,
    InForce,
    NameCheck,
    Pinpoint,
    QuoteFinding,
    QuoteStatus,
    Retrieved,
)
from assay.language.figures import Figure, figures_in, supports, values_in
from assay.law.citation import Citation
from assay.law.parse import laws_named, parse

SHORTEST_QUOTE = 5  # words (taste); fewer may stand anywhere
ALIKE = 0.6  # share of the words of a quotation that stand in its source in order (taste)
FAULTS = {
    "exists": ("not_found",),
    "name": ("differs",),
    "pinpoint": ("missing",),
    "in_force": ("not_yet", "no_longer"),
    "quote": ("altered", "other_source", "nowhere"),
    "figure": ("unsupported",),
}


class CheckedAnswer(NamedTuple):
    """An answer's findings and the reasons behind them."""

    entry: AnswerEntry
    notes: list[AnswerNote]


class ResolvedMention(NamedTuple):
    """A citation with what it leads to: the passages it means, and documents of the corpus."""

    mention: Mention
    targets: list[CitationTarget]
    passages: list[LocatedPassage]
    finding: CitationFinding


def refuse_oversized(answer: Answer) -> None:
    """Refuse what is no answer, before time is spent on it."""
    passages = answer.passages or ()
    given = sum(len(one.text) for one in passages)
    if len(answer.answer) > MAX_ANSWER_CHARACTERS:
        what = (
            f"its answer has {len(answer.answer):,} characters, and at most "
            f"{MAX_ANSWER_CHARACTERS:,} are read"
        )
    elif given > MOST_GIVEN or len(passages) > MOST_PASSAGES:
        what = (
            f"it has {len(passages):,} passages with {given:,} characters, and at most "
            f"{MOST_PASSAGES:,} with {MOST_GIVEN:,} are read"
        )
    elif (signs := len(_SIGNS.findall(answer.answer))) > MOST_CITED:
        what = f"it seems to cite {signs:,} times, and at most {MOST_CITED:,} are read"
    else:
        return
    raise InputError(f"{answer.id!r} is too large to check: {what}", hint="Leave the row out.")


def check_answer(answer: Answer, sources: Sources, as_of: str = "") -> CheckedAnswer:
    """Check one answer against the passages it was given and the documents of a corpus."""
    refuse_oversized(answer)
    return _AnswerCheck(answer, sources, as_of or answer.as_of).run()


class _AnswerCheck:
    def __init__(self, answer: Answer, sources: Sources, as_of: str) -> None:
        self.answer, self.sources, self.as_of = answer, sources, as_of
        self.text = answer.answer
        self.language = language_of(self.text, answer.language)
        self.passages = [sources.locate(one) for one in answer.passages or ()]
        self.flat_passages = [letters_and_digits(one.passage.text) for one in self.passages]
        self.notes: list[AnswerNote] = []
        given = dict.fromkeys(one.place.law for one in self.passages if one.place)
        self.given_laws = list(given)
        places = [one.place for one in self.passages if one.place]
        cited = {place.section: place.law for place in places}
        self.context = CitationContext(given=self.given_laws, cited=cited)
        self._asked: list[tuple[Citation, CitationTarget]] | None = None

    def run(self) -> CheckedAnswer:
        quotes = find_quotes(self.text)
        ids = frozenset(one.passage.id for one in self.passages if one.passage.id)
        mentions = find_mentions(
            self.text, quotes, language=self.language, scheme=self.sources.scheme, ids=ids
        )
        mentions = [*mentions, *self._stated_markers(mentions)]
        resolved = [self._resolve(one) for one in self._in_order(mentions)]
        resolved = self._names_beside_markers([*resolved, *self._by_surname(quotes, resolved)])
        spans = [(one.mention.start, one.mention.end) for one in resolved]
        spans += [(quote.start, quote.end) for quote in quotes]
        ends = sentence_ends(self.text, sorted(spans))
        listed = [self._quote(quote, resolved, ends) for quote in quotes if _is_quote(quote)]
        figures = list(self._figures(quotes, resolved, ends))
        sentences = [self.text[a:b] for a, b in zip([0, *ends], ends, strict=False)]
        refused = refusal_in(sentences, cites=bool(resolved))
        if refused:
            at = self.text.find(refused)
            self._note("refused", "yes", at, at + len(refused), None)
        entry = AnswerEntry(
            id=self.answer.id,
            refused=bool(refused),
            citations=[one.finding for one in resolved],
            quotes=listed,
            figures=figures,
        )
        return CheckedAnswer(entry, self.notes)

    def _note(
        self,
        check: str,
        value: str,
        start: int,
        end: int,
        reason: Reason | None,
        *,
        candidates: Iterable[str] = (),
    ) -> None:
        self.notes.append(
            AnswerNote(
                id=self.answer.id,
                check=check,
                value=value,
                start=start,
                end=end,
                text=self.text[start:end],
                why=reason.why if reason else "",
                facts=reason.facts if reason else {},
                is_fault=value in FAULTS.get(check, ()),
                candidates=list(candidates),
            )
        )

    def _stated_markers(self, mentions: list[Mention]) -> Iterator[Mention]:
        """The citations that a TREC run states beside a sentence, and its text does not show."""
        shown = {number for one in mentions if one.kind == "marker" for number in one.numbers}
        for at, numbers in self.answer.marked:
            if fresh := tuple(number for number in numbers if number not in shown):
                yield Mention(start=at, end=at, kind="marker", numbers=fresh)

    # ── citations ──

    def _in_order(self, mentions: list[Mention]) -> Iterator[Mention]:
        """The citations in their order, with the laws that are named between them put into the
        context before each."""
        named = self._laws_between()
        at = 0
        for mention in sorted(mentions, key=lambda one: one.start):
            while at < len(named) and named[at][1] < mention.start:
                self._remember(named[at][0])
                at += 1
            yield mention

    def _laws_between(self) -> list[tuple[str, int]]:
        laws = self.sources.resolver.laws
        if not laws.places or self.language == "en":
            return []
        found = laws_named(self.text, self.language, self.sources.scheme)
        return [(law, start) for name, start, _ in found for law in laws.laws_called(name)]

    def _remember(self, law: str) -> None:
        if law in self.context.laws:
            self.context.laws.remove(law)
        self.context.laws.append(law)
        self.context.outside = False

    def _resolve(self, mention: Mention) -> ResolvedMention:
        if mention.kind == "marker":
            return self._marker(mention)
        if not mention.citations:
            finding = self._finding(mention, [], "unreadable")
            self._note("exists", "unreadable", mention.start, mention.end, None)
            return ResolvedMention(mention, [], [], finding)
        targets = [self.sources.target(one, self.context) for one in mention.citations]
        for target in targets:
            if target.law:
                self._remember(target.law)
                if target.place:
                    self.context.cited[target.place.section] = target.law
                self.context.last = target.place if target.place and target.place.section else None
        passages = [one for one in self.passages if any(_is_passage_at(one, t) for t in targets)]
        return self._prose(mention, targets, passages)

    def _by_surname(
        self, quotes: list[Quote], resolved: list[ResolvedMention]
    ) -> list[ResolvedMention]:
        """Letters that an answer calls by a name alone ("the Flood letter"), where a passage or a
        letter cited elsewhere is called so."""
        letters = self.sources.resolver.letters
        rows = dict.fromkeys(row for one in self.passages for row in sorted(one.rows))
        rows |= dict.fromkeys(row for one in resolved for t in one.targets for row in t.rows)
        rows = {row: None for row in rows if letters.names_of.get(row)}
        spans = [(one.finding.start, one.finding.end) for one in resolved]
        spans += [(quote.start, quote.end) for quote in quotes]
        found = []
        for match in _SHORT_LETTER.finditer(self.text) if rows else ():
            start, end = match.span()
            if any(low < end and start < high for low, high in spans):
                continue
            called = [row for row in rows if letters.is_addressed_to(row, match["name"])]
            if called:
                mention = Mention(start=start, end=end, kind="prose")
                targets = [CitationTarget(exists="found", rows=(called[0],), name="agrees")]
                passages = [one for one in self.passages if called[0] in one.rows]
                found.append(self._prose(mention, targets, passages))
        return found

    def _marker(self, mention: Mention) -> ResolvedMention:
        known = self.answer.passages is not None
        wanted = [number for number in mention.numbers if 1 <= number <= len(self.passages)]
        wanted += [n for n, one in enumerate(self.passages, 1) if one.passage.id in mention.ids]
        numbered = {number: self.passages[number - 1] for number in wanted}
        passages = list(numbered.values())
        rows = [row for one in passages for row in one.rows]
        in_force, why = self._in_force(passages)
        exists: Exists = "found"
        if len(wanted) < len(mention.numbers) or (mention.ids and not wanted):
            exists = "not_found" if known else "outside"
            n = str(len(self.passages))
            given = because("passages", n=n) if known else because("no_passages")
            self._note("exists", exists, mention.start, mention.end, given)
        if why:
            self._note("in_force", in_force, mention.start, mention.end, why)
        finding = CitationFinding(
            text=self.text[mention.start : mention.end],
            start=mention.start,
            end=mention.end,
            kind="marker",
            targets=list(dict.fromkeys(one.passage.id or str(n) for n, one in numbered.items())),
            exists=exists,
            retrieved="retrieved" if passages and exists == "found" else "neither",
            in_force=in_force,
        )
        return ResolvedMention(
            mention, [CitationTarget(exists=exists, rows=tuple(rows))], passages, finding
        )

    def _in_force(self, passages: list[LocatedPassage]) -> tuple[InForce, Reason | None]:
        """One passage of several that is not in force is enough to say so."""
        answers = [self.sources.in_force(sorted(one.rows), self.as_of) for one in passages]
        return min(answers, key=lambda one: _FORCE_ORDER.index(one[0]), default=("unknown", None))

    def _prose(
        self, mention: Mention, targets: list[CitationTarget], passages: list[LocatedPassage]
    ) -> ResolvedMention:
        start, end = self._with_addressee(mention, targets)
        exists = min((one.exists for one in targets), key=_EXISTS_ORDER.index)
        name: NameCheck = min((one.name for one in targets), key=_NAME_ORDER.index)
        pinpoint: Pinpoint = min((one.pinpoint for one in targets), key=_PINPOINT_ORDER.index)
        if mention.page is not None and exists == "found":
            pinpoint = self.sources.page_check(targets[0].rows[0], mention.page)
            if pinpoint == "missing":
                self._note(
                    "pinpoint", pinpoint, start, end, because("no_page", page=str(mention.page))
                )
        if start < mention.start:
            name = "agrees"
        if exists == "not_found":
            name, why = self._other_act(targets)
            if why:
                self._note("name", name, start, end, why)
        in_force, since = self._time(targets, pinpoint, exists)
        if since:
            self._note("in_force", in_force, start, end, since)
        for target in targets:
            for check, reason in target.reasons.items():
                value = {"exists": exists, "name": name, "pinpoint": pinpoint}[check]
                self._note(check, value, start, end, reason, candidates=target.candidates)
        rows = dict.fromkeys(row for one in targets for row in one.rows)
        finding = CitationFinding(
            text=self.text[start:end],
            start=start,
            end=end,
            kind="prose",
            targets=[self.sources.id_of(row) for row in list(rows)[:50]],
            exists=exists,
            name=name,
            pinpoint=pinpoint if exists in ("found", "ambiguous") else "not_given",
            retrieved=self._retrieved(mention, targets, passages),
            in_force=in_force,
        )
        return ResolvedMention(mention, targets, passages, finding)

    def _with_addressee(self, mention: Mention, targets: list[CitationTarget]) -> tuple[int, int]:
        """The span of a letter with the name right before its number, where that is whom it was
        written to: "Neandross (A-21-039)"."""
        head = self.text[max(0, mention.start - 40) : mention.start]
        name = _ADDRESSEE.search(head)
        letters = self.sources.resolver.letters
        is_bare = targets[0].exists == "found" and targets[0].name == "not_given"
        if not (name and is_bare and mention.citations and mention.citations[0].kind == "letter"):
            return mention.start, mention.end
        if not letters.is_addressed_to(targets[0].rows[0], name["name"]):
            return mention.start, mention.end
        closes = name[0].endswith("(") and self.text[mention.end : mention.end + 1] == ")"
        return mention.start - len(head) + name.start(), mention.end + closes

    def _time(
        self, targets: list[CitationTarget], pinpoint: str, exists: str
    ) -> tuple[InForce, Reason | None]:
        if exists not in ("found", "ambiguous") or pinpoint == "missing":
            return "unknown", None
        if any(one.repealed for one in targets):
            return "no_longer", because("repealed")
        answers = [self.sources.in_force(one.rows, self.as_of) for one in targets]
        return min(answers, key=lambda one: _FORCE_ORDER.index(one[0]), default=("unknown", None))

    def _other_act(self, targets: list[CitationTarget]) -> tuple[NameCheck, Reason | None]:
        """A section that the named act does not have, and that a passage of another act is: the
        name is wrong."""
        for target in targets:
            for one in self.passages:
                if target.place is None or one.place is None or one.place.law == target.law:
                    continue
                there = target.place._replace(law=one.place.law, chapter="", schedule="")
                if there.meets(one.place._replace(schedule="")):
                    titles = self.sources.resolver.laws.titles
                    named, other = titles.get(target.law, ""), titles.get(one.place.law, "")
                    return "differs", because("section_of", law=named, other=other)
        return "not_given", None

    def _names_beside_markers(self, resolved: list[ResolvedMention]) -> list[ResolvedMention]:
        """The citations in their order. One that was not retrieved, right before a marker of a
        passage that is the same section of another act, misnames the act."""
        changed = []
        resolved = sorted(resolved, key=lambda one: one.finding.start)
        for one, after in zip(resolved, [*resolved[1:], None], strict=False):
            finding = one.finding
            beside = (
                after is not None
                and after.mention.kind == "marker"
                and not self.text[finding.end : after.mention.start].strip(" ().,")
            )
            if (
                beside
                and after is not None
                and finding.kind == "prose"
                and finding.name == "agrees"
                and finding.exists == "found"
                and finding.retrieved != "retrieved"
                and self._same_section(one.targets, after.passages)
            ):
                self._note("name", "differs", finding.start, finding.end, because("same_section"))
                one = one._replace(finding=msgspec.structs.replace(finding, name="differs"))
            changed.append(one)
        return changed

    def _same_section(self, targets: list[CitationTarget], passages: list[LocatedPassage]) -> bool:
        return any(
            target.place is not None
            and target.place.section
            and one.place is not None
            and one.place.law != target.law
            and target.place._replace(law=one.place.law).meets(one.place)
            for target in targets
            for one in passages
        )

    def _retrieved(
        self, mention: Mention, targets: list[CitationTarget], passages: list[LocatedPassage]
    ) -> Retrieved:
        if passages:
            return "retrieved"
        if self._is_named(mention, [one.passage.text for one in self.passages if not one.is_known]):
            return "retrieved"
        if self._is_asked(mention, targets):
            return "question"
        return "neither"

    def _is_named(self, mention: Mention, texts: list[str]) -> bool:
        """Whether passages that the corpus does not know name an authority, or stand under it."""
        names = [
            one.normal if "code" in one.parts or "authority" in one.parts else ""
            for one in mention.citations
        ]
        wanted = [letters_and_digits(name) for name in names if len(letters_and_digits(name)) > 7]
        unknown = [
            text
            for text, one in zip(self.flat_passages, self.passages, strict=True)
            if not one.is_known
        ]
        return bool(texts) and any(name in text for name in wanted for text in unknown)

    def _is_asked(self, mention: Mention, targets: list[CitationTarget]) -> bool:
        question = self.answer.question
        if not question:
            return False
        if self._asked is None:
            scheme = msgspec.structs.replace(self.sources.scheme, language="")
            self._asked = [
                (one, self.sources.target(one, CitationContext(given=self.given_laws)))
                for one in parse(
                    question[:MAX_ANSWER_CHARACTERS], first=self.language, scheme=scheme
                )
            ]
        normals = {one.normal for one in mention.citations}
        for citation, asked in self._asked:
            if citation.normal in normals:
                return True
            for target in targets:
                if asked.place and target.place and asked.place.meets(target.place):
                    return True
                if set(asked.rows) & set(target.rows):
                    return True
        whole = letters_and_digits(question)
        return any(
            len(letters_and_digits(name)) > 7 and letters_and_digits(name) in whole
            for name in normals
        )

    def _finding(self, mention: Mention, targets: list[str], exists: Exists) -> CitationFinding:
        return CitationFinding(
            text=self.text[mention.start : mention.end],
            start=mention.start,
            end=mention.end,
            kind=mention.kind,
            targets=targets,
            exists=exists,
        )

    # ── quotations ──

    def _quote(
        self, quote: Quote, resolved: list[ResolvedMention], ends: list[int]
    ) -> QuoteFinding:
        pieces = [letters_and_digits(piece) for piece in fragments(quote.text)]
        if len(words(quote.text)) < SHORTEST_QUOTE or not pieces:
            return self._quoted(quote, "too_short")
        right: QuoteStatus = "ellipsis" if len(pieces) > 1 or _is_cut(quote.text) else "verbatim"
        cited = _mentions_of_sentence(resolved, ends, quote.start, quote.end)
        for source, text in self._texts(cited):
            if stands_in(pieces, text):
                return self._quoted(quote, right, source)
        checkable = any(one.passages or any(t.rows for t in one.targets) for one in cited)
        others = [*self._passage_texts(), *self._texts(resolved)]
        for source, text in others:
            if stands_in(pieces, text):
                if not checkable:
                    return self._quoted(quote, right, source)
                return self._quoted(
                    quote, "other_source", source, because("stands_in", source=source)
                )
        return self._not_verbatim(quote, pieces, cited, resolved, right, checkable)

    def _not_verbatim(
        self,
        quote: Quote,
        pieces: list[str],
        cited: list[ResolvedMention],
        resolved: list[ResolvedMention],
        right: QuoteStatus,
        checkable: bool,
    ) -> QuoteFinding:
        best = nearest_text(
            quote.text,
            (*self._raw_texts(cited), *self._raw_passages(), *self._raw_texts(resolved)),
        )
        long_words = sorted(set(words(" ".join(fragments(quote.text)))[1:]), key=len)[-3:]
        if best.share < 0.9:
            row = self.sources.search_text(pieces, long_words)
            if row is not None:
                where = self.sources.id_of(row)
                status: QuoteStatus = "other_source" if checkable else right
                return self._quoted(quote, status, where, because("stands_in", source=where))
        if best.share >= ALIKE:
            return self._quoted(
                quote, "altered", best.source, because("free", text=best.diff), best.diff
            )
        return self._quoted(quote, "nowhere", "", because("no_text"))

    def _quoted(
        self,
        quote: Quote,
        status: QuoteStatus,
        source: str = "",
        reason: Reason | None = None,
        diff: str = "",
    ) -> QuoteFinding:
        if status in FAULTS["quote"]:
            self._note("quote", status, quote.start, quote.end, reason)
        return QuoteFinding(
            text=quote.text,
            start=quote.start,
            end=quote.end,
            status=status,
            source=source,
            diff=diff,
        )

    def _texts(self, cited: list[ResolvedMention]) -> Iterator[tuple[str, str]]:
        """The flat texts that citations lead to, with the id of each."""
        for one in cited:
            for passage in one.passages:
                yield passage.passage.id or "passage", letters_and_digits(passage.passage.text)
            for target in one.targets:
                if len(target.rows) > 1:
                    whole = "".join(self.sources.flat(row) for row in target.rows[:60])
                    yield self.sources.id_of(target.rows[0]), whole
                for row in target.rows[:60]:
                    yield self.sources.id_of(row), self.sources.flat(row)

    def _passage_texts(self) -> Iterator[tuple[str, str]]:
        for number, (one, text) in enumerate(
            zip(self.passages, self.flat_passages, strict=True), 1
        ):
            yield one.passage.id or f"[{number}]", text
        for one in self.passages:
            for row in sorted(one.rows):
                yield self.sources.id_of(row), self.sources.flat(row)

    def _raw_texts(self, cited: list[ResolvedMention]) -> Iterator[tuple[str, str]]:
        for one in cited:
            for passage in one.passages:
                yield passage.passage.id, passage.passage.text
            for target in one.targets:
                for row in target.rows[:60]:
                    yield self.sources.id_of(row), self.sources.text(row)

    def _raw_passages(self) -> Iterator[tuple[str, str]]:
        for number, one in enumerate(self.passages, 1):
            yield one.passage.id or f"[{number}]", one.passage.text

    # ── figures ──

    def _figures(
        self, quotes: list[Quote], resolved: list[ResolvedMention], ends: list[int]
    ) -> Iterator[FigureFinding]:
        spans = sorted(
            [(quote.start, quote.end) for quote in quotes]
            + [(one.finding.start, one.finding.end) for one in resolved]
        )
        plain = list(self.text)
        for start, end in spans:
            plain[start:end] = MASK * (end - start)
        if not resolved:
            return
        for figure in figures_in("".join(plain)):
            cited = _mentions_of_sentence(resolved, ends, figure.start, figure.end)
            texts = list(self._figure_texts(cited))
            # a sentence that cites nothing goes on from the citation before it
            before = cited or [one for one in resolved if one.finding.end <= figure.start][-1:]
            is_missing = all(one.finding.exists == "not_found" for one in before)
            if before and (is_missing or (not cited and any(self._figure_texts(before)))):
                texts = texts or [one.passage.text for one in self.passages]
            if not texts:
                continue  # nothing is cited, or what cannot be looked at
            is_right = any(supports(values_in(text), figure) for text in texts)
            is_right = is_right or self._in_question(figure)
            start, end = figure.start, figure.end
            status: FigureStatus = "supported" if is_right else "unsupported"
            if not is_right:
                self._note("figure", status, start, end, because("not_in_cited"))
            yield FigureFinding(text=self.text[start:end], start=start, end=end, status=status)

    def _in_question(self, figure: Figure) -> bool:
        question = self.answer.question
        return bool(question) and supports(values_in(question[:MAX_ANSWER_CHARACTERS]), figure)

    def _figure_texts(self, cited: list[ResolvedMention]) -> Iterator[str]:
        """The texts that a figure may stand in: the passages cited, those of the same document, and
        the document itself where no passage of it was given."""
        rows = {row for one in cited for target in one.targets for row in target.rows}
        for one in self.passages:
            if one.rows & rows or any(one in each.passages for each in cited):
                yield one.passage.text
        for each in cited:
            if not each.passages:
                for target in each.targets:
                    yield from (self.sources.text(row) for row in target.rows[:60])


# what a citation or a quotation may begin with: counted to bound the work
_SIGNS = re.compile(
    r"§|\[|【|[“”»«\"](?=\w)|סעי|חוק|תקנ|[Ss]ection|[Rr]egulation|Act\s\d|luku|luvu|momen|-\d\d-\d|\d/\d"
    r"|\sv\.?\s"
)
_EXISTS_ORDER: tuple[Exists, ...] = ("unreadable", "not_found", "ambiguous", "outside", "found")
_NAME_ORDER: tuple[NameCheck, ...] = ("differs", "agrees", "not_given")
_PINPOINT_ORDER: tuple[Pinpoint, ...] = ("missing", "exists", "not_given")
_FORCE_ORDER: tuple[InForce, ...] = ("no_longer", "not_yet", "in_force", "unknown")
_SHORT_LETTER = re.compile(
    r"\b(?P<name>(?!The|This|That|In|An?\b|Advice|Our|Your|Each|Such)[A-Z][A-Za-z’'-]*[a-z])"
    r"\s(?:[Aa]dvice\s)?(?:[Ll]etter|[Oo]pinion)\b(?!,?\s+No\.)"
)
_ADDRESSEE = re.compile(r"\b(?P<name>[A-Z][A-Za-z’'-]*[a-z])(?:,\s|\s\()$")
_CASE_NAME = re.compile(r"\sv\.?\s[A-Z]")


def _is_quote(quote: Quote) -> bool:
    """Whether words between marks are a quotation, and not the name of a case."""
    return not (_CASE_NAME.search(quote.text) and len(quote.text) < 120)


def _is_cut(text: str) -> bool:
    return bool(re.search(r"…|\.\s?\.\s?\.", text))


def _is_passage_at(passage: LocatedPassage, target: CitationTarget) -> bool:
    """Whether a passage lies in the place that is cited, or around it."""
    if target.place is not None and passage.place is not None:
        if target.exists == "not_found" or target.place.meets(passage.place):
            return target.exists != "not_found"
        # a range of sections has its first as its place
        return target.pinpoint != "missing" and bool(passage.rows & set(target.rows))
    return bool(passage.rows & set(target.rows))


def _mentions_of_sentence(
    resolved: list[ResolvedMention], ends: list[int], start: int, end: int
) -> list[ResolvedMention]:
    """The citations of the sentence that a stretch of text stands in."""
    first = bisect_right(ends, start)
    low = ends[first - 1] if first else 0
    last = bisect_right(ends, end - 1)
    high = ends[last] if last < len(ends) else ends[-1]
    return [one for one in resolved if low <= one.finding.start and one.finding.end <= high]


# ── refusals ──────────────────────────────────────────────────────────────────────────────────────

_EN = (
    r"\b(?:I|we)\s(?:am|are|'m)?\s?"
    r"(?:cannot|can't|can not|could not|couldn't|do not|don't|not able|unable)\s?(?:to)?\s?"
    r"(?:answer|provide|find|determine|say|give|tell|confirm|know|locate|have)"
    r"|^\W*(?:unable|not able|(?:it is )?(?:not possible|impossible)) to "
    r"(?:answer|provide|find|determine|say|give|tell|confirm|locate)\b"
    r"|\b(?:I'm|I am) (?:sorry|afraid|unable|not able)\b"
    r"|\b(?:passages?|documents?|sources?|context|materials?|letters?|opinions?|corpus|excerpts?|texts?)"
    r"(?:\s\w+){0,4}?\s(?:do|does|did)(?:\snot|n't)\s(?:\w+\s){0,2}?(?:contain|address|answer|cover|"
    r"mention|say|state|include|provide|discuss|deal|settle|resolve|speak|support|give|tell|decide)"
    r"|\b(?:no|none of the|nothing in the|neither of the)\s(?:\w+\s){0,4}?(?:passages?|documents?|"
    r"sources?|materials?|letters?|opinions?|context|excerpts?)\b"
    r"(?:\s\w+){0,4}?\s(?:address|answer|cover|deal|discuss|mention|say|contain|settle|provide)"
    r"|\bcannot be (?:answered|determined|given)\b|\binsufficient (?:information|basis|material)\b"
    r"|\bnot (?:enough|sufficient) (?:information|material|basis)\b"
    r"|\boutside (?:the|of) (?:scope|these|the)\b.{0,40}\b(?:passages?|sources?|documents?|corpus)"
    r"|\bthere is no (?:information|answer|basis|material)\b"
)
_FI = (
    r"\b(?:en|emme)\s(?:voi|pysty|osaa|kykene)(?:\s\w+){0,3}\s?"
    r"(?:vasta|sano|anta|vahvist|tode|otta)"
    r"|\b(?:en|emme)\s(?:\w+\s){0,2}?löy(?:dä|tän)"
    r"|(?:\bei\s(?:voida|pystytä|ole mahdollista)|(?:^\W*|\b(?:kysymyk|aineisto|lähte|katkelm"
    r"|asiakirj|tähän|siihen|asiaan|perusteella|pohjalta)\w*\s(?:\w+\s){0,2}?)ei\svoi)(?:\s\w+){0,3}\s"
    r"(?:vasta(?!ta\s\w+st[aä]\b)|sano|anta|ratkais|päätell|tode|selvit|johta)"
    r"|\b(?:aineisto|lähte|katkelm|kohd|asiakirj|säännöks|teksti|materiaali|haku|pykäl)\w*"
    r"(?:\s\w+){0,5}?\s(?:ei|eivät)\s(?:\w+\s){0,2}?(?:sisäl|vasta|käsittel|mainit|kerro|anna|sano|säädä"
    r"|ilme|ole|sääde|koske|ota|ratkais|löydy)"
    r"|\b(?:ei|eivät)\s(?:\w+\s){0,4}?(?:löydy|ilmene|sisälly|selviä|ole)\s(?:\w+\s){0,4}?"
    r"(?:vastaus|aineisto|lähte|katkelm|tieto|säännös|tukea)"
    r"|\bvastausta\sei\b|\bkysymykseen\sei\b|\bei\sole\s(?:riittäv|tarpeeksi)"
)
_HE = (
    r"(?:לא ניתן|אין באפשרותי|אין אפשרות|איני יכול\w*|אינני יכול\w*"
    r"|לא אוכל|אין לי אפשרות|אין ביכולתי)\s"
    r"(?:\S+\s){0,3}?(?:להשיב|לענות|לקבוע|למסור|לתת|לומר|לאשר|להסיק|לדעת)"
    r"|(?:ב?ה?מקורות|ב?ה?קטעים|ב?ה?מסמכים|ב?ה?חומר\w*|ב?ה?מאגר|ב?ה?טקסט\w*|ב?ה?סעיפים|ב?ה?הוראות)"
    r"(?:\s\S+){0,5}?\s(?:אינם|אינן|אין|לא|אינו|איננו|אינה)\s"
    r"(?:\S+\s){0,2}?(?:כולל\w*|עונ\w*|עוסק\w*|מתייחס\w*|מכיל\w*|נמצא\w*|מזכיר\w*|מצוי\w*|מצאתי|נותנ\w*"
    r"|משיב\w*|מסדיר\w*|תשובה|מענה|התייחסות|מידע|הוראה|די)"
    r"|אין (?:ב|ל)(?:מקורות|קטעים|מסמכים|חומר|מאגר|טקסט|הוראות|סעיפים)\S*"
    r"|(?:לא נמצאה|לא מצאתי|אין|לא נמצא)\s(?:\S+\s){0,3}?(?:תשובה|מענה|התייחסות|מידע מספיק|בסיס)"
)
_REFUSAL = re.compile(f"{_EN}|{_FI}|{_HE}", re.IGNORECASE)
_FIRST = 2  # sentences in which an answer that refuses says so (taste)


def refusal_in(sentences: list[str], *, cites: bool) -> str:
    """The sentence by which an answer refuses; empty where it answers. One that cites sources says
    so at its start, or is an answer with a reservation."""
    looked_at = sentences[:_FIRST] if cites else sentences
    return next((one.strip() for one in looked_at if _REFUSAL.search(one[:600])), "")
