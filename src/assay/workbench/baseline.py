"""The verbs that leave something for the team after a score: evaluation reports and the committed
baseline."""

from __future__ import annotations

import getpass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assay import formats
from assay.core.errors import UsageError
from assay.core.files import write_atomic
from assay.core.fingerprints import git_state
from assay.reports import exports, golden_report
from assay.workbench.score import encode, refuse_output


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


def write_reports(results: dict[str, Any], target: Path, *, language: str = "en") -> list[Path]:
    """A name that ends in .md is one Markdown report. Anything else is a folder, which gets
    eval-report-DATE.json (the results file) and eval-report-DATE.md; a second run on the same day
    replaces the first."""
    check_report(target)
    text = (
        golden_report.markdown(results, language=language)
        if "gates" in results
        else exports.eval_report(results)
    )
    if target.suffix == ".md":
        write_atomic(target, text)
        return [target]
    name = f"eval-report-{results['timestamp'][:10]}"
    written = [target / f"{name}.json", target / f"{name}.md"]
    for path, data in zip(written, (encode(results), text.encode()), strict=True):
        write_atomic(path, data)
    return written


def who_records(by: str) -> str:
    """The person named, else the one who is logged in."""
    if by.strip():
        return by.strip()
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        raise UsageError("nobody is named", hint="Say who with --by NAME.") from None


def update_baseline(results: dict[str, Any], path: Path, *, by: str, why: str) -> dict[str, Any]:
    """Record these results as the new baseline: who, when, why and at which commit."""
    recorded = {
        "by": by,
        "why": why,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "git": git_state(),
    }
    kept = {key: value for key, value in results.items() if key != "baseline"}
    write_atomic(path, encode(kept | {"recorded": recorded}))
    return recorded
