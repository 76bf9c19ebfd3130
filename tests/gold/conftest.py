from pathlib import Path

import pytest

from kit import Project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with a graded set whose pairs q1 d1, q1 d2 and q2 d4 are dealt to Ada and Ben."""
    for name in ("ASSAY_HOME", "ASSAY_STORE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    project = Project.make(tmp_path / "project")
    project.grade_set(("q1", "d1"), ("q1", "d2"), ("q2", "d4"))
    return project


@pytest.fixture
def judged(project: Project) -> Project:
    """The same, and Ada and Ben agree on all of it."""
    given = {("q1", "d1"): 2, ("q1", "d2"): 0, ("q2", "d4"): 1}
    packets = [project.packet(judge, given) for judge in ("Ada", "Ben")]
    project.do("gold", "merge", project.graded, *packets)
    return project
