"""`assay logs`: files in, feedback and forgetting."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.corpus.build import import_corpus
from assay.store import Store
from assay.telemetry.recorder import Recorder, Recording
from assay.workbench.judging.gold_sets import bootstrap_gold
from assay.workbench.project.logs import import_decisions, import_searches, purge
from assay.workbench.project.service import Service
from assay.workbench.searching.corpora import document
from kit import write_json_lines

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)
SAMPLES = Path(__file__).parents[2] / "samples"


@pytest.fixture
def service(store: Store, tmp_path: Path) -> Service:
    return Service(store=store, home=tmp_path / "home", clock=lambda: NOW)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    import_corpus(
        "jsonl", SAMPLES / "he" / "precedents.jsonl", name="precedent_library", home=folder
    )
    return folder


def test_from_files_to_gold(service: Service, tmp_path: Path) -> None:
    """A team with a log and its decisions in files."""
    log = write_json_lines(
        tmp_path / "log.jsonl",
        {
            "id": "1",
            "at": "2026-05-01T10:00:00Z",
            "query": "levy of 123456782",
            "results": ["a", "b"],
            "corpus": "c",
        },
        {
            "id": "2",
            "at": "2026-05-02",
            "query": "Levy of 123456782!",
            "results": [{"doc_id": "b", "score": 1}],
        },
    )
    assert import_searches(service, log, redactions=["israeli-id"]).new == 2
    assert import_searches(service, log, redactions=["israeli-id"]).new == 0
    unnamed = write_json_lines(
        tmp_path / "more.jsonl", {"at": "2026-05-02T10:00:00Z", "query": "no id"}
    )
    assert (import_searches(service, unnamed).new, import_searches(service, unnamed).new) == (1, 0)
    done = import_decisions(
        service,
        write_json_lines(tmp_path / "d.jsonl", {"id": "D", "at": "2026-05-03", "cites": ["b"]}),
    )
    assert (done.read, done.feedback) == (1, 2)
    made = bootstrap_gold(service, tmp_path / "gold-set.jsonl")
    assert made.added == 2, "the same query on another corpus is another row"
    assert "levy of [id]" in (tmp_path / "gold-set.jsonl").read_text()


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"query": 1}, "log.jsonl:1: Expected `str`"),
        ({"query": "q", "at": "x"}, "not a date"),
        ({"query": "q", "at": "2026-01-01", "results": [1]}, "log.jsonl:1: no document id"),
        ({"query": "q"}, "log.jsonl:1: a logged search needs a time"),
    ],
)
def test_a_bad_line_is_named(service: Service, tmp_path: Path, row: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        import_searches(service, write_json_lines(tmp_path / "log.jsonl", row))


def test_what_an_error_quotes_is_redacted_too(service: Service, tmp_path: Path) -> None:
    row = {"id": "1", "at": "2026-05-01", "query": "q", "error": "timeout on ת.ז. 123456782"}
    import_searches(
        service, write_json_lines(tmp_path / "log.jsonl", row), redactions=["israeli-id"]
    )
    assert service.store.searches(["1"])[0].error == "timeout on ת.ז. [id]"


def test_a_bad_line_far_down_leaves_nothing_behind(service: Service, tmp_path: Path) -> None:
    good = [{"id": str(n), "at": "2026-05-01", "query": "q"} for n in range(2500)]
    with pytest.raises(InputError, match=r"log.jsonl:2501: a logged search needs a time"):
        import_searches(service, write_json_lines(tmp_path / "log.jsonl", *good, {"query": "q"}))
    assert service.store.searches(["0"]) == []


@pytest.mark.parametrize("days", [-1.0, float("nan"), float("inf"), 1e7, 1e12])
def test_an_age_that_cannot_be(service: Service, tmp_path: Path, days: float) -> None:
    with pytest.raises(InputError, match="not an age in days"):
        purge(service, older_than_days=days)
    with pytest.raises(InputError, match="not an age in days"):
        bootstrap_gold(service, tmp_path / "gold-set.jsonl", recent_days=days)
    with pytest.raises(InputError, match="not an age in days"):
        Recorder(lambda: service.store, Recording(retention_days=days))


def test_citations_in_the_text_of_a_decision(store: Store, home: Path, tmp_path: Path) -> None:
    """The citation is parsed and resolved by the citation code; what names no document is
    counted."""
    service = Service(store=store, home=home)
    cited = "dac54e22-39d0-5200-b773-3959fdaba245"
    import_searches(
        service,
        write_json_lines(
            tmp_path / "log.jsonl",
            {"at": "2026-05-01", "query": "מועד קובע", "results": ["x", cited]},
        ),
    )
    text = "כפי שנפסק בערר 8011/19, וראו גם ערר 9999/99."
    path = write_json_lines(tmp_path / "d.jsonl", {"id": "D", "at": "2026-05-03", "text": text})
    done = import_decisions(service, path, corpora=["precedent_library"])
    assert (done.feedback, done.unresolved) == (1, 1)
    assert [(row.doc_id, row.rank, row.decision_id) for row in store.feedback()] == [
        (cited, 2, "D")
    ]
    assert document(service, "precedent_library", cited).title.startswith("המועד הקובע")
    with pytest.raises(InputError, match=r"d.jsonl:1: .*no corpus to resolve"):
        import_decisions(service, path)


def test_retention_is_recorded(service: Service, tmp_path: Path) -> None:
    import_searches(
        service,
        write_json_lines(
            tmp_path / "log.jsonl",
            {"at": "2026-01-01", "query": "old"},
            {"at": "2026-05-30", "query": "new"},
        ),
    )
    assert purge(service, older_than_days=30).searches == 1
    assert [(entry.action, entry.reason) for entry in service.store.audit()] == [
        ("logs.purged", "older than 30 days")
    ]
    with pytest.raises(InputError, match="not an age in days"):
        purge(service, older_than_days=-1)


@pytest.mark.parametrize(
    "row", [{"id": "x" * 501}, {"corpus": "x" * 501}, {"results": ["a", "x" * 501]}]
)
def test_a_name_that_no_index_takes_is_told_with_its_line(
    service: Service, tmp_path: Path, row: dict[str, object]
) -> None:
    good = {"at": "2026-05-01", "query": "levy"}
    log = write_json_lines(tmp_path / "log.jsonl", good, {**good, **row})
    [name] = row
    named = "doc_id" if name == "results" else name
    with pytest.raises(InputError, match=f"{named} has 501 characters, at most 500") as said:
        import_searches(service, log)
    assert said.value.where == f"{log}:2"
    assert service.store.health().rows["search_logs"] == 0
