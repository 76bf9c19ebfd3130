"""The result of a sweep: on a terminal, as a page, as a table of trials, and the best setting as
TOML to paste."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape
from rich.console import Group, RenderableType
from rich.text import Text

from assay.evaluation.tuning import Trial, TuneReport, grouped, shown
from assay.formats.spreadsheet import guarded_row
from assay.reports.drawings import change_mark
from assay.reports.grids import headed, plain
from assay.reports.html import _Marked, template_environment
from assay.reports.numbers import Numbers, short
from assay.reports.words import Words

LISTED = 10  # settings on a terminal
WIDE = 5  # parameters that a table on a terminal has room for
SHADES = " ░▒▓█"
STRONGEST = 60  # per cent of colour: the figure on it stays readable
AXES = 8  # of the parallel view
BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class SummaryRow:
    """One figure of the result, with a note."""

    label: str
    value: str
    note: str


@dataclass(frozen=True)
class HeatMap:
    """The mean of all settings by the values of two parameters, each with its share of the range
    in per cent."""

    first: str
    second: str
    columns: list[str]
    rows: list[tuple[str, list[tuple[float | None, int]]]]


# ── the same for every place ──────────────────────────────────────────────────────────────────────


def setting_text(parameters: Mapping[str, object]) -> str:
    return ", ".join(f"{name} = {shown(value)}" for name, value in parameters.items()) or "–"


def headline(report: TuneReport, words: Words) -> str:
    if report.choice.verdict == "none":
        return words("tune.none")
    return words("tune.better", setting=setting_text(_winner(report).parameters))


def basis(report: TuneReport, words: Words) -> str:
    return words(
        "tune.basis",
        measure=report.measure,
        gold=report.gold,
        queries=words.counted(report.choice.queries, "query"),
        settings=words.plural("tune.settings", len(report.trials)),
        search=words(f"tune.{report.search}"),
    )


def summary(report: TuneReport, words: Words) -> list[SummaryRow]:
    numbers, choice = Numbers(words), report.choice
    facts = {
        "span": numbers.change_span(choice.low_change, choice.high_change),
        "settings": words.plural("tune.settings", len(report.trials)),
        "counts": numbers.decimal(choice.counts_as, 1),
        "p": numbers.p_value(choice.p_adjusted),
    }
    crossed = report.search == "optuna"
    corrected = words("tune.change_note_crossed" if crossed else "tune.change_note", **facts)
    winner = setting_text(_winner(report).parameters)
    stays = choice.winner == choice.current
    moved = choice.gain if crossed else choice.apparent - choice.current_mean
    return [
        SummaryRow(words("tune.current"), numbers.decimal(choice.current_mean), ""),
        SummaryRow(
            words("tune.apparent"),
            numbers.decimal(choice.apparent),
            words("tune.apparent_note", setting=winner),
        ),
        SummaryRow(
            words("tune.honest"),
            numbers.decimal(choice.honest),
            words("tune.honest_note", span=numbers.span((choice.low, choice.high))),
        ),
        SummaryRow(
            words("tune.optimism"), numbers.signed(choice.optimism), words("tune.optimism_note")
        ),
        SummaryRow(words("tune.gain"), numbers.signed(choice.gain), words("tune.gain_note")),
        SummaryRow(
            words("tune.change"), numbers.signed(moved), words("tune.stays") if stays else corrected
        ),
    ]


def notes(report: TuneReport, words: Words) -> Iterator[str]:
    """What to know before the setting is used."""
    excluded = [trial for trial in report.trials if trial.excluded]
    if excluded:
        why = "; ".join(f"{setting_text(t.parameters)}: {t.excluded}" for t in excluded[:LISTED])
        yield f"{words.plural('tune.excluded', len(excluded))}: {why}"
    current, winner = report.trials[report.choice.current], _winner(report)
    if winner.unjudged > current.unjudged:
        yield words("tune.more_unjudged", winner=winner.unjudged, current=current.unjudged)
    if report.judge_next:
        how = words("tune.judge_how", file=f"{report.folder}/judge-next.csv")
        yield f"{words.plural('tune.judge', len(report.judge_next))}. {how}"


def toml(report: TuneReport) -> str:
    """The best setting as a table of assay.toml."""
    table = (
        f"tune.{_key(report.name)}.current"
        if report.fused
        else (f"engines.{_key(report.engine)}.parameters")
    )
    lines = [f"{_key(name)} = {_value(v)}" for name, v in _winner(report).parameters.items()]
    return "\n".join([f"[{table}]", *lines])


def trials_csv(report: TuneReport) -> str:
    """Every setting, one row each, with what was measured."""
    names = _parameters(report)
    measured = ("mean", "difference", "unjudged", "p95_ms", "cost", "failed", "excluded")
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["setting", *names, *measured])
    for trial in report.trials:
        values = [trial.parameters.get(name, "") for name in names]
        found = [getattr(trial, name) for name in measured]
        row = [trial.number, *values, *("" if each is None else each for each in found)]
        writer.writerow(guarded_row(map(str, row)))
    return stream.getvalue()


def heat_map(report: TuneReport) -> HeatMap | None:
    """For two parameters that vary."""
    names = [effect.parameter for effect in report.effects]
    if len(names) != 2:
        return None
    first, second = sorted(names, key=_parameters(report).index)
    trials = [t for t in report.trials if first in t.parameters and second in t.parameters]
    trials = [trial for trial in trials if trial.mean is not None]
    axes = [grouped([trial.parameters[name] for trial in trials]) for name in (first, second)]
    cells: dict[tuple[str, str], list[float]] = {}
    for row, column, trial in zip(*axes, trials, strict=True):
        cells.setdefault((row, column), []).append(trial.mean or 0.0)
    means = {at: sum(each) / len(each) for at, each in cells.items()}
    low, high = min(means.values()), max(means.values())

    def cell(row: str, column: str) -> tuple[float | None, int]:
        mean = means.get((row, column))
        share = 0 if mean is None else round(STRONGEST * (mean - low) / max(high - low, 1e-12))
        return mean, share

    given = [[trial.parameters[name] for trial in trials] for name in (first, second)]
    lines, columns = (_in_order(*each) for each in zip(axes, given, strict=True))
    rows = [(line, [cell(line, column) for column in columns]) for line in lines]
    return HeatMap(first, second, columns, rows)


def _in_order(groups: Sequence[str], values: Sequence[object]) -> list[str]:
    """The groups of a parameter, those of numbers by size."""
    places = dict(zip(reversed(groups), reversed(_places(values)), strict=True))
    return sorted(dict.fromkeys(groups), key=lambda group: places[group])


def _winner(report: TuneReport) -> Trial:
    return report.trials[report.choice.winner]


def _parameters(report: TuneReport) -> list[str]:
    return list(dict.fromkeys(name for trial in report.trials for name in trial.parameters))


def _ranked(report: TuneReport) -> list[Trial]:
    return sorted(report.trials, key=lambda t: (t.mean is None, -(t.mean or 0.0), t.number))


def _line(trial: Trial, names: Sequence[str], numbers: Numbers) -> list[str]:
    return [
        str(trial.number),
        *(shown(trial.parameters.get(name, "–")) for name in names),
        numbers.decimal(trial.mean),
        numbers.signed(trial.difference),
        str(trial.unjudged),
        "–" if trial.p95_ms is None else numbers.local(f"{trial.p95_ms:,.0f}"),
        "–" if trial.cost is None else f"{trial.cost:g}",
    ]


def _head(words: Words, names: Sequence[str]) -> list[str]:
    measured = ("mean", "difference", "unjudged", "p95", "cost")
    return [words("tune.number"), *names, *(words(f"tune.{name}") for name in measured)]


def _key(name: str) -> str:
    return name if BARE_KEY.fullmatch(name) else _value(name)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


# ── terminal ──────────────────────────────────────────────────────────────────────────────────────


def terminal(report: TuneReport, language: str = "en") -> RenderableType:
    words = Words(language)
    numbers = Numbers(words)
    style = "bold green" if report.choice.verdict == "better" else "bold yellow"
    figures = plain()
    for row in summary(report, words):
        figures.add_row(f"  {row.label}", row.value, row.note)
    parts: list[RenderableType] = [
        Text(headline(report, words), style=style),
        Text(basis(report, words), style="dim"),
        Text(),
        figures,
        *(Text(f"\n{note}", style="yellow") for note in notes(report, words)),
    ]
    if report.effects:
        names = ("parameter", "best", "against")
        table = headed(
            *(words(f"tune.{name}") for name in names),
            right=(words("tune.effect"), words("tune.effect_interval")),
        )
        for effect in report.effects:
            span = numbers.change_span(effect.low, effect.high)
            change = numbers.signed(effect.difference)
            table.add_row(effect.parameter, effect.best, effect.against, change, span)
        parts += [Text(), table, Text(words("tune.effects_note"), style="dim")]
    if heat := heat_map(report):
        grid = headed("", right=heat.columns)
        for name, cells in heat.rows:
            shades = (
                f"{numbers.decimal(mean)} {SHADES[round(share * (len(SHADES) - 1) / STRONGEST)]}"
                for mean, share in cells
            )
            grid.add_row(name, *shades)
        title = words("tune.means", first=heat.first, second=heat.second)
        parts += [Text(f"\n{title}"), grid]
    varied = [name for name in _parameters(report) if name in {e.parameter for e in report.effects}]
    listed = headed(right=_head(words, varied if len(varied) <= WIDE else []))
    for trial in _ranked(report)[:LISTED]:
        listed.add_row(*_line(trial, varied if len(varied) <= WIDE else [], numbers))
    parts += [Text(), listed]
    if report.choice.verdict == "better":
        parts += [Text(f"\n{words('tune.paste')}"), Text(toml(report), style="bold")]
    return Group(*parts)


# ── page ──────────────────────────────────────────────────────────────────────────────────────────


def page(report: TuneReport, language: str = "en") -> str:
    words = Words(language)
    numbers, names = Numbers(words), _parameters(report)
    reach = max(
        [abs(end) for each in report.effects for end in (each.low, each.high) if end] or [1.0]
    )
    heat = heat_map(report)
    return (
        template_environment()
        .get_template("tune.html.j2")
        .render(
            report=report,
            words=words,
            t=_Marked(words),
            n=numbers,
            headline=headline(report, words),
            basis=basis(report, words),
            rows=summary(report, words),
            notes=list(notes(report, words)),
            toml=toml(report),
            effects=[
                (each, change_mark(each.difference, each.low, each.high, reach))
                for each in report.effects
            ],
            heat=heat,
            parallel=_parallel(report) if heat is None and len(report.effects) > 2 else "",
            head=_head(words, names),
            lines=[_line(trial, names, numbers) for trial in _ranked(report)],
        )
    )


def _parallel(report: TuneReport) -> Markup:
    """An axis for each parameter and one for the mean; a line for each setting."""
    names = [effect.parameter for effect in report.effects][:AXES]
    trials = [trial for trial in reversed(_ranked(report)) if trial.mean is not None]
    trials = [trial for trial in trials if all(name in trial.parameters for name in names)]
    means = [trial.mean or 0.0 for trial in trials]
    low, high = min(means), max(means)
    step = 900 / max(len(names), 1)
    places = [_places([trial.parameters[name] for trial in trials]) for name in names]
    places.append([(mean - low) / max(high - low, 1e-12) for mean in means])
    shapes = []
    for at, name in enumerate([*names, report.measure]):
        x = 40 + at * step
        shapes.append(f'<line x1="{x:.0f}" y1="20" x2="{x:.0f}" y2="200" stroke="var(--line)"/>')
        shapes.append(
            f'<text x="{x:.0f}" y="12" text-anchor="middle" font-size="12" '
            f'fill="var(--soft)">{escape(short(name, 16))}</text>'
        )
    for number, trial in enumerate(trials):
        points = " ".join(
            f"{40 + at * step:.0f},{200 - 180 * axis[number]:.1f}" for at, axis in enumerate(places)
        )
        strength = 0.12 + 0.88 * places[-1][number] ** 2
        shapes.append(
            f'<polyline points="{points}" fill="none" stroke="var(--dot)" stroke-width="1.5" '
            f'opacity="{strength:.2f}"><title>{escape(setting_text(trial.parameters))}: '
            f"{trial.mean:.3f}</title></polyline>"
        )
    return Markup(f'<svg viewBox="0 0 980 215" role="img">{"".join(shapes)}</svg>')


def _places(values: Sequence[object]) -> list[float]:
    """Where the values stand on an axis: numbers by their order, others as they come."""
    if all(isinstance(each, int | float) for each in values):
        order = sorted({float(each) for each in values})  # type: ignore[arg-type]
        return [order.index(float(each)) / max(len(order) - 1, 1) for each in values]  # type: ignore[arg-type]
    known = list(dict.fromkeys(map(str, values)))
    return [known.index(str(each)) / max(len(known) - 1, 1) for each in values]
