"""`assay people`, as an admin types it on the machine itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.workbench.project import people
from assay.workbench.project.audit_trail import trail
from assay.workbench.project.service import open_service
from kit.commands import Assay
from kit.sets import judged_set

PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def no_store(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ASSAY_STORE", "ASSAY_HOME", "ASSAY_ADDRESS"):
        monkeypatch.delenv(name, raising=False)


def joined(link: str, name: str = "") -> None:
    with open_service() as service:
        people.accept(service, link.strip().rsplit("/", 1)[1], name=name, password=PASSWORD)


def test_who_gets_no_documents_is_named(assay_cli: Assay, tmp_path: Path) -> None:
    judged_set(tmp_path, {("q1", "d1"): ("Ada Berg",)}, judges=("Ada Berg",))
    (tmp_path / "assay.toml").write_text(
        '[gold.set]\npath = "set.json"\n[engines.words]\nengine = "bm25"\ncorpus = "corpus.jsonl"\n'
    )
    told = " ".join(assay_cli("people", "invite", "Ada", "judge").err.split())
    assert "No documents are assigned to Ada, so nothing will appear there." in told
    assert "They are assigned to: Ada Berg." in told
    assert "assigned" not in assay_cli("people", "invite", "Ada Berg", "judge").err


def test_a_life_at_the_terminal(assay_cli: Assay) -> None:
    link = assay_cli("people", "invite", "Ada", "admin", "--address", "https://a.example/").out
    assert link.startswith("https://a.example/invite/")
    joined(link)
    joined(assay_cli("people", "invite", "דנה", "judge").out)
    assert "has an account already" in assay_cli("people", "invite", "ADA", "judge").err
    reset = assay_cli("people", "reset", "דנה").out
    joined(reset)
    key = assay_cli("people", "key", "bot").out.strip()
    assert key.startswith("assay_log_")
    assert "already" in assay_cli("people", "key", "bot").err
    listed = assay_cli("people", "list", "--json").json
    assert [(one["name"], one["role"]) for one in listed["people"]] == [
        ("Ada", "admin"),
        ("דנה", "judge"),
    ]
    assert [one["name"] for one in listed["keys"]] == ["bot"]
    assert "bot" in assay_cli("people", "list").out
    assert assay_cli("people", "key", "bot", "--end").code == 0
    assert assay_cli("people", "remove", "דנה", "--why", "left").code == 0
    assert "has left" in assay_cli("people", "list").out
    with open_service() as service:
        entries = [(one.by, one.action) for one in trail(service)]
        assert ("terminal", "people.removed") in entries
        assert people.sign_in(service, "ada", PASSWORD)
        assert not people.sign_in(service, "דנה", PASSWORD)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("invite", "x", "king"), "unknown role 'king'"),
        (("invite", " ", "judge"), "a name is missing"),
        (("reset", "nobody"), "nobody has an account"),
        (("remove", "nobody"), "nobody has an account"),
        (("key", "k", "--kind", "all"), "unknown kind of key"),
        (("key", "k", "--end"), "no key named"),
    ],
)
def test_what_cannot_be_done(assay_cli: Assay, words: tuple[str, ...], message: str) -> None:
    assert assay_cli("people", "invite", "Ada", "admin").code == 0
    done = assay_cli("people", *words)
    assert (done.code, message in done.err) == (2, True), done.err


def test_serving_others_needs_a_proxy_and_accounts(assay_cli: Assay) -> None:
    on_all = ("serve", "--host", "0.0.0.0", "--port", "18357", "--token", "q7zp2mxv9lkt4wbn")
    without, behind = assay_cli(*on_all), assay_cli(*on_all, "--behind-proxy", "::1")
    assert (without.code, behind.code) == (2, 2)
    assert "lets other machines in" in without.err
    assert "--behind-proxy ADDRESS" in without.err
    assert "lets other machines in" in behind.err
    assert "Give --accounts" in behind.err
    done = assay_cli(*on_all, "--behind-proxy", "proxy.example")
    assert (done.code, "is not an IP address" in done.err) == (2, True), done.err
