"""`assay export`: a run for other tools, as a TREC or BEIR file, or in MLflow."""

from __future__ import annotations

import re
from math import isfinite
from pathlib import Path
from typing import Any, TypeGuard

import msgspec

from assay import formats
from assay.core.errors import EngineError
from assay.core.extras import imported
from assay.core.results import GoldenResults, GradedResults, Metrics, Results
from assay.core.types import Run
from assay.formats.results_json import read_results
from assay.workbench.project.output_files import refuse_output


def export_run(source: Path, output: Path, *, format: str | None = None) -> int:
    """Write any run, such as that of a results file, and say how many hits it has."""
    refuse_output(output, source)
    run = formats.read_run(source)
    formats.write_run(run, output, format)
    return run.hits.height


def write_run(run: Run, output: Path) -> Path:
    """A TREC run, or with the ending .json BEIR's results."""
    formats.write_run(run, output)
    return output


def log_to_mlflow(source: Path | Results, uri: str = "", *, experiment: str = "assay") -> str:
    """Log a results file as a run of MLflow: every figure, the slices, what it was made of and the
    file itself. `uri` is a folder or a server; without it MLflow's own setting counts. Gives the
    id of the run."""
    mlflow = imported("mlflow", "logging to MLflow", "mlflow")
    results = read_results(source) if isinstance(source, Path) else source
    try:
        client = mlflow.MlflowClient(tracking_uri=uri or None)
        return _log_run(client, mlflow, results, source, experiment)
    except Exception as error:  # MLflow has errors of its own, and so has its server
        said = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise EngineError(f"MLflow at {uri or 'its usual place'}: {said}") from error


def _log_run(
    client: Any, mlflow: Any, results: Results, source: Path | Results, experiment: str
) -> str:
    found = client.get_experiment_by_name(experiment)
    number = found.experiment_id if found else client.create_experiment(experiment)
    run = client.create_run(number, run_name=f"{results.engine} on {results.receipt.gold.name}")
    id = str(run.info.run_id)
    entities = mlflow.entities
    at = run.info.start_time
    metrics = [entities.Metric(name, value, at, 0) for name, value in figures(results).items()]
    params = [
        entities.Param(name, value[:500]) for name, value in _run_params(results).items() if value
    ]
    client.log_batch(id, metrics=metrics, params=params)
    if isinstance(source, Path):
        client.log_artifact(id, str(source))
    client.set_terminated(id)
    return id


def figures(results: Results) -> dict[str, float]:
    """Every figure by a name that MLflow takes: ndcg@10 is ndcg_at_10, of a slice
    topic/gifts/ndcg_at_10."""
    means: Metrics = dict(results.overall)
    for kind, parts in results.slices.items():
        for part, figures_of in parts.items():
            means |= {f"{kind}/{part}/{name}": value for name, value in figures_of.items()}
    if isinstance(results, GradedResults) and results.receipt.latency_ms is not None:
        times = msgspec.structs.asdict(results.receipt.latency_ms)
        means |= {f"latency_ms/{name}": value for name, value in times.items()}
    return {plain_name(name): float(value) for name, value in means.items() if _is_number(value)}


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def plain_name(name: str) -> str:
    """Letters, digits, _ . - and / are what every tracking server takes."""
    text = name.replace("@", "_at_").replace("(", "_").replace(")", "").replace("=", "_")
    return re.sub(r"[^\w./ -]", "_", text)


def _run_params(results: Results) -> dict[str, str]:
    receipt = results.receipt
    return {
        "engine": results.engine,
        "gold_set": receipt.gold.name,
        "gold_fingerprint": receipt.gold.fingerprint,
        "kind": "golden" if isinstance(results, GoldenResults) else "graded",
        "timestamp": results.timestamp,
        "verdict": results.verdict.status if results.verdict else "",
    }
