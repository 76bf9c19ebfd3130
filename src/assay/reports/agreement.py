"""The agreement between judges as titled tables, on a terminal and in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import msgspec
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from assay.evaluation.concordance import MIN_CLUSTERS
from assay.judging.agreement import (
    OVER_PAIRS,
    Agreement,
    AgreementFigure,
    AgreementFigures,
    Confusion,
    WeightedKappa,
)
from assay.reports.grids import headed_table
from assay.reports.numbers import signed

KIND_WORDS = {
    "human": "people among themselves",
    "machine": "machines among themselves",
    "across": "people against machines",
}
NO_BREAK = "\N{NO-BREAK SPACE}"
FEW_MARK = f"{NO_BREAK}*"
WIDE = 118  # columns in which the widest table has room for whole cells
LEANINGS = {"strict": "stricter than the others", "lenient": "more lenient than the others"}


class TitledTable(msgspec.Struct, frozen=True, kw_only=True):
    """The first column is text, the others are figures."""

    title: str
    names: tuple[str, ...]
    rows: list[tuple[str, ...]]


def agreement_tables(agreement: Agreement) -> Iterator[TitledTable]:
    """The tables of agreement figures; if no pair has two grades, only the votes by judge."""
    if agreement.pairs:
        yield _overall(agreement)
        yield _confusion(agreement.confusion)
        slices: dict[str, Mapping[str, AgreementFigures]] = {
            "People and machines": {
                KIND_WORDS[name]: figures for name, figures in agreement.by_kind.items()
            }
            if len(agreement.by_kind) > 1
            else {},
            "By judge, against all others": {
                name: judge.agreement for name, judge in agreement.by_judge.items()
            }
            if len(agreement.by_pair) > 1
            else {},
            "By pair of judges": {
                " and ".join(pair.judges): pair.agreement for pair in agreement.by_pair
            }
            if len(agreement.by_pair) > 1
            else {},
            "By topic": agreement.by_topic,
            "By type": agreement.by_type,
        }
        yield from (_slices(title, parts) for title, parts in slices.items() if parts)
        yield _grades(agreement)
    if agreement.by_judge:
        yield _judges(agreement)
        yield from _drift(agreement)


def notes(agreement: Agreement) -> Iterator[str]:
    """Notes on how to read the figures."""
    left_out = [
        f"{count} {name.replace('_', ' ')}"
        for name, count in msgspec.structs.asdict(agreement.left_out).items()
        if count
    ]
    if left_out:
        yield f"Votes left out: {', '.join(left_out)}."
    if not agreement.pairs:
        return
    why = (
        "the pairs of one query hang together"
        if agreement.resampled == "queries"
        else "queries are too few to resample, so they may be too narrow"
    )
    few = agreement.resampled == "queries" and any(
        row[0].endswith(FEW_MARK) for part in agreement_tables(agreement) for row in part.rows
    )
    yield (
        f"Intervals: {agreement.level:.0%}, bootstrap over {agreement.resampled} "
        f"({agreement.samples:,} resamples, seed {agreement.seed}); {why}."
    )
    if few:
        yield (
            f"{FEW_MARK.strip()} fewer than {MIN_CLUSTERS} queries: resampled over pairs instead, "
            "so the intervals of this row may be too narrow."
        )
    if len(agreement.by_pair) > 1:
        yield (
            "With more than two judges, agreement and kappas are over every two votes on a pair, "
            "and the confusion counts them both ways."
        )


def _overall(agreement: Agreement) -> TitledTable:
    first = agreement.relevant.first
    rows = {
        "exact agreement": agreement.exact,
        "two or more grades apart": agreement.far_apart,
        "Cohen's kappa": agreement.cohen_kappa,
        "weighted kappa, linear": agreement.weighted_kappa.linear,
        "weighted kappa, quadratic": agreement.weighted_kappa.quadratic,
        "Krippendorff's alpha, ordinal": agreement.krippendorff_alpha,
        f"relevant or not (grade {first} or more)": agreement.relevant.exact,
        "Cohen's kappa of relevant or not": agreement.relevant.cohen_kappa,
    }
    return TitledTable(
        title="Agreement",
        names=("", "value", "95% interval", "note"),
        rows=[(name, _value(figure), _span(figure), figure.note) for name, figure in rows.items()],
    )


def _confusion(confusion: Confusion) -> TitledTable:
    return TitledTable(
        title=f"Confusion: {confusion.rows} down, {confusion.columns} across",
        names=("", *map(str, confusion.grades)),
        rows=[
            (str(grade), *(f"{count:,}" for count in counts))
            for grade, counts in zip(confusion.grades, confusion.counts, strict=True)
        ],
    )


def _slices(title: str, parts: Mapping[str, AgreementFigures]) -> TitledTable:
    return TitledTable(
        title=title,
        names=("", "pairs", "exact", "linear kappa", "alpha", "relevant or not", "far apart"),
        rows=[
            (
                _row_name(name, *_main_figures(figures)),
                f"{figures.pairs:,}",
                _brief(figures.exact),
                _brief(figures.weighted_kappa),
                _brief(figures.krippendorff_alpha),
                _brief(figures.relevant.exact),
                _value(figures.far_apart),
            )
            for name, figures in parts.items()
        ],
    )


def _grades(agreement: Agreement) -> TitledTable:
    return TitledTable(
        title="By grade",
        names=("", "pairs", "the other judge too", "kappa of this grade or not"),
        rows=[
            (grade, f"{part.pairs:,}", _brief(part.exact), _brief(part.cohen_kappa))
            for grade, part in agreement.by_grade.items()
        ],
    )


def _judges(agreement: Agreement) -> TitledTable:
    grades = list(next(iter(agreement.by_judge.values())).grades)
    rows = []
    for name, judge in agreement.by_judge.items():
        against = agreement.consensus[name]
        counts = (f"{judge.grades[grade]:,}" for grade in grades)
        leaning = LEANINGS.get(against.leaning, "")
        bias = (f"{against.pairs:,}", _brief(against.difference, sign=True), leaning)
        row = _row_name(name, against.difference)
        rows.append((row, judge.kind, f"{judge.votes:,}", *counts, f"{judge.unsure:,}", *bias))
    names = ("votes", *(f"grade {grade}" for grade in grades), "unsure", "shared")
    return TitledTable(
        title="Judges, and how far from the mean of the others",
        names=("", "kind", *names, "difference", ""),
        rows=rows,
    )


def _drift(agreement: Agreement) -> Iterator[TitledTable]:
    twice = {name: drift for name, drift in agreement.drift.items() if drift.repeated}
    if twice:
        yield TitledTable(
            title="Pairs that a judge judged twice, first against last",
            names=("", "pairs", "exact", "linear kappa", "change"),
            rows=[
                (
                    _row_name(name, drift.exact, drift.repeated_change),
                    f"{drift.repeated:,}",
                    _brief(drift.exact),
                    _brief(drift.weighted_kappa),
                    _brief(drift.repeated_change, sign=True),
                )
                for name, drift in twice.items()
            ],
        )
    dated = {
        name: drift for name, drift in agreement.drift.items() if drift.change.value is not None
    }
    if dated:
        yield TitledTable(
            title="Over time: the difference from the others, earlier half and later half",
            names=("", "pairs", "earlier", "later", "change"),
            rows=[
                (
                    _row_name(name, drift.change),
                    f"{drift.pairs:,}",
                    *_signed((drift.earlier, drift.later, drift.change)),
                )
                for name, drift in dated.items()
            ],
        )


def _signed(figures: Iterable[AgreementFigure]) -> tuple[str, ...]:
    return tuple(_brief(figure, sign=True) for figure in figures)


def _main_figures(figures: AgreementFigures) -> tuple[AgreementFigure, ...]:
    two = figures.relevant.exact
    return figures.exact, figures.weighted_kappa.linear, figures.krippendorff_alpha, two


def _row_name(name: str, *figures: AgreementFigure) -> str:
    """Marked where the row is resampled otherwise than the rest of the page."""
    return name + FEW_MARK if any(figure.note == OVER_PAIRS for figure in figures) else name


def _value(figure: AgreementFigure) -> str:
    return "–" if figure.value is None else _without_sign(figure.value, 3)


def _span(figure: AgreementFigure) -> str:
    if figure.interval is None:
        return "–"
    return f"{_without_sign(figure.interval[0], 3)} to {_without_sign(figure.interval[1], 3)}"


def _without_sign(value: float, digits: int) -> str:
    """A number without the sign of a rounded zero."""
    return f"{round(value, digits) + 0.0:.{digits}f}"


def _brief(figure: AgreementFigure | WeightedKappa, *, sign: bool = False) -> str:
    """A figure with its interval, for a narrow column, which must not break it."""
    if figure.value is None:
        return "–"
    shown = [
        signed(n, 2) if sign else _without_sign(n, 2)
        for n in (figure.value, *(figure.interval or ()))
    ]
    low_high = f",{NO_BREAK}".join(text.replace("0.", ".") for text in shown[1:])
    return f"{shown[0]}{NO_BREAK}({low_high})" if figure.interval else shown[0]


def agreement_markdown(agreement: Agreement) -> str:
    lines = [f"# Agreement on {agreement.dataset}", "", agreement.statement, ""]
    for part in agreement_tables(agreement):
        lines += _table(part)
    for note in notes(agreement):
        lines += [note, ""]
    return "\n".join(lines)


def _table(part: TitledTable) -> list[str]:
    marks = ["---", *("---:" for _ in part.names[1:])]
    rows = [part.names, marks, *part.rows]
    shown = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return [f"## {part.title}", "", *shown, ""]


@dataclass(frozen=True)
class AgreementPage:
    agreement: Agreement

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Names give way before figures do; a narrow screen breaks a cell rather than cut it."""
        yield from (Text(self.agreement.statement), Text())
        for part in agreement_tables(self.agreement):
            table = headed_table(part.names[0], right=part.names[1:])
            for column, name in zip(table.columns[1:], part.names[1:], strict=True):
                column.no_wrap = options.max_width >= WIDE and bool(name)
            for row in part.rows:
                table.add_row(*row)
            yield from (Text(part.title, style="bold"), table, Text())
        yield from (Text(note, style="dim") for note in notes(self.agreement))
