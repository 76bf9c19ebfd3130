"""`assay people`, as an admin types it on the machine itself."""

from __future__ import annotations

import pytest

from assay.workbench import people
from assay.workbench.opening import open_service
from assay.workbench.trail import trail
from command_line import Assay

PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def no_store(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ASSAY_STORE", "ASSAY_HOME", "ASSAY_ADDRESS"):
        monkeypatch.delenv(name, raising=False)


def joined(link: str, name: str = "") -> None:
    with open_service() as service:
        people.accept(service, link.strip().rsplit("/", 1)[1], name=name, password=PASSWORD)


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
        (("invite", "x", "king"), "no role 'king'"),
        (("invite", " ", "judge"), "a name is missing"),
        (("reset", "nobody"), "nobody has an account"),
        (("remove", "nobody"), "nobody has an account"),
        (("key", "k", "--kind", "all"), "no kind of key"),
        (("key", "k", "--end"), "no key named"),
    ],
)
def test_what_cannot_be_done(assay_cli: Assay, words: tuple[str, ...], message: str) -> None:
    assert assay_cli("people", "invite", "Ada", "admin").code == 0
    done = assay_cli("people", *words)
    assert (done.code, message in done.err) == (2, True), done.err


def test_serving_others_needs_accounts(assay_cli: Assay) -> None:
    done = assay_cli("serve", "--host", "0.0.0.0", "--port", "18357", "--token", "0123456789abcdef")
    assert done.code == 2
    assert "lets other machines in" in done.err
    assert "--accounts" in done.err
