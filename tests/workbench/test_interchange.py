"""Runs and results for other tools, and theirs for us: TREC, BEIR, ir_datasets, PyTerrier, MLflow.
The packages are the real ones."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.core.errors import InputError
from assay.workbench.scoring.report import export_run, log_to_mlflow, named_figures, plain_name
from assay.workbench.scoring.score import ScoreRequest, score

SAMPLES = Path(__file__).parents[2] / "samples"
DATASET = SAMPLES / "en" / "dataset.json"
MEASURES = ["nDCG@10", "P@5", "R@20", "RR"]
pytestmark = pytest.mark.filterwarnings("ignore")  # of the packages, on their own use of others


@pytest.fixture
def results(tmp_path: Path) -> Path:
    output = tmp_path / "results.json"
    corpus = SAMPLES / "en" / "corpus.jsonl"
    score(ScoreRequest(dataset=DATASET, engine="bm25", corpus=corpus, output=output))
    return output


def means(run: Any, gold: Any) -> dict[str, float | None]:
    return dict(assay.evaluate(run, gold, MEASURES).overall.means)


@pytest.mark.parametrize("name", ["run.trec", "run.json"])
def test_a_run_goes_out_and_scores_the_same(name: str, results: Path, tmp_path: Path) -> None:
    gold = assay.read_gold(DATASET)
    before = assay.read_run(results)
    hits = export_run(results, tmp_path / name)
    after = assay.read_run(tmp_path / name)
    assert hits == before.hits.height == after.hits.height
    assert all(before.doc_ids(id) == after.doc_ids(id) for id in gold.query_ids)
    assert means(after, gold) == means(before, gold)


def test_what_is_written_is_what_other_tools_read(results: Path, tmp_path: Path) -> None:
    ir_measures = pytest.importorskip("ir_measures", reason="needs the package ir-measures")
    gold = assay.read_gold(DATASET)
    export_run(results, tmp_path / "run.trec")
    qrels = [ir_measures.Qrel(row.query_id, row.doc_id, row.grade) for row in gold.iter_judgments()]
    run = list(ir_measures.read_trec_run(str(tmp_path / "run.trec")))
    theirs = ir_measures.calc_aggregate([ir_measures.nDCG @ 10], qrels, run)
    ours = means(assay.read_run(results), gold)["nDCG@10"]
    assert theirs[ir_measures.nDCG @ 10] == pytest.approx(ours)
    export_run(results, tmp_path / "run.json")
    beir = json.loads((tmp_path / "run.json").read_text())
    assert all(list(rows.values()) == sorted(rows.values(), reverse=True) for rows in beir.values())


def test_an_unknown_format_is_refused(results: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Known: trec, beir"):
        export_run(results, tmp_path / "run.x", format="letor")
    with pytest.raises(InputError):
        export_run(results, results)


# ── ir_datasets ───────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def registered(tmp_path: Path) -> str:
    """The sample as a data set that ir_datasets knows, from files of this machine."""
    ir_datasets = pytest.importorskip("ir_datasets", reason="needs the package ir-datasets")
    from ir_datasets.datasets.base import Dataset
    from ir_datasets.formats import TrecQrels, TsvQueries
    from ir_datasets.util import LocalDownload

    gold = assay.read_gold(DATASET)
    queries = "".join(f"{q.id}\t{' '.join(q.text.split())}\n" for q in gold.queries)
    (tmp_path / "queries.tsv").write_text(queries)
    rows = (f"{row.query_id} 0 {row.doc_id} {row.grade}\n" for row in gold.iter_judgments())
    (tmp_path / "qrels.txt").write_text("".join(rows))
    grades = {grade: str(grade) for grade in range(4)}
    dataset = Dataset(
        TsvQueries(LocalDownload(tmp_path / "queries.tsv")),
        TrecQrels(LocalDownload(tmp_path / "qrels.txt"), grades),
    )
    name = "court-sample/test"
    if name not in ir_datasets.registry:
        ir_datasets.registry.register(name, dataset)
        ir_datasets.registry.register(
            "court-sample", Dataset(TsvQueries(LocalDownload(tmp_path / "queries.tsv")))
        )
    else:
        ir_datasets.registry._registered[name] = dataset
    return name


def test_a_data_set_by_its_name(registered: str, results: Path, tmp_path: Path) -> None:
    gold = assay.read_gold(f"irds:{registered}")
    own = assay.read_gold(DATASET)
    assert gold.query_ids == own.query_ids
    assert gold.judgments.height == own.judgments.height
    run = assay.read_run(results)
    assert means(run, gold) == means(run, own)
    request = ScoreRequest(
        dataset=Path(f"irds:{registered}"), run=results, output=tmp_path / "again.json"
    )
    scored = score(request).results
    assert scored.receipt.inputs["dataset"].path == f"irds:{registered}"
    assert scored.receipt.inputs["dataset"].sha256 == scored.receipt.gold.fingerprint
    with pytest.raises(InputError, match="has no judgments"):
        assay.read_gold("irds:court-sample")
    with pytest.raises(InputError, match="knows no data set"):
        assay.read_gold("irds:no-such/thing")


def test_a_data_set_that_cannot_be_downloaded(
    registered: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """As ir_datasets says it, over many lines: the hosts are told, once each."""
    import ir_datasets

    said = "HTTPConnectionPool(host='a.example', port=80): Max retries exceeded"

    def unreachable() -> Any:
        ir_datasets.log.easy().info(f"download error: {said}. Retrying from start.")
        ir_datasets.log.easy().info("the terms of use")
        raise OSError(["All download sources failed", OSError(said), OSError(said)])

    monkeypatch.setattr(ir_datasets.load(registered), "queries_iter", unreachable, raising=False)
    with pytest.raises(InputError, match=r"no connection to a\.example\n"):
        assay.read_gold(f"irds:{registered}")
    said_here = capfd.readouterr().err
    assert "the terms of use" in said_here
    assert "download error" not in said_here


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(InputError, match=r"\[irds\]"):
        assay.read_gold("irds:beir/scifact/test")


# ── PyTerrier ─────────────────────────────────────────────────────────────────────────────────────


def test_tables_of_pyterrier_both_ways(results: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="needs the package pandas")
    gold, run = assay.read_gold(DATASET), assay.read_run(results)
    frame = assay.run_to_frame(run)
    assert list(frame.columns) == ["qid", "docno", "score", "rank"]
    assert frame["rank"].min() == 0
    again = assay.run_from_frame(frame.sample(frac=1, random_state=1))
    assert all(again.doc_ids(id) == run.doc_ids(id) for id in gold.query_ids)
    assert means(again, gold) == means(run, gold)
    with pytest.raises(InputError, match="no column docno, score"):
        assay.run_from_frame(pandas.DataFrame({"qid": ["1"]}))


def test_an_engine_is_a_transformer_and_a_transformer_an_engine(results: Path) -> None:
    pt = pytest.importorskip("pyterrier", reason="needs the package pyterrier")
    gold = assay.read_gold(DATASET)
    run = assay.read_run(results)
    texts = {query.text: query.id for query in gold.queries}

    def saved(query: str, top_k: int) -> list[str]:
        return run.doc_ids(texts[query])[:top_k]

    transformer = assay.as_transformer(saved, top_k=20)
    topics, qrels = assay.gold_to_frames(gold)
    found = (transformer % 20)(topics)
    assert means(assay.run_from_frame(found), gold) == means(run, gold)
    # their experiment on our gold set, with our engine
    measure = pytest.importorskip("ir_measures").nDCG @ 10
    table = pt.Experiment([transformer], topics, qrels, eval_metrics=[measure])
    assert table["nDCG@10"][0] == pytest.approx(means(run, gold)["nDCG@10"], abs=1e-6)
    # and the way back: their transformer as our engine
    fixed = assay.run_to_frame(run)
    first = fixed[fixed["qid"] == gold.query_ids[0]].drop(columns=["qid"])
    lookup = pt.apply.generic(lambda asked: asked.merge(first, how="cross"))
    asked = assay.ask(lookup, gold.queries[:1], top_k=20)
    assert asked.doc_ids(gold.query_ids[0]) == run.doc_ids(gold.query_ids[0])


# ── MLflow ────────────────────────────────────────────────────────────────────────────────────────


def test_figures_are_logged_in_mlflow(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlflow = pytest.importorskip("mlflow", reason="needs the package mlflow-skinny")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    uri = (tmp_path / "mlruns").as_uri()
    id = log_to_mlflow(results, uri, experiment="court")
    logged = mlflow.MlflowClient(tracking_uri=uri).get_run(id)
    saved = json.loads(results.read_text())
    name, value = next(iter(saved["overall"].items()))
    assert logged.data.metrics[plain_name(name)] == pytest.approx(value)
    assert logged.data.params["engine"] == "bm25"
    assert logged.info.status == "FINISHED"
    assert any("/" in key for key in logged.data.metrics)  # slices
    assert log_to_mlflow(results, uri, experiment="court") != id
    files = mlflow.MlflowClient(tracking_uri=uri).list_artifacts(id)
    assert [file.path for file in files] == ["results.json"]


def test_names_are_what_a_tracking_server_takes() -> None:
    assert plain_name("nDCG@10") == "nDCG_at_10"
    assert plain_name("P(rel=2)@5") == "P_rel_2_at_5"
    assert plain_name("topic/gifts & trips/R@20") == "topic/gifts _ trips/R_at_20"


def test_every_figure_has_a_number(results: Path) -> None:
    from assay.formats.results_json import read_results

    assert all(isinstance(value, float) for value in named_figures(read_results(results)).values())
