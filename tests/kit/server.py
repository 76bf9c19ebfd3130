"""The web application and the MCP server on a project folder.

This is the only place of the kit that knows how a project is opened."""

from __future__ import annotations

import functools
import re
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import anyio
from starlette.testclient import TestClient

from assay.web import app as web
from assay.web.access import Access
from assay.workbench.project.service import Recording, Service, open_service
from assay.workbench.review.queue import say_pending

__all__ = [
    "PASSWORD",
    "Access",
    "Agent",
    "Server",
    "Visitor",
    "call_me",
    "join",
    "local_client",
    "serving",
    "take_token",
    "visitor",
]

PASSWORD = "correct horse battery"

if "testserver" not in web.LOCAL:
    web.LOCAL = (*web.LOCAL, "testserver")  # the host name that the test client uses


def local_client(service: Service, name: str = "דפנה", **options: Any) -> TestClient:
    """A browser on this machine whose user has chosen a name. It sends the token that changes
    need."""
    client = TestClient(web.create_app(service, **options), follow_redirects=False)
    call_me(client, name)
    return client


def call_me(client: TestClient, name: str) -> None:
    """Choose a name on the page for it, as a browser does."""
    take_token(client, "/me")
    if name:
        answer = client.post("/me", data={"name": name})
        assert answer.status_code == 303, answer.text


def take_token(client: TestClient, path: str = "/") -> str:
    """Read the form token of a page, and send it from now on."""
    found = re.search(r'name="csrf" content="([^"]+)"', client.get(path).text)
    assert found, "no token on this page"
    client.headers["x-csrf-token"] = found[1]
    return found[1]


def visitor(app: Any, path: str = "/sign-in", **options: Any) -> TestClient:
    """A browser that has opened a page, and sends its token from now on."""
    client = TestClient(app, follow_redirects=False, **options)
    take_token(client, path)
    return client


def join(app: Any, link: str, name: str = "", password: str = PASSWORD) -> TestClient:
    """Open a link that works once, set a password, and go on signed in."""
    path = "/invite/" + link.rstrip("/").rpartition("/")[2].strip()
    client = visitor(app, path)
    answer = client.post(path, data={"name": name, "password": password, "again": password})
    assert answer.status_code == 303, answer.text
    take_token(client, "/me")
    return client


@contextmanager
def serving(
    *gold: Path | str,
    accounts: bool = False,
    store: str = "",
    clock: Callable[[], datetime] | None = None,
) -> Iterator[Server]:
    """A server on the project in the current folder, as `assay serve` starts it."""
    said: list[str] = []
    paths = [Path(each) for each in gold]
    with open_service(store, gold=paths, recording=Recording(), say=said.append) as service:
        if clock is not None:
            service = replace(service, clock=clock)
        say_pending(service)
        yield Server(service, said, accounts=accounts)


class Server:
    """The application on one project. `said` has what it told at its start."""

    def __init__(self, service: Service, said: list[str], *, accounts: bool = False) -> None:
        self._service = service
        self.said = said
        self.app = web.create_app(service, access=Access(accounts=True) if accounts else None)

    def visitor(self, name: str = "דפנה") -> Visitor:
        """Somebody on this machine, who may do everything."""
        client = TestClient(self.app, follow_redirects=False)
        call_me(client, name)
        return Visitor(client, name)

    def join(self, link: str, name: str = "") -> Visitor:
        """Somebody who opens an invitation and sets a password."""
        return Visitor(join(self.app, link, name), name)

    def agent(self, name: str = "agent 1") -> Agent:
        return Agent(self._mcp, name)

    @functools.cached_property
    def _mcp(self) -> Any:
        from assay.mcp.server import build_server

        return build_server(self._service)


class Agent:
    """A program that calls the MCP tools of a project."""

    def __init__(self, mcp: Any, name: str) -> None:
        self._mcp = mcp
        self.name = name

    def ask(self, tool: str, **arguments: Any) -> Any:
        """Call a tool that answers."""
        failed, answer = self._call(tool, arguments)
        assert not failed, answer
        return answer

    def refused(self, tool: str, **arguments: Any) -> str:
        """Call a tool that refuses, and give what it says."""
        failed, answer = self._call(tool, arguments)
        assert failed, answer
        return str(answer)

    def suggest(
        self, query_id: str, doc_id: str, grade: int, why: str = "on point", gold: str = "gold-set"
    ) -> str:
        """Suggest a grade, also for a document that nothing here knows; gives the item's id."""
        asked = {"gold": gold, "query_id": query_id, "doc_id": doc_id, "grade": grade}
        told = self.ask(
            "suggest_judgment", **asked, rationale=why, by=self.name, allow_unknown=True
        )
        return str(told["item_id"])

    def _call(self, tool: str, arguments: dict[str, Any]) -> tuple[bool, Any]:
        from mcp import Client

        async def talk() -> tuple[bool, Any]:
            async with Client(self._mcp) as client:
                answer = await client.call_tool(tool, arguments)
                said = " ".join(getattr(part, "text", "") for part in answer.content)
                return answer.is_error, said if answer.is_error else answer.structured_content

        return anyio.run(functools.partial(talk))


class Visitor:
    """One person's browser: pages with `get` and `post`, routes with `ask` and `send`, and the acts
    of a judge and a chair by the names of rows."""

    def __init__(self, client: TestClient, name: str) -> None:
        self.client = client
        self.name = name
        self.get = client.get
        self.post = client.post

    # ── routes ────────────────────────────────────────────────────────────────────────────────────

    def ask(self, path: str, **query: Any) -> Any:
        """The JSON of a route."""
        answer = self.client.get(path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def send(self, path: str, **body: Any) -> Any:
        """Send JSON to a route that accepts it."""
        answer = self.client.post(path, json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def refused(self, path: str, status: int = 400, **body: Any) -> str:
        """Send JSON to a route that refuses it, and give what it says."""
        answer = self.client.post(path, json=body)
        assert answer.status_code == status, answer.text
        return str(answer.json()["error"])

    # ── the review queue ──────────────────────────────────────────────────────────────────────────

    def items(self, **query: Any) -> list[dict[str, Any]]:
        """Items of the review queue, by default of every state, the oldest first."""
        found = self.ask("/api/review", **({"limit": 200, "state": ""} | query))["items"]
        return [line["item"] for line in found]

    def item(self, ref: str, kind: str = "gold_row", **query: Any) -> dict[str, Any]:
        """The item of a row, or the suggestion on it."""
        found = [each for each in self.items(kind=kind, **query) if each["ref"] == ref]
        assert len(found) == 1, found
        return found[0]

    def by_id(self, item_id: str) -> dict[str, Any]:
        found: dict[str, Any] = self.ask(f"/api/review/{item_id}")["item"]
        return found

    def id(self, ref: str) -> str:
        return str(self.item(ref)["id"])

    def states(self) -> dict[str, str]:
        """The state of every row in the queue."""
        return {each["ref"]: each["state"] for each in self.items(kind="gold_row")}

    def approve(self, ref: str, **said: Any) -> Any:
        return self.send(f"/api/review/{self.id(ref)}/approve", **said)

    def reject(self, ref: str, reason: str = "not asked", **said: Any) -> Any:
        return self.send(f"/api/review/{self.id(ref)}/reject", reason=reason, **said)

    def accept(self, item_id: str, **said: Any) -> Any:
        """Accept a suggestion."""
        return self.send(f"/api/review/{item_id}/approve", **said)

    def decline(self, item_id: str, reason: str = "off point") -> Any:
        return self.send(f"/api/review/{item_id}/reject", reason=reason)

    def undo(self, *ids: str, decided: dict[str, str] | None = None) -> Any:
        """Undo decisions; without ids, what this person decided last."""
        return self.send("/api/review/undo", ids=list(ids), decided=decided or {})

    def picks(self, *refs: str) -> list[dict[str, str]]:
        """Rows as the preview of a bulk approval shows them."""
        ids = [self.id(ref) for ref in refs]
        lines = self.ask("/api/review/bulk", **({"id": ids} if ids else {}))["lines"]
        return [{"id": line["item"]["id"], "seen": line["seen"]} for line in lines]

    def press(self, ref: str, action: str, **fields: Any) -> Any:
        """Send the form of the page of a row, as it was shown, with these fields changed."""
        return self.form(self.id(ref), action, **fields)

    def form(self, item_id: str, action: str, **fields: Any) -> Any:
        return self.client.post(
            f"/review/{item_id}", data=self.filled(item_id) | {"action": action} | fields
        )

    def filled(self, item_id: str) -> dict[str, Any]:
        """The fields of the page of an item, as it is opened."""
        page = self.client.get(f"/review/{item_id}").text
        fields: dict[str, Any] = {
            name: found
            for name, pattern in (
                ("seen", r'name="seen"[^>]* value="([^"]+)"'),
                ("doc", r'name="doc"[^>]* value="([^"]+)" checked'),
            )
            if (found := re.findall(pattern, page))
        }
        if row := re.search(r'name="row"[^>]* value="(\w+)"', page):
            fields["row"] = row[1]
        return fields

    def audit(self, **query: Any) -> list[dict[str, Any]]:
        """The audit trail, the newest first."""
        found: list[dict[str, Any]] = self.ask("/api/audit", **({"limit": 1000} | query))
        return found

    # ── judging ───────────────────────────────────────────────────────────────────────────────────

    def vote(
        self, set: str, query_id: str, doc_id: str, grade: int | None, why: str = "", **more: Any
    ) -> Any:
        """Give a vote on the judging page; a grade of None is unsure."""
        vote = {"id": uuid.uuid4().hex, "set": set, "query_id": query_id, "doc_id": doc_id}
        vote |= {"grade": grade, "rationale": why}
        return self.send("/api/votes", **(vote | more))

    def pairs(self, set: str, query_id: str) -> dict[str, dict[str, Any]]:
        """What this judge says of the documents of a query now."""
        found = self.ask("/api/judge/query", set=set, query=query_id)["pairs"]
        return {pair["doc_id"]: pair for pair in found}

    def flag(self, set: str, query_id: str, reason: str = "", flagged: bool = True) -> Any:
        body = {"set": set, "query_id": query_id, "reason": reason, "flagged": flagged}
        return self.send("/api/flags", **body)

    def flags(self, set: str) -> dict[str, dict[str, str]]:
        """The flags that this person sees on the set page."""
        found = self.ask("/api/judge/set", set=set)["queries"]
        return {query["id"]: query["flag"] for query in found if query["flag"]}
