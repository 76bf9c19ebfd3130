"""The Python front door: examples of every docstring, what may be given, what is refused, and the
same numbers as the command line."""

from __future__ import annotations

import contextlib
import doctest
import functools
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import assay
from assay.api import verbs
from assay.core.results_file import to_json
from assay.workbench.scoring.score import ScoreRequest, score

RUN = {"q1": {"A": 2.0, "B": 1.0}, "q2": {"C": 1.0}}
GOLD = {"q1": {"B": 2, "A": 0}, "q2": {"C": 1}}
OBJECTS = [getattr(assay, name) for name in assay.__all__ if name != "__version__"]
METHODS = [
    (thing, name)
    for thing in OBJECTS
    if isinstance(thing, type) and thing.__module__.startswith("assay.api")
    for name in vars(thing)
]


# ── the surface ───────────────────────────────────────────────────────────────────────────────────


def test_dir_shows_the_public_names_alone() -> None:
    assert dir(assay) == sorted(assay.__all__)
    assert not {"annotations", "os", "importlib", "Any", "TYPE_CHECKING"} & set(dir(assay))


@pytest.mark.parametrize("name", verbs.__all__)
def test_names_of_earlier_versions_still_work(name: str) -> None:
    assert getattr(assay, name) is not None


def test_importing_loads_nothing_heavy() -> None:
    code = "import assay, sys; print(*{'polars', 'numpy', 'msgspec', 'rich'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def documented() -> dict[str, Any]:
    """Every public function and class, and their public methods."""
    found = {thing.__name__: thing for thing in OBJECTS if thing.__module__.startswith("assay.api")}
    for owner in [thing for thing in found.values() if isinstance(thing, type)]:
        for name in vars(owner):
            member = getattr(owner, name)
            if not name.startswith("_") and callable(member) and member.__doc__:
                found[f"{owner.__name__}.{name}"] = member
    return found


@pytest.mark.parametrize("name", documented())
def test_examples_in_docstrings_run(name: str, folder: Path) -> None:
    finder = doctest.DocTestFinder(recurse=False)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    printed: list[str] = []
    for test in finder.find(documented()[name], name, globs={"assay": assay}):
        runner.run(test, out=printed.append)
    assert not runner.failures, "".join(printed)


VERBS = (
    "backlog backlog_async check compare evaluate import_corpus load_gold load_run load_scores "
    "next_to_judge run"
)


@pytest.mark.parametrize("name", [*VERBS.split(), "open_corpus"])
def test_every_verb_has_an_example(name: str) -> None:
    assert ">>>" in getattr(assay, name).__doc__


def test_the_page_about_python_runs(folder: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "python.md").read_text()
    code = "\n".join(re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL))
    exec(compile(code, "docs/python.md", "exec"), {})


# ── what may be given ─────────────────────────────────────────────────────────────────────────────


def rows(table: dict[str, dict[str, Any]], value: str) -> list[dict[str, Any]]:
    return [
        {"qid": query, "docno": doc, value: number}
        for query, each in table.items()
        for doc, number in each.items()
    ]


def frames(kind: str) -> tuple[Any, Any]:
    run, gold = rows(RUN, "score"), rows(GOLD, "label")
    if kind == "rows":
        return run, gold
    if kind == "polars":
        return pl.DataFrame(run), pl.DataFrame(gold)
    if kind == "lazy":
        return pl.DataFrame(run).lazy(), pl.DataFrame(gold).lazy()
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(run), pandas.DataFrame(gold)


@pytest.mark.parametrize("kind", ["rows", "polars", "lazy", "pandas"])
def test_frames_give_the_numbers_of_dictionaries(kind: str) -> None:
    expected = dict(assay.evaluate(RUN, GOLD, ["nDCG@10", "RR(rel=2)"]))
    run, gold = frames(kind)
    assert dict(assay.evaluate(run, gold, ["nDCG@10", "RR(rel=2)"])) == expected
    objects = assay.Run.from_frame(run), assay.GoldSet.from_frame(gold)
    assert dict(assay.evaluate(*objects, ["nDCG@10", "RR(rel=2)"])) == expected
    mixed = assay.evaluate(run, GOLD, ["nDCG@10", "RR(rel=2)"])
    assert dict(mixed) == expected


def test_whole_grades_of_a_frame_with_gaps_are_grades() -> None:
    gold = pl.DataFrame({"query_id": [1, 1], "doc_id": ["A", "B"], "grade": [2.0, 0.0]})
    assert assay.evaluate({"1": ["A"]}, gold, ["P@1"])["P@1"] == 1.0


def test_a_list_of_ids_is_a_ranking() -> None:
    scores = assay.evaluate({"q1": ["B", "A"], "q2": ["C"]}, GOLD, ["RR"])
    assert scores["RR"] == 1.0


def test_everything_is_saved_and_read_again(folder: Path) -> None:
    gold, run = assay.load_gold("dataset.json"), assay.load_run(Path("bm25.trec"))
    again = assay.load_gold(gold.save(folder / "again.json"))
    assert again.judgments.equals(gold.judgments)
    with pytest.warns(UserWarning, match=r"again\.qrels: "):  # what qrels cannot hold
        again = assay.load_gold(gold.save(folder / "again.qrels"))
    assert again.judgments.height == gold.judgments.height
    scores = assay.evaluate(run, gold)
    assert dict(assay.evaluate(run.save("again.json"), gold)) == dict(scores)
    read = assay.load_scores(scores.save("scores.json"))
    assert dict(read) == dict(scores)
    assert read.interval("nDCG@10") == scores.interval("nDCG@10")
    assert read.to_frame().equals(scores.to_frame())
    for ending in (".html", ".md", ".csv", ".tex", ".xml"):
        assert scores.save(f"report{ending}").stat().st_size > 100
    with pytest.raises(assay.InputError, match="file extension sets the format"):
        scores.save("report.docx")


def test_judgments_in_a_file_are_spared(folder: Path) -> None:
    small = assay.GoldSet.from_dict({"q1": {"A": 1}}, queries={"q1": "gift limits"})
    with pytest.raises(assay.InputError, match="queries="):
        assay.GoldSet.from_dict({"q1": {"A": 1}}).save("bare.json")
    with pytest.raises(assay.InputError, match="replace=True"):
        small.save("dataset.json")
    assert assay.load_gold(small.save("dataset.json", replace=True)).query_ids == ["q1"]


# ── the same numbers as the command line ──────────────────────────────────────────────────────────


def figures(results: Any) -> dict[str, Any]:
    """A results file without when and where it was made."""
    written = to_json(results)
    for key in ("timestamp", "cache_key", "verdict", "baseline"):
        written.pop(key, None)
    for entry in written["per_query"]:
        entry.pop("latency_ms", None)
    latency = ("avg_latency_ms", "p50_latency_ms", "p95_latency_ms", "latency_ms")
    for key in latency:
        written["overall"].pop(key, None)
        written["intervals"]["overall"].pop(key, None)
    written["receipt"] = {
        key: written["receipt"][key] for key in ("measures", "counts", "gold", "unjudged_policy")
    }
    return json.loads(json.dumps(written, default=str))


@pytest.mark.parametrize("measures", [None, ["nDCG@10", "R@20", "RBP"]])
def test_graded_numbers_are_those_of_the_command(folder: Path, measures: list[str] | None) -> None:
    request = ScoreRequest(
        dataset=Path("dataset.json"), run=Path("bm25.trec"), measures=tuple(measures or ())
    )
    theirs = score(request).results
    for run in ("bm25.trec", assay.load_run("bm25.trec")):
        ours = assay.evaluate(run, "dataset.json", measures)
        assert figures(ours.results) == figures(theirs)
        for line in theirs.receipt.measures:
            assert ours[line.measure] == theirs.overall[line.key]


def test_a_live_engine_has_the_numbers_of_the_command(folder: Path) -> None:
    request = ScoreRequest(dataset=Path("dataset.json"), engine="bm25", corpus=Path("corpus.jsonl"))
    run = assay.run("bm25", "dataset.json", corpus="corpus.jsonl")
    ours = assay.evaluate(run, "dataset.json").results
    assert ours.overall == score(request).results.overall
    assert ours.receipt.corpus_fingerprint == score(request).results.receipt.corpus_fingerprint


def test_a_golden_set_is_scored_as_the_command_does(folder: Path) -> None:
    act = Path(__file__).parents[2] / "samples" / "fi" / "saaristokuntalaki.jsonl"
    assay.import_corpus(act, "act", kind="finlex").index(dense=False)
    theirs = score(ScoreRequest(dataset=Path("questions_golden.json"), engine="act")).results
    ours = assay.evaluate(assay.run("act", "questions_golden.json"), "questions_golden.json")
    assert ours["pass_rate_total"] == theirs.overall["pass_rate_total"]
    assert [entry.passed for entry in ours.results.per_query] == [
        entry.passed for entry in theirs.per_query
    ]
    assert assay.check(ours).status == theirs.verdict.status  # type: ignore[union-attr]
    assert set(ours.to_frame().columns) >= {"passed", "reason", "must"}
    assert "expected" in ours.explain(ours.results.per_query[0].query_id)
    by_id = assay.Run.from_dict({e.query_id: e.results for e in theirs.per_query})
    bare = assay.evaluate(by_id, "questions_golden.json", corpus="act")
    assert bare["pass_rate_total"] is not None
    with pytest.raises(assay.InputError, match="Leave measures out"):
        assay.evaluate(by_id, "questions_golden.json", ["nDCG@10"])


# ── deciding ──────────────────────────────────────────────────────────────────────────────────────


def test_two_and_three_engines_are_compared(folder: Path) -> None:
    a, b = (assay.evaluate(f"{name}.trec", "dataset.json") for name in ("random", "bm25"))
    two = assay.compare(a, b)
    assert two.verdict == "better"
    assert assay.compare(b, a).verdict == "worse"
    low, high = two.interval()
    assert low is not None
    assert high is not None
    assert low < two.difference() < high
    assert two.to_frame().height == len(two.found.differences)
    assert "bm25 is significantly better than random" in str(two)
    three = assay.compare(a, b, a)
    assert next(iter(three.verdicts.values())) == "better"
    assert ";" in three.verdict
    assert three.found.leaderboard is not None
    saved = assay.compare(a.save("a.json"), str(b.save("b.json")))
    assert saved.verdict == two.verdict


def test_gates_decide(folder: Path) -> None:
    scores = assay.evaluate("bm25.trec", "dataset.json")
    assert assay.check(scores, [assay.Gate("nDCG@10", minimum=0.05)])
    failed = assay.check(scores, [{"measure": "nDCG@10", "minimum": 0.999}])
    assert not failed
    assert failed.status == "fail"
    assert failed.messages
    worse = assay.evaluate("random.trec", "dataset.json")
    dropped = assay.check(worse, [assay.Gate("nDCG@10", max_drop=0.01)], baseline=scores)
    assert dropped.status == "fail"


# ── engines ───────────────────────────────────────────────────────────────────────────────────────


def test_engines_of_every_kind_are_asked(folder: Path) -> None:
    class Mine:
        def search(self, query: str, top_k: int = 20) -> list[str]:
            return ["A", "B", "C"][:top_k]

    Path("my_own_engine.py").write_text("def search(query, top_k=20):\n    return ['A']\n")
    asked = {"q1": "gift limits"}
    assert assay.run(Mine(), asked, 2).doc_ids("q1") == ["A", "B"]
    assert assay.run(lambda query: ["B"], asked).doc_ids("q1") == ["B"]
    assert assay.run("my_own_engine.py", asked).doc_ids("q1") == ["A"]
    assert assay.run("my_own_engine", asked).doc_ids("q1") == ["A"]
    corpus = assay.open_corpus("letters")
    found = assay.run(corpus, {"q1": "concert tickets"})
    assert found.doc_ids("q1")[0] == "A"
    assert assay.run("letters", ["concert tickets"]).doc_ids("q001")[0] == "A"


def test_a_corpus_says_when_nothing_answers(folder: Path) -> None:
    corpus = assay.open_corpus("letters")
    assert corpus.search("concert tickets")[0].doc_id == "A"
    assert "A" in repr(corpus.search("concert tickets"))
    assert [document.id for document in corpus] == ["A", "B"]


# ── what is refused, in a sentence ────────────────────────────────────────────────────────────────

gold = assay.GoldSet.from_dict(GOLD)
run = assay.Run.from_dict(RUN)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: assay.evaluate(RUN, GOLD, "nDCG@10"), 'measures=["nDCG@10"]'),
        (lambda: assay.evaluate(RUN, GOLD, []), "measures is empty"),
        (lambda: assay.evaluate(RUN, GOLD, 10), "list of names"),
        (lambda: assay.evaluate(RUN, GOLD, ["nDGC@10"]), "unknown measure 'nDGC@10'"),
        (lambda: assay.evaluate(gold, run), "a gold set was given as the run"),
        (lambda: assay.evaluate(RUN, run), "a run was given as the gold set"),
        (lambda: assay.evaluate(GOLD, {"q1": {"A": 2.5}}), "give it first"),
        (lambda: assay.evaluate(RUN, {"q1": {"A": 0.5}}), "not a whole number"),
        (lambda: assay.evaluate(RUN, {"q1": {"A": "high"}}), "the grade is the text 'high'"),
        (lambda: assay.evaluate(RUN, {"q1": ["A"]}), "the grades are of type list"),
        (lambda: assay.evaluate({}, GOLD), "the run is empty"),
        (lambda: assay.evaluate([], GOLD), "a run is"),
        (lambda: assay.evaluate(None, GOLD), "a run is not None"),
        (lambda: assay.evaluate(RUN, {}), "the gold set is empty"),
        (lambda: assay.evaluate(RUN, None), "a gold set is not None"),
        (lambda: assay.evaluate({"x": {"A": 1.0}}, GOLD), "none of the gold set's queries"),
        (lambda: assay.evaluate({"q1": {"A": float("nan")}}, GOLD), "NaN"),
        (lambda: assay.evaluate({"q1": {"A": "1"}}, GOLD), "the score is the text '1'"),
        (lambda: assay.evaluate({"q1": "A"}, GOLD), "the hits are the text 'A'"),
        (lambda: assay.evaluate("no.trec", GOLD), "no such file"),
        (lambda: assay.evaluate(pl.DataFrame({"a": [1]}), GOLD), "no column for the query"),
        (lambda: assay.evaluate(pl.DataFrame({"qid": ["1"]}), GOLD), "no column for the document"),
        (lambda: assay.Run.from_frame(pl.DataFrame({"qid": [], "docno": []})), "empty"),
        (lambda: assay.GoldSet.from_frame(rows(RUN, "x")), "no column for the grade"),
        (lambda: assay.load_gold(GOLD), "load_gold reads a file"),  # type: ignore[arg-type]
        (lambda: assay.run("no-such-engine", {"q": "x"}), "there is no engine 'no-such-engine'"),
        (lambda: assay.run("bm25", {"q": "x"}), 'corpus="corpus.jsonl"'),
        (lambda: assay.run(dict, {"q": "x"}), "is a class"),
        (lambda: assay.evaluate("dataset.json", "bm25.trec"), "The run comes first"),
        (lambda: assay.open_corpus("letters").search("x", colour="red"), "no filter 'colour'"),
        (lambda: assay.run(3, {"q": "x"}), "cannot be searched"),
        (lambda: assay.run(lambda q: [], gold), "has no text to ask"),
        (lambda: assay.run(lambda q: [], {"q": "x"}, 0), "top_k must be a whole number"),
        (lambda: assay.compare(run, run), "was given a run"),
        (lambda: assay.compare(RUN, RUN), "was given a dict"),
        (lambda: assay.check(assay.evaluate(RUN, GOLD), []), "there are no gates"),
        (lambda: assay.check(assay.evaluate(RUN, GOLD), [{"measur": "x"}]), "not a gate"),
        (lambda: assay.evaluate(RUN, GOLD)["P@7"], "they have|They have"),
        (lambda: assay.evaluate(RUN, GOLD).explain("q9"), "no query 'q9'"),
        (lambda: assay.next_to_judge(assay.evaluate(RUN, GOLD)), "nothing to decide"),
        (lambda: assay.open_corpus("nowhere"), "no corpus 'nowhere'"),
        (lambda: assay.import_corpus("folder", "x"), "no such file or folder"),
        (lambda: assay.import_corpus(_folder_of_images(), "x"), "cannot tell what kind"),
        (lambda: assay.import_corpus([{"text": "x"}], "x"), "has no id"),
    ],
)
def test_mistakes_get_a_sentence(folder: Path, call: Any, said: str) -> None:
    with pytest.raises(assay.AssayError, match=said.replace("[", r"\[")) as told:
        call()
    assert "polars" not in str(told.value).lower().replace("pandas or polars", "")


def _folder_of_images() -> str:
    Path("images").mkdir()
    Path("images/scan.tiff").write_bytes(b"II*")
    return "images"


def test_whatever_is_given_the_error_is_ours(folder: Path) -> None:
    """Every junk in every place: it works, or an error of ours says why not."""
    junk: list[Any] = [None, 0, 1.5, "x", b"x", [], {}, set(), object(), [1], ["a"], [{}]]
    junk += [{"q": value} for value in (None, 1, "d", ["d"], {"d": None}, {"d": "1"}, {}, [3])]
    junk += [{"q": {"d": value}} for value in (1, 1.5, float("inf"), True, 10**30, -1)]
    junk += [{None: {None: 1}}, {1: {2: 3}}, pl.DataFrame(), pl.Series([1]), lambda query: []]
    junk += [pl.LazyFrame({"qid": ["1"]}).select("nope"), pl.scan_csv("nope.csv"), gold, run]
    junk += [pl.DataFrame({"qid": [None], "docno": ["2"], "score": [1.0], "label": [10**12]})]
    calls = [functools.partial(assay.evaluate, one, other) for one in junk for other in junk]
    for each in junk:
        calls += [functools.partial(make, each) for make in (assay.Run.from_dict, assay.load_run)]
        calls += [functools.partial(make, each) for make in (assay.load_gold, assay.load_scores)]
        calls += [
            functools.partial(assay.Run.from_frame, each),
            functools.partial(assay.check, each),
        ]
        calls += [functools.partial(assay.GoldSet.from_frame, each)]
        calls += [functools.partial(assay.compare, each, each)]
        calls += [functools.partial(assay.run, each, {"q": "x"})]
        calls += [functools.partial(assay.run, lambda query: ["d"], each)]
    worked = 0
    for call in calls:
        with contextlib.suppress(assay.AssayError):
            call()
            worked += 1
    assert 0 < worked < len(calls) / 4


# ── what a notebook shows ─────────────────────────────────────────────────────────────────────────


def test_what_is_shown_is_short_and_escaped(folder: Path) -> None:
    evil = "<script>alert(1)</script>"
    bad_gold = assay.GoldSet.from_dict({evil: {evil: 1}}, queries={evil: evil})
    bad_run = assay.Run.from_dict({evil: [evil]}, engine=evil)
    scores = assay.evaluate(bad_run, bad_gold, ["P@1"])
    pages = [bad_gold, bad_run, scores, scores.plot(), scores.explain(evil)]
    pages += [assay.compare(scores, scores), assay.check(scores, [assay.Gate("P@1", minimum=0.1)])]
    for page in pages:
        shown = page._repr_html_()
        assert "<script" not in shown
        assert len(shown) < 6000
        assert len(repr(page)) < 700
    assert scores.plot().svg.startswith("<svg")
    assert "var(" not in scores.plot().svg
