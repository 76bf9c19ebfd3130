"""Nobody keeps everybody out: slow bodies, a locked store, short secrets, files by name."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

import anyio
import pytest
from starlette.requests import Request
from starlette.testclient import TestClient
from starlette.types import Message

from assay.core.errors import InputError
from assay.store import Store
from assay.web import access
from assay.web.access import LONGEST_LINE, Access, Refusal, ThreadPools, User, run_in_pool
from assay.web.app import Serving, create_app, prepare
from assay.workbench.project.service import Service
from kit.server import local_client, take_token


@pytest.mark.parametrize("limit", ["BODY_SECONDS", "CHUNK_SECONDS", "STRANGERS_SECONDS"])
def test_a_body_is_not_waited_for_without_end(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, limit, 0.01)

    async def never() -> dict[str, object]:
        await asyncio.sleep(30)
        return {"type": "http.disconnect"}

    async def ask() -> None:
        known = None if limit == "STRANGERS_SECONDS" else User("ada", "judge")
        await access._limited(Request({"type": "http", "headers": []}, never), known)

    with pytest.raises(Refusal) as refused:
        asyncio.run(ask())
    assert refused.value.status == 408


def test_whoever_hangs_up_is_in_no_log_of_errors() -> None:
    async def gone() -> Message:
        return {"type": "http.disconnect"}

    request = Request({"type": "http", "method": "POST", "headers": []}, gone)
    with pytest.raises(Refusal) as refused:
        asyncio.run(access._limited(request, None))
    assert refused.value.status == 408


def test_whoever_is_not_signed_in_sends_little() -> None:
    async def much() -> dict[str, object]:
        return {"type": "http.request", "body": b"x" * (access.STRANGERS_BODY + 1)}

    def ask(user: User | None) -> bytes:
        return asyncio.run(access._limited(Request({"type": "http", "headers": []}, much), user))

    assert ask(User("ada", "judge"))
    with pytest.raises(InputError, match=r"larger than 0\.25 MiB"):
        ask(None)


def test_the_addresses_of_one_network_are_one() -> None:
    assert access.network("2001:db8::1") == access.network("2001:db8::ffff:2")
    assert access.network("2001:db8::1") != access.network("2001:db8:0:1::1")
    assert access.network("::ffff:10.0.0.1") != access.network("::ffff:10.0.0.2")
    assert access.network("10.0.0.1") == "10.0.0.1"


@pytest.mark.parametrize("by", ["password", "key"])
def test_whoever_has_a_network_of_addresses_guesses_no_oftener(store: Store, by: str) -> None:
    app = create_app(Service(store=store), access=Access(accounts=True))
    answers = []
    for number in range(40):
        client = TestClient(app, client=(f"2001:db8::{number:x}", 1), follow_redirects=False)
        if by == "key":
            client.headers["authorization"] = f"Bearer guess-{number}"
            answers.append(client.get("/api/me").status_code)
        else:
            take_token(client, "/sign-in")
            sent = {"name": f"n{number}", "password": "guess"}
            answers.append(client.post("/sign-in", data=sent).status_code)
    assert answers[-1] == 429
    other = TestClient(app, client=("2001:db8:0:1::1", 1))
    assert other.get("/api/me", headers={"authorization": "Bearer x"}).status_code == 401


def test_only_names_of_this_machine_are_its_own() -> None:
    """A page of another site may call itself anything that is let in."""
    code = "from assay.web import app; print(*app.LOCAL)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["localhost", "127.0.0.1", "[::1]"]


def test_decisions_that_wait_take_no_threads_from_others() -> None:
    """As many decisions as there are threads wait for a locked store; reading and health go on."""
    held = threading.Event()

    async def all_of_them() -> tuple[str, str, int]:
        desks = ThreadPools()
        request = Request({"type": "http", "headers": []})

        def wait(_: Request) -> str:
            held.wait(10)
            return "decided"

        refused = 0
        deciding = desks.limiter("POST", watching=False)
        async with anyio.create_task_group() as tasks:
            for _ in range(LONGEST_LINE + 12):
                tasks.start_soon(run_in_pool, deciding, wait, request)
            await anyio.wait_all_tasks_blocked()
            reading = await run_in_pool(
                desks.limiter("GET", watching=False), lambda _: "read", request
            )
            health = await run_in_pool(
                desks.limiter("GET", watching=True), lambda _: "well", request
            )
            try:
                await run_in_pool(deciding, wait, request)
            except Refusal as error:
                refused = error.status
            held.set()
        return reading, health, refused

    assert asyncio.run(all_of_them()) == ("read", "well", 503)


@pytest.mark.parametrize("secret", ["token", "proxy_secret"])
def test_a_secret_that_is_soon_guessed_is_refused(store: Store, secret: str) -> None:
    weak = "0123456789abcde", "x" * 16, " " * 15 + "x", "abcdefg" * 3, "0123456789 abcdef"
    in_a_row = "1234567890123456", "abcdefghabcdefgh", "zyxwvutsrqponmlk", "qwertyuiopasdfgh"
    repeated = "01234567" * 2, "k7Qx2mZp" * 3, "k7Qx2mZpk7Qx2mZp!"
    for simple in (*weak, *in_a_row, *repeated):
        with pytest.raises(InputError, match="too short or too simple"):
            prepare(Service(store=store), Serving(**{secret: simple}))
    for good in ("k7Qx2mZp9vLw4TnB", "9f86d081884c7d659a2feaa0c55ad015", "8350217946180427"):
        prepare(Service(store=store), Serving(**{secret: good}))


def test_keys_are_guessed_no_faster_than_passwords(store: Store) -> None:
    token = "k7Qx2mZp9vLw4TnB"
    app, _ = prepare(Service(store=store), Serving(accounts=True, token=token))
    client = TestClient(app)

    def log(key: str) -> int:
        said = {"Authorization": f"Bearer {key}"}
        return client.post("/api/log", json={}, headers=said).status_code

    assert log(token) == 400  # let in, and told that there is no query
    got = [log(f"guess{number}") for number in range(40)]
    assert (got[0], got[-1]) == (401, 429)
    assert log(token) == 400  # one that was right is not held up by them
    missed = client.get("/nowhere", headers={"Authorization": "Bearer guess"})
    assert missed.status_code == 404


def test_nobody_learns_which_files_there_are(store: Store, tmp_path: Path) -> None:
    (tmp_path / "there.jsonl").write_text("{}")
    client = local_client(Service(store=store))
    said = [
        client.get("/api/backlog", params={"gold": str(tmp_path / name)})
        for name in ("there.jsonl", "not-there.jsonl")
    ]
    assert [answer.status_code for answer in said] == [404, 404]
    assert said[0].text.replace("not-", "") == said[1].text.replace("not-", "")
