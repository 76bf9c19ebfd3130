"""`assay` alone: where you are, and the next step."""

from __future__ import annotations

from assay.cli.output import show


def here() -> None:
    from assay.reports.terminal_status import project_status
    from assay.workbench.here import look_around

    show(project_status(look_around()))
