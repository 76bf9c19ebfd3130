"""A backup comes back as it was, whole or not at all, and over nothing."""

from __future__ import annotations

import functools
import hashlib
import json
import random
import sqlite3
import threading
import zipfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from assay.core.errors import InputError
from assay.formats import votes_jsonl
from assay.formats.gold_jsonl import locked, read_lines, rows
from assay.formats.votes_jsonl import votes_path
from assay.review import one_step, rulings
from assay.review.intents import interrupted
from assay.review.rulings import Word
from assay.store import open_store
from assay.store.records import Decision, Ruling, SearchLog, Shown
from assay.workbench import backup as verbs
from assay.workbench import opening
from assay.workbench.backup_names import brought_back, is_carried
from assay.workbench.gold import bootstrap_gold, promote_rows
from assay.workbench.opening import open_service
from assay.workbench.review_queue import fill_queue
from command_line import Assay

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)
DAY = timedelta(days=1)
Patch = pytest.MonkeyPatch


SQLITE = pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)


@pytest.fixture
def project(store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, str]:
    """A project with a log, an approved row with its votes, a corpus and an account."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("ASSAY_HOME", raising=False)
    store = store_url if "://" in store_url else ""
    if store:
        monkeypatch.setenv("ASSAY_STORE", store)
    else:
        monkeypatch.delenv("ASSAY_STORE", raising=False)
    with open_service(store) as service:
        shown = (Shown("א", 1, 0.5), Shown("b\\\t", 2))
        service.store.add_searches(
            [
                SearchLog(id="l1", at=NOW, query='היטל "השבחה"\n\\N', results=shown),
                SearchLog(id="l2", at=NOW, query="levy", results=shown),
            ]
        )
        service.store.add_decisions([Decision(id="D", at=NOW + DAY, cites=("א",))])
        gold = Path("data/eval/gold-set.jsonl")
        gold.parent.mkdir(parents=True)
        bootstrap_gold(service, gold)
        promote_rows(service, gold, ["g001"], by="דפנה")
    (folder / ".assay/corpora/c").mkdir(parents=True)
    (folder / ".assay/corpora/c/corpus.json").write_text("{}")
    (folder / ".assay/indexes/c").mkdir(parents=True)
    (folder / ".assay/indexes/c/x.npy").write_bytes(bytes(100))
    return folder, store


def kept(address: str) -> dict[str, object]:
    store = open_store(address, create=False)
    try:
        return {
            "health": store.health().rows,
            "searches": store.searches(["l1", "l2"]),
            "feedback": store.feedback(),
            "items": store.review_items(limit=100),
            "votes": store.votes("gold-set"),
            "audit": store.audit(limit=100),
            "names": store.gold_identities(),
        }
    finally:
        store.close()


def empty_database(address: str) -> str:
    """A second database on the same server."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS restored")
        connection.execute("CREATE DATABASE restored")
    return address.replace(address.partition("?")[0].rpartition("/")[2], "restored", 1)


@pytest.mark.parametrize("store_url", ["sqlite", "postgresql"], indirect=True)
def test_the_round_trip(
    project: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, store = project
    before = kept(store or ".assay/assay.db")
    whole = verbs.make_backup(tmp_path / "b.zip")
    assert whole.gold == ["gold-set"]
    assert (tmp_path / "b.zip").stat().st_mode & 0o777 == 0o600
    there = tmp_path / "there"
    target = empty_database(store) if store else ""
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    verbs.restore_backup(tmp_path / "b.zip", there, store=target)
    if store:  # known by its full path, which is the one where it came back
        before["names"] = {str(there / "data/eval/gold-set.jsonl"): "gold-set"}
    assert kept(target or str(there / ".assay/assay.db")) == before
    for name in ("data/eval/gold-set.jsonl", "data/eval/gold-set.votes.jsonl"):
        assert (there / name).read_bytes() == (folder / name).read_bytes()
    for name in ("corpora/c/corpus.json", "indexes/c/x.npy"):
        assert (there / ".assay" / name).read_bytes() == (folder / ".assay" / name).read_bytes()
    if not store:
        assert (there / ".assay/assay.db").stat().st_mode & 0o777 == 0o600
    again = empty_database(store) if store else ""
    with pytest.raises(InputError, match="something already"):
        verbs.restore_backup(tmp_path / "b.zip", there, store=again)
    if store:  # a database that has a store is not written either
        with pytest.raises(InputError, match="a store already"):
            verbs.restore_backup(tmp_path / "b.zip", tmp_path / "third", store=store)
        assert not (tmp_path / "third").exists() or not list((tmp_path / "third").iterdir())


@SQLITE
def test_indexes_can_be_left_out(project: tuple[Path, str], tmp_path: Path) -> None:
    whole = verbs.make_backup(tmp_path / "b.zip", indexes=False)
    assert not [name for name in whole.parts if "indexes" in name]
    assert "workspace/corpora/c/corpus.json" in whole.parts


@SQLITE
def test_nothing_is_written_over(project: tuple[Path, str], tmp_path: Path) -> None:
    (tmp_path / "b.zip").write_text("mine")
    with pytest.raises(InputError, match="a file already"):
        verbs.make_backup(tmp_path / "b.zip")
    assert (tmp_path / "b.zip").read_text() == "mine"
    verbs.make_backup(tmp_path / "c.zip")
    there = tmp_path / "there"
    (there / "data/eval").mkdir(parents=True)
    (there / "data/eval/gold-set.jsonl").write_text("theirs")
    with pytest.raises(InputError, match="something already"):
        verbs.restore_backup(tmp_path / "c.zip", there)
    assert [path.name for path in there.rglob("*") if path.is_file()] == ["gold-set.jsonl"]


def rewritten(source: Path, target: Path, change: Callable[[str, bytes], bytes | None]) -> Path:
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            content = change(name, old.read(name))
            if content is not None:
                new.writestr(name, content)
    return target


@SQLITE
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda name, raw: raw[:-1] if "votes" in name else raw, "not what was backed up"),
        (lambda name, raw: None if "votes" in name else raw, "cannot be read"),
        (lambda name, raw: None if name == "backup.json" else raw, "not a backup"),
        (lambda name, raw: b"[]" if name == "backup.json" else raw, "not a backup"),
        (
            lambda name, raw: (
                raw.replace(b'"project/data', b'"project/../data') if name == "backup.json" else raw
            ),
            "it names",
        ),
        (
            lambda name, raw: (
                raw.replace(b'"format": 1', b'"format": 2') if name == "backup.json" else raw
            ),
            "newer Assay",
        ),
        (
            lambda name, raw: (
                raw.replace(b'"schema": "0', b'"schema": "9') if name == "backup.json" else raw
            ),
            "newer than this Assay",
        ),
    ],
)
def test_a_damaged_backup_leaves_nothing_behind(
    project: tuple[Path, str],
    tmp_path: Path,
    change: Callable[[str, bytes], bytes | None],
    said: str,
) -> None:
    verbs.make_backup(tmp_path / "b.zip")
    bad = rewritten(tmp_path / "b.zip", tmp_path / "bad.zip", change)
    with pytest.raises(InputError, match=said):
        verbs.restore_backup(bad, tmp_path / "there")
    assert not [path for path in (tmp_path / "there").rglob("*") if path.is_file()]


def damaged(source: Path, target: Path, change: Callable[[bytearray], None]) -> Path:
    raw = bytearray(source.read_bytes())
    change(raw)
    target.write_bytes(raw)
    return target


def encrypt(raw: bytearray) -> None:
    raw[raw.find(b"PK\x03\x04") + 6] |= 1
    raw[raw.find(b"PK\x01\x02") + 8] |= 1


def garble(raw: bytearray) -> None:
    """Within what is packed: no block of deflate begins with these bits."""
    start = raw.find(b"PK\x03\x04") + 100
    raw[start : start + 20] = b"\xff" * 20


def test_a_damaged_file_is_refused_in_a_sentence(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f'{{"id":"g{n}","query":"q{n}","source":"chair"}}\n' for n in range(50))
    Path("gold.jsonl").write_text(rows)
    good = tmp_path / "b.zip"
    verbs.make_backup(good, gold=[Path("gold.jsonl")])
    deep = b'{"format":1,"parts":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    bad = [damaged(good, tmp_path / "encrypted.zip", encrypt)]
    bad.append(damaged(good, tmp_path / "garbled.zip", garble))
    bad.append(rewritten(good, tmp_path / "d.zip", lambda n, raw: deep if "backup" in n else raw))
    size = good.stat().st_size
    dice = random.Random(3)
    for number in range(60):
        place, bits = dice.randrange(size), dice.randrange(1, 256)
        flip = functools.partial(_flip, place=place, bits=bits)
        bad.append(damaged(good, tmp_path / f"{number}.zip", flip))
    for path in bad:
        there = tmp_path / f"of-{path.stem}"
        try:
            verbs.restore_backup(path, there)
        except InputError:
            assert not there.exists()
        else:  # a date in the archive, or the like: what comes back is what it was
            assert (there / "gold.jsonl").read_text() == rows
            assert path.stem not in ("encrypted", "garbled", "d")


def _flip(raw: bytearray, *, place: int, bits: int) -> None:
    raw[place] ^= bits


@SQLITE
def test_a_store_that_is_none_is_not_put_in_place(
    project: tuple[Path, str], tmp_path: Path
) -> None:
    verbs.make_backup(tmp_path / "b.zip")
    for name, content in (("store/assay.db", b"garbage" * 1000), ("store/assay.db", b"")):
        with zipfile.ZipFile(tmp_path / "b.zip") as old:
            whole = msgspec.json.decode(old.read("backup.json"))
        digest = hashlib.sha256(content).hexdigest()
        whole["parts"][name] = {"size": len(content), "sha256": digest}
        new = {name: content, "backup.json": msgspec.json.encode(whole)}
        bad = rewritten(tmp_path / "b.zip", tmp_path / "bad.zip", new.get)
        with pytest.raises(InputError, match="database in it is damaged"):
            verbs.restore_backup(bad, tmp_path / "there")
        assert not (tmp_path / "there").exists()


def test_all_that_the_configuration_names_is_in_it(tmp_path: Path, monkeypatch: Patch) -> None:
    """Also where nobody has made a store."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_HOME", raising=False)
    Path("assay.toml").write_text(
        '[gold.a]\npath = "eval/a.qrels"\nbaseline = "kept/then.json"\n'
        '[gold.b]\npath = "eval/b"\n[gold.c]\npath = "eval/c.json"\n'
        '[engines.then]\nrun = "runs/x.trec"\n'
        '[engines.mine]\nsearch_module = "mine.py"\n'
        '[engines.bm25]\nengine = "bm25"\ncorpus = "docs.jsonl"\n'
    )
    held = (
        "eval/a.qrels eval/a.topics.tsv eval/a.votes.jsonl eval/a.pool.json eval/a.policy.json "
        "eval/a.receipts.jsonl kept/then.json eval/b/queries.jsonl eval/b/qrels/test.tsv "
        "eval/b.votes.jsonl eval/rubrics/own.toml runs/x.trec docs.jsonl"
    ).split()
    for name in (*held, "mine.py"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(f"what {name} says")
    whole = verbs.make_backup(tmp_path / "b.zip")
    assert whole.gold == ["a", "b"]
    gone = str(tmp_path / "eval/c.json")
    assert whole.left_out == [f"{gone} (not there)", str(tmp_path / "mine.py")]
    verbs.restore_backup(tmp_path / "b.zip", tmp_path / "there")
    back = tmp_path / "there"
    found = {str(file.relative_to(back)) for file in back.rglob("*") if file.is_file()}
    assert found == {"assay.toml", *held}
    assert all((back / name).read_text() == f"what {name} says" for name in held)


def with_more(source: Path, target: Path, name: str, content: bytes) -> Path:
    """The backup with one more file, and a manifest that says so."""
    with zipfile.ZipFile(source) as old:
        whole = msgspec.json.decode(old.read("backup.json"))
    digest = hashlib.sha256(content).hexdigest()
    whole["parts"][name] = {"size": len(content), "sha256": digest}
    rewritten(source, target, lambda part, raw: None if part == "backup.json" else raw)
    with zipfile.ZipFile(target, "a") as new:
        new.writestr(name, content)
        new.writestr("backup.json", msgspec.json.encode(whole))
    return target


@pytest.mark.parametrize(
    "name",
    [
        "project/.git/config",
        "project/.GIT/hooks/pre-commit",
        "project/sub/.github/x.json",
        "project/conftest.py",
        "project/gold.PY",
        "project/Makefile",
        "project/pyproject.toml",
        "project/.assay/assay.db",
        "project/C:\\evil.json",
        "project/C:evil.json",
        "project/a\\..\\b.json",
        "project/NUL.json",
        "project/com1.txt",
        "project/x.json.",
        "project/\u200c.git/x.json",
        "workspace/site.pth",
        "outside/.ssh/config",
        "project/",
    ],
)
def test_only_data_is_brought_back(name: str, tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gold.jsonl").write_text('{"id":"g1","query":"q","source":"chair"}\n')
    verbs.make_backup(tmp_path / "b.zip", gold=[Path("gold.jsonl")])
    more = with_more(tmp_path / "b.zip", tmp_path / "m.zip", "project/notes.json", b"{}")
    assert verbs.restore_backup(more, tmp_path / "fine").files == 2
    bad = with_more(tmp_path / "b.zip", tmp_path / "bad.zip", name, b"x")
    with pytest.raises(InputError, match="no backup holds"):
        verbs.restore_backup(bad, tmp_path / "there")
    assert not (tmp_path / "there").exists()


def test_what_lies_beside_a_set_comes_back_or_is_named(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.chdir(tmp_path)
    hidden = Path('.sets/דו"ח.jsonl')
    hidden.parent.mkdir()
    hidden.write_text('{"id":"g1","query":"q","source":"chair"}\n')
    code = hidden.with_suffix(".py")
    code.write_text("engine")
    whole = verbs.make_backup(tmp_path / "b.zip", gold=[hidden])
    assert whole.left_out == [str(code.resolve())]
    done = verbs.restore_backup(tmp_path / "b.zip", tmp_path / "there")
    assert [Path(path).read_bytes() for path in done.outside] == [hidden.read_bytes()]
    odd = Path("qrels.robust04")
    odd.write_text("1 0 d 1\n")
    with pytest.raises(InputError, match="cannot be backed up"):
        verbs.make_backup(tmp_path / "c.zip", gold=[odd])
    assert not (tmp_path / "c.zip").exists()


@pytest.mark.parametrize("name", ["CON.json", "aux/LPT1.votes.json", "Nul.x.json"])
def test_a_set_with_the_name_of_a_device_comes_back_under_it(
    name: str, tmp_path: Path, monkeypatch: Patch
) -> None:
    """No name in the archive is a device, on any system; here it is a file like others."""
    monkeypatch.chdir(tmp_path)
    path = Path(name)
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"queries": [{"id": "q", "text": "x"}]}))
    whole = verbs.make_backup(tmp_path / "b.zip", gold=[path])
    assert all(is_carried(part) for part in whole.parts)
    verbs.restore_backup(tmp_path / "b.zip", tmp_path / "back")
    assert (tmp_path / "back" / name).read_bytes() == path.read_bytes()
    assert brought_back("%2E%2E/%2Fetc/%43at.json") == "%2E%2E/%2Fetc/%43at.json"


@SQLITE
def test_a_failure_half_way_takes_back_what_was_placed(
    project: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    verbs.make_backup(tmp_path / "b.zip")
    placed: list[Path] = []
    place = verbs._place

    def full(made: Path, target: Path) -> None:
        if len(placed) == 2:
            raise InputError("cannot write: no space left on device", where=str(target))
        place(made, target)
        placed.append(target)

    monkeypatch.setattr(verbs, "_place", full)
    with pytest.raises(InputError, match="no space left"):
        verbs.restore_backup(tmp_path / "b.zip", tmp_path / "there")
    assert len(placed) == 2
    assert not (tmp_path / "there").exists()


@SQLITE
def test_who_decides_meanwhile_is_waited_for(project: tuple[Path, str], tmp_path: Path) -> None:
    gold = Path("data/eval/gold-set.jsonl")
    holding, done = threading.Event(), threading.Event()

    def decide() -> None:
        with locked(gold):
            holding.set()
            done.wait(5)
            gold.write_text(gold.read_text() + "# decided\n")

    thread = threading.Thread(target=decide)
    thread.start()
    holding.wait(5)
    threading.Timer(0.2, done.set).start()
    verbs.make_backup(tmp_path / "b.zip")
    thread.join()
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        assert archive.read("project/data/eval/gold-set.jsonl").endswith(b"# decided\n")


@SQLITE
def test_what_is_decided_and_not_yet_in_the_files_is_in_it(
    project: tuple[Path, str], tmp_path: Path, monkeypatch: Patch
) -> None:
    gold = Path("data/eval/gold-set.jsonl")
    waits = next(row.id for row in rows(read_lines(gold)) if row.source == "bootstrap")
    votes_path(gold).unlink()  # the first vote makes the file

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, open_service() as service:
        patch.setattr(votes_jsonl, "_write", full)
        with pytest.raises(InputError, match="is made, but its files"):
            promote_rows(service, gold, [waits], by="dana", why="right")
    monkeypatch.setattr(opening, "_heal", lambda *_: None)  # somebody wrote it at that moment
    made = verbs.make_backup(tmp_path / "b.zip")
    assert made.left_out == []
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        kept = archive.read("project/data/eval/gold-set.jsonl")
        assert b"bootstrap" not in kept
        assert waits.encode() in archive.read("project/data/eval/gold-set.votes.jsonl")


@SQLITE
def test_a_restored_store_leaves_alone_what_the_first_has_begun(
    project: tuple[Path, str], tmp_path: Path, monkeypatch: Patch
) -> None:
    gold = Path("data/eval/gold-set.jsonl")
    verbs.make_backup(tmp_path / "b.zip")
    restored = verbs.restore_backup(tmp_path / "b.zip", tmp_path / "new")
    waits = next(row.id for row in rows(read_lines(gold)) if row.source == "bootstrap")
    first, second = open_store(".assay/assay.db"), open_store(restored.store)
    rule = first.rule

    def ruled(given: Sequence[Ruling], then: Callable[[], None]) -> None:
        rule(given, then=then)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(first, "rule", ruled)
        patch.setattr(one_step, "heal", lambda *_: "")
        with pytest.raises(KeyboardInterrupt):
            rulings.promote(first, gold, [waits], Word(by="dana"))
    with open_service(restored.store, gold=[gold]):
        assert not interrupted(second, gold)
        assert interrupted(first, gold)
    with open_service(gold=[gold]):
        assert not interrupted(first, gold)
    assert {row.source for row in rows(read_lines(gold))} == {"chair"}
    first.close()
    second.close()


@SQLITE
def test_sets_outside_the_project(project: tuple[Path, str], tmp_path: Path) -> None:
    other = tmp_path / "elsewhere" / "other.jsonl"
    other.parent.mkdir()
    other.write_text('{"id":"g1","query":"q","relevant_case_law_ids":["a"],"source":"chair"}\n')
    verbs.make_backup(tmp_path / "b.zip", gold=[other])
    done = verbs.restore_backup(tmp_path / "b.zip", tmp_path / "there")
    assert len(done.outside) == 1
    assert Path(done.outside[0]).read_bytes() == other.read_bytes()


@SQLITE
def test_a_restored_store_works_on_what_came_back(
    project: tuple[Path, str], tmp_path: Path, monkeypatch: Patch
) -> None:
    """Not on the set outside that it was made from, which is there still."""
    outside = tmp_path / "elsewhere" / "other.jsonl"
    outside.parent.mkdir()
    outside.write_text('{"id":"g1","query":"q","relevant_case_law_ids":["a"],"source":"x"}\n')
    before = outside.read_bytes()
    with open_service(gold=[outside]) as service:
        fill_queue(service)
        promoted = promote_rows(service, outside, ["g1"], by="dana")
        outside.write_bytes(before)
    assert promoted
    verbs.make_backup(tmp_path / "b.zip")
    done = verbs.restore_backup(tmp_path / "b.zip", tmp_path / "there")
    monkeypatch.chdir(tmp_path / "there")
    back = next(Path(path) for path in done.outside if path.endswith("other.jsonl"))
    with open_service(done.store) as service:
        assert service.gold_sets["other"] == back
        promote_rows(service, service.gold_sets["other"], ["g1"], by="dana")
        assert opening.kept_path(service, "other") == back
    assert outside.read_bytes() == before != back.read_bytes()


@SQLITE
@pytest.mark.parametrize("named", ["{tmp}/victim.jsonl", "./../victim.jsonl"])
def test_a_crafted_store_opens_no_file_outside(
    project: tuple[Path, str], tmp_path: Path, monkeypatch: Patch, named: str
) -> None:
    victim = tmp_path / "victim.jsonl"
    victim.write_text('{"id":"g1","query":"q","source":"x"}\n')
    with sqlite3.connect(".assay/assay.db") as database:
        database.execute("UPDATE gold_sets SET identity = ?", [named.format(tmp=tmp_path)])
    verbs.make_backup(tmp_path / "b.zip")
    done = verbs.restore_backup(tmp_path / "b.zip", tmp_path / "there")
    monkeypatch.chdir(tmp_path / "there")
    with open_service(done.store) as service:
        assert victim.resolve() not in {path.resolve() for path in service.gold_sets.values()}


@SQLITE
@pytest.mark.parametrize(
    "code",
    [
        "CREATE TRIGGER t AFTER INSERT ON votes BEGIN DELETE FROM votes; END",
        "CREATE VIEW v AS SELECT 1",
        "CREATE VIRTUAL TABLE v USING fts5(x)",
        "DROP TRIGGER {own}; CREATE TRIGGER {own} AFTER INSERT ON votes BEGIN SELECT 1; END",
    ],
)
def test_a_database_that_brings_programs_is_not_restored(
    project: tuple[Path, str], tmp_path: Path, code: str
) -> None:
    verbs.make_backup(tmp_path / "b.zip")
    path = tmp_path / "crafted.db"
    with zipfile.ZipFile(tmp_path / "b.zip") as old:
        path.write_bytes(old.read("store/assay.db"))
        whole = msgspec.json.decode(old.read("backup.json"))
    database = sqlite3.connect(path)
    own = database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchone()[0]
    database.executescript(code.format(own=own))
    database.close()
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    whole["parts"]["store/assay.db"] = {"size": len(content), "sha256": digest}
    new = {"store/assay.db": content, "backup.json": msgspec.json.encode(whole)}
    bad = rewritten(tmp_path / "b.zip", tmp_path / "bad.zip", new.get)
    with pytest.raises(InputError, match="which no store has"):
        verbs.restore_backup(bad, tmp_path / "there")
    assert not (tmp_path / "there").exists()


def test_what_the_disk_cannot_hold_is_not_unpacked(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gold.jsonl").write_text('{"id":"g1","query":"q","source":"chair"}\n')
    verbs.make_backup(tmp_path / "b.zip", gold=[Path("gold.jsonl")])

    def swollen(name: str, raw: bytes) -> bytes:
        return raw.replace(b'"size": ', b'"size": 9' + b"0" * 14) if name == "backup.json" else raw

    bad = rewritten(tmp_path / "b.zip", tmp_path / "bad.zip", swollen)
    with pytest.raises(InputError, match="it would unpack to"):
        verbs.restore_backup(bad, tmp_path / "there")
    assert not (tmp_path / "there").exists()


def test_on_the_command_line(assay_cli: Assay, tmp_path: Path) -> None:
    Path("gold.jsonl").write_text('{"id":"g1","query":"q","source":"chair"}\n')
    done = assay_cli("backup", "b.zip", "--gold", "gold.jsonl", "--json")
    assert (done.code, done.json["store"], done.json["files"]) == (0, "none", {"project": 1})
    back = assay_cli("restore", "b.zip", "--to", "there", "--json")
    assert (back.code, back.json["files"]) == (0, 1)
    assert Path("there/gold.jsonl").read_bytes() == Path("gold.jsonl").read_bytes()
    assert assay_cli("restore", "b.zip", "--to", "there").code == 2
    assert assay_cli("backup", "b.zip").code == 2
    assert assay_cli("backup", "c.zip", "--store", "none.db").code == 2
    Path("no.zip").write_text("no")
    assert assay_cli("restore", "no.zip", "--to", "other").code == 2
    assert not Path("other").exists() or not list(Path("other").iterdir())


@SQLITE
def test_a_backup_is_consistent_while_others_write(
    project: tuple[Path, str], tmp_path: Path
) -> None:
    """Searches that arrive during the copy are in it or not, with all that they showed."""
    stop = threading.Event()

    def write() -> None:
        with open_service("") as service:
            number = 0
            while not stop.is_set():
                number += 1
                shown = tuple(Shown(f"d{rank}", rank) for rank in range(1, 6))
                service.store.add_searches(
                    [SearchLog(id=f"x{number}", at=NOW, query="q", results=shown)]
                )

    thread = threading.Thread(target=write)
    thread.start()
    try:
        verbs.make_backup(tmp_path / "b.zip")
    finally:
        stop.set()
        thread.join()
    verbs.restore_backup(tmp_path / "b.zip", tmp_path / "there")
    with sqlite3.connect(tmp_path / "there/.assay/assay.db") as connection:
        counts = connection.execute(
            "SELECT count(*) FROM shown_results WHERE log_id LIKE 'x%' GROUP BY log_id"
        ).fetchall()
        assert {count for (count,) in counts} <= {5}
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


SAME = {"one": "set.json", "two": "./set.json", "three": "link.json"}


def test_two_names_of_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("set.json").write_text('{"queries": []}')
    Path("link.json").symlink_to("set.json")
    rows = [f'[gold.{name}]\npath = "{path}"\n' for name, path in SAME.items()]
    rows.append('[engines.words]\nengine = "bm25"\ncorpus = "letters.jsonl"\n')
    Path("assay.toml").write_text("".join(rows))
    assert any(name.endswith("set.json") for name in verbs.make_backup(Path("b.zip")).parts)
