"""`assay report`, and what `assay score --report` leaves: report files for people and programs."""

from __future__ import annotations

from pathlib import Path

import msgspec

from assay import formats
from assay.core.errors import UsageError
from assay.core.files import refuse_unwritable, write_atomic
from assay.core.results import GoldenResults, Results
from assay.core.results_file import encode, entry_to_json, to_json
from assay.evaluation.changes import changes
from assay.formats.results_json import read_results
from assay.reports import exports, golden_report
from assay.workbench.compare import compare_results
from assay.workbench.outputs import refuse_output


def report_file(
    results_file: Path,
    output: Path,
    *,
    against: Path | None = None,
    language: str = "en",
    force: bool = False,
) -> None:
    """Write a report in the format of the output's ending; `against` adds the comparison with
    another results file, and `force` lets that be one on another gold set or corpus."""
    refuse_unwritable(output)
    results = read_results(results_file)
    is_golden = isinstance(results, GoldenResults)
    if against is not None and output.suffix in (".csv", ".xml"):
        raise UsageError(
            f"a {output.suffix} report has no comparison",
            where=str(output),
            hint="Leave --against out, or write .html, .md or .tex.",
        )
    if language != "en" and not (is_golden and output.suffix == ".md"):
        raise UsageError(
            f"this report is not written in language {language!r}",
            where=str(output),
            hint="The Markdown report of a golden set is, others are in English.",
        )
    if isinstance(results, GoldenResults) and (against is not None or language != "en"):
        changed = _golden_changes(against, results_file) if against is not None else None
        write_atomic(
            output, exports.export_golden(to_json(results), output.suffix, changed, language)
        )
        return
    compared = (
        msgspec.to_builtins(compare_results([against, results_file], force=force))
        if against is not None
        else None
    )
    write_atomic(output, exports.export(to_json(results), output.suffix, compared))


def _golden_changes(before: Path, after: Path) -> dict[str, object]:
    """What broke and what was repaired. A set may have grown since: it is compared on what both
    have, and said."""
    compared = compare_results([before, after], force=True)
    then, now = read_results(before), read_results(after)
    if not isinstance(then, GoldenResults) or not isinstance(now, GoldenResults):
        raise UsageError("a golden set is compared with a golden set", where=str(before))
    changed = changes(then, now, name=compared.baseline, warnings=compared.warnings)
    turns = {
        name: [tuple(map(entry_to_json, turn)) for turn in getattr(changed, name)]
        for name in ("broke", "repaired")
    }
    return {**msgspec.to_builtins(changed), **turns}


def check_language(language: str, dataset: Path) -> None:
    """Before an engine runs for an hour: is there a report in this language on this gold set?"""
    if language not in golden_report.LANGUAGES:
        raise UsageError(
            f"no report in language {language!r}",
            hint=f"Known: {', '.join(golden_report.LANGUAGES)}.",
        )
    if language != "en" and not any(query.checks for query in formats.read_gold(dataset).queries):
        raise UsageError(
            f"the report on a graded set is not written in language {language!r}",
            where=str(dataset),
            hint="That of a golden set is; leave --language out.",
        )


def check_report(target: Path, *inputs: Path | None) -> None:
    """Before an engine runs for an hour: could the report be written there, and would it spare the
    inputs?"""
    if target.suffix == ".md":
        refuse_output(target, *inputs)
    elif target.exists() and not target.is_dir():
        raise UsageError(
            "is a file, and not a Markdown file",
            where=str(target),
            hint="Give a folder, or a file name that ends in .md.",
        )
    else:
        refuse_output(target / "eval-report.md" if target.is_dir() else target)


def write_reports(results: Results, target: Path, *, language: str = "en") -> list[Path]:
    """A name that ends in .md is one Markdown report. Anything else is a folder, which gets
    eval-report-DATE.json (the results file) and eval-report-DATE.md; a second run on the same day
    replaces the first."""
    check_report(target)
    text = markdown(results, language=language)
    if target.suffix == ".md":
        write_atomic(target, text)
        return [target]
    name = f"eval-report-{results.timestamp[:10]}"
    written = [target / f"{name}.json", target / f"{name}.md"]
    write_atomic(written[0], encode(to_json(results)))
    write_atomic(written[1], text)
    return written


def markdown(results: Results, *, language: str = "en") -> str:
    """The evaluation report."""
    if isinstance(results, GoldenResults):
        return golden_report.markdown(to_json(results), language=language)
    return exports.eval_report(to_json(results))


def page(results: Results) -> str:
    """The report as one HTML page."""
    return exports.export(to_json(results), ".html")
