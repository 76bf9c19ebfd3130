from pathlib import Path

import pytest

from kit import Project
from kit.stores import migrated_file, postgres_server, postgres_url, store, store_url

__all__ = ["migrated_file", "postgres_server", "postgres_url", "store", "store_url"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project folder without a gold set yet; see tests/kit."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    return Project.make(tmp_path / "project")


@pytest.fixture
def reviewed(project: Project) -> Project:
    """The project with a bootstrapped gold set: the rows g001, g002 and g003 are pending."""
    project.bootstrap()
    return project
