"""The result of a sweep as one `TuneView`, which the terminal, the HTML report and the workbench
show; the table of trials as CSV, and the setting to use as TOML to paste."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape
from rich.console import Group, RenderableType
from rich.text import Text

from assay.evaluation.tuning import Trial, TuneReport, shown_value, value_groups
from assay.formats.spreadsheet import guarded_row
from assay.reports.drawings import change_mark
from assay.reports.grids import bare_table, headed_table
from assay.reports.html import _MarkedWords, template_environment
from assay.reports.numbers import Numbers, short
from assay.reports.words import Words

LISTED_SETTINGS = 10  # settings on a terminal; taste
WIDE = 5  # parameters that a table on a terminal has room for
SHADES = " ░▒▓█"
AXES = 8  # of the parallel view; taste
WIDTH, HEIGHT, MARGIN = 980, 200, 60  # of the parallel view; pixels; taste
BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
MEASURED = ("mean", "difference", "unjudged", "p95_ms", "cost", "failed", "excluded")


@dataclass(frozen=True)
class TuneFigure:
    """One figure of the result, with a note."""

    label: str
    value: str
    note: str


@dataclass(frozen=True)
class EffectLine:
    """The effect of one parameter, in words and as a drawing."""

    parameter: str
    best: str
    against: str
    change: str
    interval: str
    mark: Markup


@dataclass(frozen=True)
class HeatMap:
    """The mean of all settings by the values of two parameters, each with its shade: 0 is the
    lowest mean, 4 the highest."""

    title: str
    columns: list[str]
    rows: list[tuple[str, list[tuple[str, int]]]]


@dataclass(frozen=True, kw_only=True)
class TuneView:
    """The result of a sweep as people read it, in their language. `head` and `lines` are the table
    of settings, the best first, with the parameters that vary from the second column on."""

    language: str
    is_better: bool
    title: str
    headline: str
    basis: str
    figures: list[TuneFigure]
    notes: list[str]
    toml: str
    effects: list[EffectLine]
    heat: HeatMap | None
    parallel: Markup | None
    varied: int
    head: list[str]
    lines: list[list[str]]


def view(report: TuneReport, language: str = "en") -> TuneView:
    words = Words(language)
    numbers, choice = Numbers(words), report.choice
    is_golden = words.has("figures", report.measure)
    measure = words.figure(report.measure) if is_golden else report.measure
    varied = [
        name for name in _parameters(report) if any(e.parameter == name for e in report.effects)
    ]
    head, lines = _table(report, varied, words)
    is_better = choice.verdict == "better"
    best = setting_text(_winner(report).parameters)
    heat = _heat_map(report, varied, words) if len(varied) == 2 else None
    return TuneView(
        language=language,
        is_better=is_better,
        title=words("tune.title", name=report.name, gold=report.gold),
        headline=words("tune.better", setting=best) if is_better else words("tune.none"),
        basis=words(
            "tune.basis",
            measure=measure,
            gold=report.gold,
            queries=words.counted(choice.queries, "question" if is_golden else "query"),
            settings=words.plural("tune.settings", len(report.trials)),
            search=words(f"tune.{report.search}"),
        ),
        figures=_figures(report, words),
        notes=list(_notes(report, words)),
        toml=toml(report, language),
        effects=_effect_lines(report, numbers),
        heat=heat,
        parallel=_parallel(report, varied, words) if len(varied) > 2 else None,
        varied=len(varied),
        head=head,
        lines=lines,
    )


def setting_text(parameters: Mapping[str, object]) -> str:
    return ", ".join(f"{name} = {shown_value(value)}" for name, value in parameters.items()) or "–"


def _figures(report: TuneReport, words: Words) -> list[TuneFigure]:
    numbers, choice = Numbers(words), report.choice
    crossed = report.search == "optuna"
    corrected = words(
        "tune.change_note_crossed" if crossed else "tune.change_note",
        span=numbers.change_span(choice.low_change, choice.high_change),
        settings=words.plural("tune.settings", len(report.trials)),
        counts=numbers.decimal(choice.counts_as, 1),
        p=numbers.p_value(choice.p_adjusted),
    )
    best = setting_text(_winner(report).parameters)
    moved = choice.gain if crossed else choice.apparent - choice.current_mean
    stays = choice.winner == 0
    rows = (
        ("current", numbers.decimal(choice.current_mean), ""),
        ("apparent", numbers.decimal(choice.apparent), words("tune.apparent_note", setting=best)),
        (
            "honest",
            numbers.decimal(choice.honest),
            words("tune.honest_note", span=numbers.span((choice.low, choice.high))),
        ),
        ("optimism", numbers.signed(choice.optimism), words("tune.optimism_note")),
        ("gain", numbers.signed(choice.gain), words("tune.gain_note")),
        ("change", numbers.signed(moved), words("tune.stays") if stays else corrected),
    )
    return [TuneFigure(words(f"tune.{key}"), value, note) for key, value, note in rows]


def _notes(report: TuneReport, words: Words) -> Iterator[str]:
    """Notes to read before using the setting."""
    excluded = [trial for trial in report.trials if trial.excluded]
    if excluded:
        why = (
            f"{setting_text(trial.parameters)}: {trial.excluded}"
            for trial in excluded[:LISTED_SETTINGS]
        )
        lines = [f"{words.plural('tune.excluded', len(excluded))}:", *map(words.isolated, why)]
        yield "\n".join([*lines, "…"] if len(excluded) > LISTED_SETTINGS else lines)
    current, winner = report.trials[0], _winner(report)
    if winner.unjudged > current.unjudged:
        yield words("tune.more_unjudged", winner=winner.unjudged, current=current.unjudged)
    if report.judge_next:
        how = words("tune.judge_how", file=words.isolated(f"{report.folder}/judge-next.csv"))
        yield f"{words.plural('tune.judge', len(report.judge_next))}. {how}"


def _effect_lines(report: TuneReport, numbers: Numbers) -> list[EffectLine]:
    ends = [abs(end) for each in report.effects for end in (each.low, each.high) if end]
    reach = max(ends, default=1.0)
    return [
        EffectLine(
            each.parameter,
            each.best,
            each.against,
            numbers.signed(each.difference),
            numbers.change_span(each.low, each.high),
            change_mark(each.difference, each.low, each.high, reach),
        )
        for each in report.effects
    ]


def _table(
    report: TuneReport, names: Sequence[str], words: Words
) -> tuple[list[str], list[list[str]]]:
    """The settings, the best first; a column that no setting has a value for is left out."""
    numbers = Numbers(words)
    trials = sorted(report.trials, key=lambda t: (t.mean is None, -(t.mean or 0.0), t.number))
    columns = {
        "mean": [numbers.decimal(trial.mean) for trial in trials],
        "difference": [numbers.signed(trial.difference) for trial in trials],
    }
    if any(trial.unjudged for trial in trials):
        columns["unjudged"] = [numbers.whole(trial.unjudged) for trial in trials]
    if any(trial.p95_ms is not None for trial in trials):
        times = (trial.p95_ms for trial in trials)
        columns["p95"] = ["–" if ms is None else numbers.whole(round(ms)) for ms in times]
    if any(trial.cost is not None for trial in trials):
        columns["cost"] = [numbers.local(f"{trial.cost:g}") for trial in trials]
    head = [words("tune.number"), *names, *(words(f"tune.{key}") for key in columns)]
    lines = [
        [
            str(trial.number),
            *(shown_value(trial.parameters.get(name, "–")) for name in names),
            *measured,
        ]
        for trial, measured in zip(trials, zip(*columns.values(), strict=True), strict=True)
    ]
    return head, lines


def _heat_map(report: TuneReport, names: Sequence[str], words: Words) -> HeatMap:
    numbers, (first, second) = Numbers(words), names
    trials = _complete(report, names)
    axes = [value_groups([trial.parameters[name] for trial in trials]) for name in names]
    cells: dict[tuple[str, str], list[float]] = {}
    for row, column, trial in zip(*axes, trials, strict=True):
        cells.setdefault((row, column), []).append(trial.mean or 0.0)
    means = {at: sum(each) / len(each) for at, each in cells.items()}
    low, high = min(means.values()), max(means.values())

    def cell(row: str, column: str) -> tuple[str, int]:
        mean = means.get((row, column))
        share = 0.0 if mean is None else (mean - low) / max(high - low, 1e-12)
        return numbers.decimal(mean), round(share * (len(SHADES) - 1))

    rows, columns = (
        _in_order(axis, [trial.parameters[name] for trial in trials])
        for axis, name in zip(axes, names, strict=True)
    )
    title = words("tune.means", first=first, second=second)
    return HeatMap(title, columns, [(row, [cell(row, each) for each in columns]) for row in rows])


def _parallel(report: TuneReport, names: Sequence[str], words: Words) -> Markup:
    """An axis for each parameter and one for the mean; a line for each setting, the best on top."""
    names = names[:AXES]
    trials = sorted(_complete(report, names), key=lambda trial: trial.mean or 0.0)
    means = [trial.mean or 0.0 for trial in trials]
    places = [_places([trial.parameters[name] for trial in trials]) for name in names]
    places.append([(mean - means[0]) / max(means[-1] - means[0], 1e-12) for mean in means])
    step = (WIDTH - 2 * MARGIN) / len(names)
    shapes = []
    for at, name in enumerate([*names, words("tune.mean")]):
        x = MARGIN + at * step
        shapes.append(
            f'<line x1="{x:.0f}" y1="20" x2="{x:.0f}" y2="{HEIGHT}" stroke="var(--line)"/>'
            f'<text x="{x:.0f}" y="12" text-anchor="middle" font-size="13" '
            f'fill="var(--soft)">{escape(short(name, 16))}</text>'
        )
    for number, trial in enumerate(trials):
        points = " ".join(
            f"{MARGIN + at * step:.0f},{HEIGHT - (HEIGHT - 20) * axis[number]:.1f}"
            for at, axis in enumerate(places)
        )
        strength = 0.12 + 0.88 * places[-1][number] ** 2
        shapes.append(
            f'<polyline points="{points}" fill="none" stroke="var(--dot)" stroke-width="1.5" '
            f'opacity="{strength:.2f}"><title>{escape(setting_text(trial.parameters))}: '
            f"{Numbers(words).decimal(trial.mean)}</title></polyline>"
        )
    label = escape(words("tune.parallel"))
    return Markup(
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT + 15}" role="img" aria-label="{label}">'
        f"{''.join(shapes)}</svg>"
    )


def _complete(report: TuneReport, names: Sequence[str]) -> list[Trial]:
    """The settings that were measured and have all of these parameters."""
    return [
        trial
        for trial in report.trials
        if trial.mean is not None and all(name in trial.parameters for name in names)
    ]


def _in_order(groups: Sequence[str], values: Sequence[object]) -> list[str]:
    """The groups of a parameter, those of numbers by size."""
    places = dict(zip(reversed(groups), reversed(_places(values)), strict=True))
    return sorted(dict.fromkeys(groups), key=lambda group: places[group])


def _places(values: Sequence[object]) -> list[float]:
    """The positions of values on an axis: numbers by size, others as they come."""
    known = list(dict.fromkeys(values))
    if all(isinstance(each, int | float) for each in known):
        known.sort()
    return [known.index(each) / max(len(known) - 1, 1) for each in values]


def _winner(report: TuneReport) -> Trial:
    return report.trials[report.choice.winner]


def _parameters(report: TuneReport) -> list[str]:
    return list(dict.fromkeys(name for trial in report.trials for name in trial.parameters))


# ── files ─────────────────────────────────────────────────────────────────────────────────────────


def toml(report: TuneReport, language: str = "en") -> str:
    """The setting to use as a table of assay.toml: the best one where it is better than the
    current one, otherwise the current one, and a comment says so. Empty where the values of the
    current setting are not known."""
    lines, used = [], _winner(report)
    if report.choice.verdict != "better":
        words, used = Words(language), report.trials[0]
        if not used.parameters:
            return ""
        lines = [f"# {words('tune.none')} {words('tune.current')}:"]
    place = f"tune.{_key(report.name)}.current"
    if not report.fused:
        place = f"engines.{_key(report.engine)}.parameters"
    lines.append(f"[{place}]")
    lines += [f"{_key(name)} = {_value(value)}" for name, value in used.parameters.items()]
    return "\n".join(lines)


def _key(name: str) -> str:
    return name if BARE_KEY.fullmatch(name) else _value(name)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def trial_rows(report: TuneReport) -> list[list[object]]:
    """Every setting with what was measured, after a row of names."""
    names = _parameters(report)
    rows: list[list[object]] = [["setting", *names, *MEASURED]]
    for trial in report.trials:
        values = [trial.parameters.get(name) for name in names]
        rows.append([trial.number, *values, *(getattr(trial, name) for name in MEASURED)])
    return rows


def trials_csv(report: TuneReport) -> str:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    for row in trial_rows(report):
        writer.writerow(guarded_row("" if each is None else str(each) for each in row))
    return stream.getvalue()


# ── terminal and HTML ─────────────────────────────────────────────────────────────────────────────


def terminal(report: TuneView) -> RenderableType:
    words = Words(report.language)
    figures = bare_table()
    for row in report.figures:
        figures.add_row(f"  {row.label}", row.value, row.note)
    parts: list[RenderableType] = [
        Text(report.headline, style="bold green" if report.is_better else "bold yellow"),
        Text(report.basis, style="dim"),
        Text(),
        figures,
        *(Text(f"\n{note}", style="yellow") for note in report.notes),
    ]
    if report.effects:
        names = ("parameter", "best", "against")
        table = headed_table(
            *(words(f"tune.{name}") for name in names),
            right=(words("tune.effect"), words("tune.effect_interval")),
        )
        for each in report.effects:
            table.add_row(each.parameter, each.best, each.against, each.change, each.interval)
        parts += [Text(), table, Text(words("tune.effects_note"), style="dim")]
    if report.heat:
        grid = headed_table("", right=report.heat.columns)
        for name, cells in report.heat.rows:
            grid.add_row(name, *(f"{mean} {SHADES[shade]}" for mean, shade in cells))
        parts += [Text(f"\n{report.heat.title}"), grid]
    # too many parameters for a terminal are left to the files
    from_column = 1 if report.varied <= WIDE else 1 + report.varied
    listed = headed_table(right=[report.head[0], *report.head[from_column:]])
    for line in report.lines[:LISTED_SETTINGS]:
        listed.add_row(line[0], *line[from_column:])
    parts += [Text(), listed]
    if report.is_better:
        parts += [Text(f"\n{words('tune.paste')}"), Text(report.toml, style="bold")]
    return Group(*parts)


def page(report: TuneView) -> str:
    """The report as one self-contained file."""
    return _rendered("tune.html.j2", report)


def body(report: TuneView, copy: str = "") -> Markup:
    """The part that the report and the workbench share; `copy` names the button that copies the
    TOML."""
    return Markup(_rendered("tune_body.html.j2", report, copy))


def _rendered(template: str, report: TuneView, copy: str = "") -> str:
    words = Words(report.language)
    made = template_environment().get_template(template)
    return made.render(view=report, words=words, t=_MarkedWords(words), copy=copy)
