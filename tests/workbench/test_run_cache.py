"""`assay run` runs a pair again when anything behind its figures changed, wherever the
configuration lies."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kit.commands import Assay
from kit.files import write_json_lines

DOCUMENTS = [
    {"id": "a", "title": "Gifts", "text": "The limit on gifts to officials."},
    {"id": "b", "title": "Lobbying", "text": "Who must register as a lobbyist."},
]


def _set_up(folder: Path, engine: str) -> None:
    folder.mkdir()
    gold = {"id": "g1", "query": "gift limit", "relevant_case_law_ids": ["a"], "source": "chair"}
    write_json_lines(folder / "gold-set.jsonl", gold)
    (folder / "mine.py").write_text("def search(query, top_k):\n    return ['a']\n")
    (folder / "assay.toml").write_text(
        f'[gold.s]\npath = "gold-set.jsonl"\n[engines.e]\n{engine}\n'
    )


def _import(assay_cli: Assay, tmp_path: Path, *, documents: int) -> None:
    write_json_lines(tmp_path / "docs.jsonl", *DOCUMENTS[:documents])
    assert assay_cli("corpus", "import", "jsonl", "docs.jsonl", "--name", "c").code == 0


@pytest.mark.parametrize("engine", ['engine = "c"', 'engine = "bm25"\ncorpus = "c"'])
def test_a_corpus_imported_again(assay_cli: Assay, tmp_path: Path, engine: str) -> None:
    _set_up(tmp_path / "eval", engine)
    _import(assay_cli, tmp_path, documents=2)
    states = [_state(assay_cli), _state(assay_cli)]
    _import(assay_cli, tmp_path, documents=1)
    assert [*states, _state(assay_cli)] == ["scored", "unchanged", "scored"]


def test_an_index_built_again(assay_cli: Assay, tmp_path: Path) -> None:
    _set_up(tmp_path / "eval", 'engine = "c"')
    _import(assay_cli, tmp_path, documents=2)
    states = [_state(assay_cli), _state(assay_cli)]
    index = assay_cli("index", "c", "--no-dense")
    assert index.code == 0, index.out
    assert [*states, _state(assay_cli), _state(assay_cli)] == ["scored", "unchanged"] * 2


def test_a_corpus_that_is_not_here_is_named_with_its_places(
    assay_cli: Assay, tmp_path: Path
) -> None:
    _set_up(tmp_path / "eval", 'engine = "bm25"\ncorpus = "c"')
    missing = assay_cli("run", "--config", "eval/assay.toml")
    places = (
        f"no corpus 'c' in the workspace {tmp_path / 'eval' / '.assay'}, and no file or folder "
        f"{tmp_path / 'eval' / 'c'}"
    )
    assert (missing.code, places in " ".join(missing.out.split())) == (2, True), missing.out


def test_a_corpus_frozen_again(assay_cli: Assay, tmp_path: Path) -> None:
    _set_up(tmp_path / "eval", 'engine = "c.assay"')
    states = []
    for documents in (2, 1):
        _import(assay_cli, tmp_path, documents=documents)
        assert assay_cli("corpus", "freeze", "c", "eval/c.assay").code == 0
        states += [_state(assay_cli), _state(assay_cli)]
    assert states == ["scored", "unchanged"] * 2


def test_a_module_beside_a_configuration_elsewhere(assay_cli: Assay, tmp_path: Path) -> None:
    _set_up(tmp_path / "eval", 'search_module = "mine"')
    states = []
    for answer in ("a", "b"):
        (tmp_path / "eval" / "mine.py").write_text(
            f"def search(query, top_k):\n    return ['{answer}']\n"
        )
        states += [_state(assay_cli), _state(assay_cli)]
    assert states == ["scored", "unchanged"] * 2


def test_an_engine_that_hangs_is_stopped_and_named(assay_cli: Assay, tmp_path: Path) -> None:
    _set_up(
        tmp_path / "eval",
        'search_module = "hangs"\ntimeout = 3\n[engines.good]\nsearch_module = "mine"',
    )
    (tmp_path / "eval" / "hangs.py").write_text(
        "import time\ndef search(query, top_k):\n    time.sleep(600)\n"
    )
    found = assay_cli("run", "--config", "eval/assay.toml")
    assert found.code == 4
    assert "e: the engine was not done after 3 s" in found.out
    assert "good on s: scored" in found.err


ENDS = {
    "exits": "os._exit(3)",
    "killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "aborts": "os.abort()",
    "reads": "ctypes.string_at(0)",
}


def test_engines_that_end_their_process_are_named_and_the_others_are_scored(
    assay_cli: Assay, tmp_path: Path
) -> None:
    tables = "".join(f'[engines.{name}]\nsearch_module = "{name}"\n' for name in ENDS)
    _set_up(tmp_path / "eval", f'search_module = "mine"\n{tables}')
    for name, end in ENDS.items():
        (tmp_path / "eval" / f"{name}.py").write_text(
            f"import ctypes, os, signal\ndef search(query, top_k):\n    {end}\n"
        )
    run = assay_cli("run", "--config", "eval/assay.toml")
    assert run.code == 4
    for name in ENDS:
        said = f"{name}: the engine ended its process: it crashed, exited"
        assert said in " ".join(run.out.split())
    assert "e on s: scored" in run.err


def test_what_an_engine_prints_is_no_part_of_the_answer(tmp_path: Path) -> None:
    _set_up(tmp_path / "eval", 'search_module = "mine"')
    (tmp_path / "eval" / "mine.py").write_text(
        "print('loading')\ndef search(query, top_k):\n    print('searching')\n    return ['a']\n"
    )
    command = [sys.executable, "-m", "assay", "run", "--config", "eval/assay.toml"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "searching" not in run.stdout
    assert {"loading", "searching"} <= set(run.stderr.splitlines())


def test_an_interrupted_run_keeps_what_was_scored_and_leaves_no_process(tmp_path: Path) -> None:
    _set_up(tmp_path / "eval", 'search_module = "hangs"\n[engines.good]\nsearch_module = "mine"')
    (tmp_path / "eval" / "hangs.py").write_text(
        "import os, pathlib, time\ndef search(query, top_k):\n"
        "    pathlib.Path('pid').write_text(str(os.getpid()))\n    time.sleep(600)\n"
    )
    command = [sys.executable, "-m", "assay", "run", "--config", "eval/assay.toml"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as running:
        _until(
            lambda: (
                (tmp_path / "eval/.assay/results/s--good.json").exists()
                and (tmp_path / "eval/pid").exists()
            )
        )
        running.send_signal(signal.SIGINT)
        said = running.communicate(timeout=30)[1]
    assert (running.returncode, "Traceback" in said) == (130, False)
    assert "interrupted; what was scored is kept" in said
    worker = int((tmp_path / "eval/pid").read_text())
    _until(lambda: not Path(f"/proc/{worker}").exists())


def _until(holds: Callable[[], bool]) -> None:
    limit = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < limit
        time.sleep(0.1)


def test_a_gate_that_cannot_be_is_an_error_of_the_file(assay_cli: Assay, tmp_path: Path) -> None:
    gate = '[[gates]]\nmeasure = "nDCG@7"\nminimum = 0.5'
    _set_up(tmp_path / "eval", f'search_module = "mine"\n{gate}')
    found = assay_cli("run", "--config", "eval/assay.toml")
    said = "eval/assay.toml: gates[0]: gate on nDCG@7: s is not scored by it"
    assert (found.code, said in found.err) == (2, True), found.err
    assert "e on s" not in found.err  # nothing is run for it


def _state(assay_cli: Assay) -> str:
    found = assay_cli("run", "--config", "eval/assay.toml")
    assert found.code == 0, found.err
    return next(
        line for line in found.err.splitlines() if line.startswith("e on s: ")
    ).removeprefix("e on s: ")
