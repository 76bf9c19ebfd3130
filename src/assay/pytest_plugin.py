"""`pytest --assay [assay.toml]`: every gate and every MUST question of the configured sets and
files of answers is a test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("assay")
    group.addoption(
        "--assay",
        metavar="CONFIG",
        nargs="?",
        const="assay.toml",
        help="run the gold sets of assay.toml",
    )


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--assay")
    if path:
        config.args.append(str(Path(path).resolve()))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    wanted = parent.config.getoption("--assay")
    if wanted and file_path.resolve() == Path(wanted).resolve():
        return AssayFile.from_parent(parent, path=file_path)
    return None


class AssayFile(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        from assay.core.errors import AssayError
        from assay.core.workspace import workspace_beside
        from assay.workbench.project.config import read_config
        from assay.workbench.scoring import run

        try:
            with workspace_beside(self.path):
                config = read_config(self.path)
                outcomes = run.run_all(config, self.path)
                checked = run.check_answer_files(config)
        except AssayError as error:
            raise self.CollectError(str(error)) from error
        every: list[run.RunOutcome | run.CheckedFile] = [*outcomes, *checked]
        for outcome in every:
            pair = outcome.title
            if outcome.results is None:
                yield CheckItem.from_parent(
                    self, name=f"{pair}: runs", status="fail", message=outcome.error
                )
                continue
            for name, status, message in run.checks_of(outcome.results):
                yield CheckItem.from_parent(
                    self, name=f"{pair}: {name}", status=status, message=message
                )


class CheckItem(pytest.Item):
    """One gate or MUST question: fails with its message. What cannot be told fails too, and says
    that it is inconclusive: a skipped test would be a quiet pass."""

    def __init__(self, *, status: str, message: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._status, self._message = status, message

    def runtest(self) -> None:
        if self._status == "shown":
            pytest.skip(self._message)
        if self._status == "inconclusive":
            raise CheckFailed(f"inconclusive: {self._message}")
        if self._status == "fail":
            raise CheckFailed(self._message)

    def repr_failure(self, excinfo: Any, style: Any = None) -> str:
        return str(excinfo.value)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name


class CheckFailed(AssertionError):
    pass
