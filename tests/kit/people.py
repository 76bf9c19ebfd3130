"""People on the pages of a server with accounts: joining, signing in, inviting."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from argon2 import PasswordHasher
from starlette.testclient import TestClient

from assay.web.access import Access, Limiter
from assay.web.app import create_app
from assay.workbench.project import people
from assay.workbench.project import people as passwords
from assay.workbench.project.service import Service
from kit.server import PASSWORD, join, take_token, visitor

if TYPE_CHECKING:
    from assay.store import Store


def enter(app: Any, name: str, password: str = PASSWORD) -> TestClient:
    client = visitor(app)
    answer = client.post("/sign-in", data={"name": name, "password": password})
    if answer.status_code == 303:
        take_token(client, "/me")
    return client


def invited(client: TestClient, name: str, role: str) -> str:
    answer = client.post("/people/invite", data={"name": name, "role": role})
    found = re.search(r'value="(http://testserver/invite/[^"]+)"', answer.text)
    assert found, answer.text
    return found[1]


def who(client: TestClient) -> Any:
    """The name of who is signed in, or the status of the refusal."""
    answer = client.get("/api/me")
    return answer.json()["name"] if answer.status_code == 200 else answer.status_code


def same_visitor(client: TestClient, app: Any) -> TestClient:
    """The same browser at another server of the same store."""
    cookies = dict(client.cookies)
    return TestClient(app, headers=client.headers, cookies=cookies, follow_redirects=False)


def first_admin(app: Any, service: Service, name: str = "Ada") -> TestClient:
    link = people.first_link(service)
    assert link is not None
    return join(app, f"/invite/{link.token}", name)


def unhurried_servers(
    store: Store, home: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> tuple[list[Any], TestClient]:
    """Servers with accounts on one store, and their first admin. A thread has a server to itself,
    because a test client brings an event loop of its own. Passwords cost little here, and limits on
    calls never bite."""
    weak = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    monkeypatch.setattr(passwords, "_hasher", lambda: weak)
    service = Service(store=store, home=home)
    access = Access(accounts=True)
    apps = [create_app(service, access=access) for _ in range(number)]
    hours = itertools.count(step=3600)
    for app in apps:
        app.state.limiter = Limiter(lambda: float(next(hours)))
    return apps, first_admin(apps[0], service)
