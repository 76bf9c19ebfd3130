"""The notebook runs from top to bottom on the bundled sample and draws its plots."""

from __future__ import annotations

from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[2] / "eval" / "analysis_kuntalaki_eval.ipynb"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # what Jupyter's own packages warn of is not ours to fix
def test_the_notebook_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    reason = "running the notebook needs nbclient, ipykernel and matplotlib"
    nbclient = pytest.importorskip("nbclient", reason=reason)
    nbformat = pytest.importorskip("nbformat", reason=reason)
    for name in ("ipykernel", "matplotlib"):
        pytest.importorskip(name, reason=reason)
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    monkeypatch.delenv("ASSAY_RESULTS", raising=False)
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), (
        "the notebook is kept without outputs"
    )
    nbclient.NotebookClient(
        notebook, timeout=120, resources={"metadata": {"path": str(NOTEBOOK.parent)}}
    ).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    plots = [output for output in outputs if "image/png" in output.get("data", {})]
    assert len(plots) == 6
