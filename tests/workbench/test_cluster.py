"""On a real Dask scheduler with two workers: the same results, byte by byte, also when a worker is
killed in the middle."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from assay.core import cluster
from assay.core.errors import EngineError, InputError
from assay.engines.indexed import index_folder
from assay.review.bootstrap import BootstrapOptions, bootstrap
from assay.search import encoding, index_files
from assay.store import open_store
from assay.store.records import Feedback, SearchLog, ShownResult
from assay.workbench.judging.gold_sets import perturb_gold
from assay.workbench.project.config import read_config
from assay.workbench.scoring.run import run_all
from assay.workbench.scoring.score import ScoreRequest, score
from assay.workbench.searching.corpora import corpus_named, import_corpus, index_corpus

SAMPLES = Path(__file__).parents[2] / "samples"
DATASET = SAMPLES / "en" / "dataset.json"
pytestmark = pytest.mark.filterwarnings("ignore")  # of the package, when a worker is lost


@pytest.fixture(scope="module")
def scheduler() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed", reason="needs the package distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as made:
        yield made


def without_times(path: Path) -> bytes:
    """The file without when it was written and how long calls took."""
    text = path.read_text()
    text = re.sub(r'"timestamp": ?"[^"]*"', '"timestamp":""', text)
    text = re.sub(r'"latency_ms": ?(\{[^}]*\}|[\d.e-]+)', '"latency_ms":0', text)
    return re.sub(r'"path": ?"[^"]*"', '"path":""', text).encode()


def test_score_of_a_saved_run(scheduler: Any, tmp_path: Path) -> None:
    first = tmp_path / "first.json"
    corpus = SAMPLES / "en" / "corpus.jsonl"
    score(ScoreRequest(dataset=DATASET, engine="bm25", corpus=corpus, output=first))
    here, there = tmp_path / "here.json", tmp_path / "there.json"
    score(ScoreRequest(dataset=DATASET, run=first, output=here))
    with cluster.use_cluster(scheduler.scheduler_address):
        score(ScoreRequest(dataset=DATASET, run=first, output=there))
    assert without_times(here) == without_times(there)


MODULE = """
def search(query, top_k):
    if "gift" in query.lower():
        raise ValueError("no gifts")
    return [word for word in dict.fromkeys(query.split())][:top_k]
"""


def test_score_of_an_engine(
    scheduler: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A baseline, and a module of one's own that fails on some questions."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MODULE)
    corpus = SAMPLES / "en" / "corpus.jsonl"
    requests = {
        "bm25": ScoreRequest(dataset=DATASET, engine="bm25", corpus=corpus),
        "mine": ScoreRequest(dataset=DATASET, search_module="mine"),
    }
    for name, request in requests.items():
        made = []
        for place in ("here", "there"):
            output = tmp_path / f"{name}-{place}.json"
            asked = msgspec.structs.replace(request, output=output)
            with cluster.use_cluster(scheduler.scheduler_address if place == "there" else ""):
                scored = score(asked)
            made.append(without_times(output))
        assert bool(scored.failed) == (name == "mine")
        assert made[0] == made[1]


def test_index_gives_the_same_vectors_when_a_worker_is_killed(
    scheduler: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoding, "CHUNK", 4)  # so that there is a middle
    homes = [tmp_path / name for name in ("here", "there")]
    for home in homes:
        import_corpus("fppc", SAMPLES / "en" / "opinions", name="opinions", home=home)
    index_corpus("opinions", home=homes[0])
    killed: list[int] = []

    def tick(what: str, done: int, of: int) -> None:
        if what.startswith("encoding") and 0 < done < of and not killed:
            killed.append(next(iter(workers.values())))
            os.kill(killed[0], signal.SIGKILL)

    with cluster.use_cluster(scheduler.scheduler_address):
        workers = cluster._client.run(os.getpid)
        assert len(workers) == 2
        index_corpus("opinions", home=homes[1], tick=tick)
    assert killed
    made = []
    for home in homes:
        corpus = corpus_named("opinions", home)
        made.append(index_files.load(index_folder(corpus, home), corpus.fingerprint).vectors)
    assert np.array_equal(made[0], made[1])


def test_a_worker_that_is_lost_has_its_work_done_by_another(scheduler: Any) -> None:
    scheduler.scale(2)
    with cluster.use_cluster(scheduler.scheduler_address):
        cluster._client.wait_for_workers(2, timeout=60)
        workers = cluster._client.run(os.getpid)
        killer = threading.Timer(0.5, os.kill, (next(iter(workers.values())), signal.SIGKILL))
        killer.start()
        done = list(cluster.map_on_cluster(slowly, ((n, n) for n in range(20)), 3))
        killer.join()
    assert done == [(n, n * 3) for n in range(20)]


def test_what_all_parts_share_is_not_lost_with_the_worker_that_had_it(tmp_path: Path) -> None:
    """There is one worker, which is started again."""
    with cluster.use_cluster("local:1"):
        done = list(
            cluster.map_on_cluster(dies_once, ((n, n) for n in range(4)), 3, tmp_path / "died")
        )
    assert done == [(n, n * 3) for n in range(4)]
    assert (tmp_path / "died").exists()


def dies_once(number: int, times: int, died: Path) -> int:
    if not died.exists():
        died.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number * times


def slowly(number: int, times: int) -> int:
    import time

    time.sleep(0.1)
    return number * times


def test_run_of_a_configuration(
    scheduler: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "assay.toml"
    file.write_text(
        f'[gold.g]\npath = "{DATASET}"\n[engines.bm25]\nengine = "bm25"\n'
        f'corpus = "{SAMPLES / "en" / "corpus.jsonl"}"\n[engines.random]\nengine = "random"\n'
        f'corpus = "{SAMPLES / "en" / "corpus.jsonl"}"\n'
    )
    made = []
    for name in ("here", "there"):
        monkeypatch.setenv("ASSAY_HOME", str(tmp_path / name))
        with cluster.use_cluster(scheduler.scheduler_address if name == "there" else ""):
            outcomes = run_all(read_config(file), file)
        assert not [outcome.error for outcome in outcomes if outcome.error]
        files = sorted((tmp_path / name / "results").glob("*.json"))
        made.append([without_times(each) for each in files])
    assert len(made[0]) == 2
    assert made[0] == made[1]


def test_perturbation(scheduler: Any, tmp_path: Path) -> None:
    source = SAMPLES / "fi" / "questions_golden.json"
    perturb_gold(source, tmp_path / "here.json", kinds=(), seed=3)
    with cluster.use_cluster(scheduler.scheduler_address):
        perturb_gold(source, tmp_path / "there.json", kinds=(), seed=3)
    here, there = (
        json.loads((tmp_path / f"{name}.json").read_text()) for name in ("here", "there")
    )
    assert len(json.dumps(here)) > 2 * len(source.read_text())
    assert json.dumps(here).replace("here", "") == json.dumps(there).replace("there", "")


def test_bootstrap(scheduler: Any, tmp_path: Path) -> None:
    at = datetime(2026, 5, 1, tzinfo=UTC)
    store = open_store(tmp_path / "logs.db")
    for number in range(40):
        query = f"question {number % 25}"
        shown = tuple(ShownResult(f"d{number % 7 + rank}", rank) for rank in (1, 2, 3))
        log = SearchLog(id=f"s{number}", at=at, query=query, corpus="c", results=shown)
        store.add_searches([log])
        feedback = Feedback(
            log_id=log.id, doc_id=f"d{number % 7 + 1}", kind="citation", relevance_score=3, at=at
        )
        store.add_feedback([feedback])
    made = []
    for name in ("here", "there"):
        with cluster.use_cluster(scheduler.scheduler_address if name == "there" else ""):
            path = tmp_path / name / "gold-set.jsonl"
            path.parent.mkdir()
            bootstrap(store, path, BootstrapOptions(), now=at)
            made.append(path.read_bytes())
    store.close()
    assert made[0].count(b"\n") >= 25
    assert made[0] == made[1]


@pytest.mark.parametrize(
    ("address", "said"),
    [("nowhere", "tcp://HOST:PORT"), ("tcp://127.0.0.1:9", "no workers at")],
)
def test_what_is_no_cluster_is_said(
    address: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed", reason="needs the package distributed")
    monkeypatch.setattr(cluster, "SECONDS", 1)
    with pytest.raises((InputError, EngineError), match=said), cluster.use_cluster(address):
        pass
    assert not cluster.is_on()


def test_two_processes_here(tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="needs the package distributed")
    with cluster.use_cluster("local:2"):
        assert cluster.even_parts(range(10)) != [range(10)]
        assert [answer for _, answer in cluster.map_on_cluster(abs, enumerate([-1, -2, -3]))] == [
            1,
            2,
            3,
        ]
    assert cluster.even_parts(range(10)) == [range(10)]


def test_processes_that_do_not_start_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed", reason="needs the package distributed")

    def dies(**options: Any) -> None:
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.setattr(distributed, "LocalCluster", dies)
    with (
        pytest.raises(EngineError, match="no workers at local:2: Nanny"),
        cluster.use_cluster("local:2"),
    ):
        pass


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"\[cluster\]"), cluster.use_cluster("local:2"):
        pass
