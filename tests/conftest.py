"""What every test may use: the command line in this process, and deterministic hypothesis."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import assay.cli
from kit.commands import Assay, Outcome
from kit.corpora import sample_home
from kit.stores import stop_postgres

__all__ = ["sample_home"]

# Tests start many processes; with compiled modules at hand each starts in half the time.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# No test sees the workspace or the store of whoever runs it.
for name in ("ASSAY_HOME", "ASSAY_STORE"):
    os.environ.pop(name, None)

# Stores that tests start log to the terminal of whichever test runs then.
os.environ["GRPC_VERBOSITY"] = "NONE"

# No test takes the power away. Those of what is written and when put a function of their own here.
os.fsync = lambda fd: None


# Thousands of tests and the modules they import never become garbage: they are not looked through
# while they are collected, nor again and again afterwards.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than processors: tests wait for disks, servers and processes."""
    return (os.cpu_count() or 1) + 1


settings.register_profile(
    "fast",
    max_examples=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "long", parent=settings.get_profile("fast"), max_examples=3000, derandomize=False
)
settings.load_profile("fast")


def pytest_sessionfinish() -> None:
    stop_postgres()


LIBRARY = Path(pytest.__file__)
LIBRARIES = {LIBRARY.parents[1], Path(os.__file__).parent, Path(assay.cli.__file__).parents[1]}


@pytest.fixture
def imports_restored() -> Iterator[None]:
    """Engine modules of one test are not seen by the next. Libraries stay: loaded twice, they are
    not the same."""
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if not LIBRARIES & set(
            Path(getattr(sys.modules[name], "__file__", None) or LIBRARY).parents
        ):
            del sys.modules[name]


@pytest.fixture
def assay_cli(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    imports_restored: None,
) -> Assay:
    """Run `assay ARGS` in a fresh current folder, through the same `main` as the command.

    An exception that escapes `main` fails the test: for a user it would be a traceback.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")

    def call(*args: object) -> Outcome:
        capfd.readouterr()
        monkeypatch.setattr(sys, "argv", ["assay", *map(str, args)])
        code: Any = 0
        try:
            assay.cli.main()
        except SystemExit as stop:
            code = stop.code or 0
        captured = capfd.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call
