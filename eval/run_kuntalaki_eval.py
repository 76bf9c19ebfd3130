"""Score the Kuntalaki golden set on the engine `kuntalaki`, and write the results and the report.

    python eval/run_kuntalaki_eval.py
    python eval/run_kuntalaki_eval.py --search-module my_engine.py

It is `assay score` with the files of this folder; every option of that command works here too, and
yours win. Without an engine of your own, import and index the act first:

    assay corpus import finlex kuntalaki_410-2015.jsonl --name kuntalaki
    assay index kuntalaki
"""

from __future__ import annotations

import sys
from pathlib import Path

from assay.cli import main

EVAL = Path(__file__).parent
ENGINES = ("--engine", "--search-module", "--run")


def command(given: list[str]) -> list[str]:
    """The command line of `assay score` with the files of this folder as defaults."""
    engine = (
        [] if any(each.split("=")[0] in ENGINES for each in given) else ["--engine", "kuntalaki"]
    )
    return [
        "score",
        *("--dataset", str(EVAL / "questions_kuntalaki_golden.json")),
        *("--baseline", str(EVAL / "baseline_kuntalaki.json")),
        *("--output", str(EVAL / "kuntalaki_eval_results.json")),
        *("--report", str(EVAL / "report_kuntalaki_eval.md")),
        *("--language", "fi"),
        *engine,
        *given,
    ]


if __name__ == "__main__":
    sys.argv[1:] = command(sys.argv[1:])
    main()
