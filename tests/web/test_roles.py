"""Who may call what: every row of the route tables, by everybody there is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient

from assay.store import Store
from assay.web.access import ROLES, Access, AppRoute
from assay.web.app import TABLES, create_app
from assay.workbench.project import people
from assay.workbench.project.service import Service
from kit.server import local_client, take_token

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)
ROWS = [row for rows in TABLES for row in rows]
CALLS = [(row, method) for row in ROWS for method in row.methods]
CALLERS = ("anyone", "log", "watch", *ROLES)
SIGNED_IN = "/me"  # a page that everybody has who is signed in

Visit = Callable[..., TestClient]


@pytest.fixture(scope="module")
def people_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    from assay.store import open_store

    folder = tmp_path_factory.mktemp("roles")
    store = open_store(folder / "store.db")
    yield Service(store=store, home=folder, clock=lambda: NOW)
    store.close()


@pytest.fixture(scope="module")
def app(people_service: Service) -> Starlette:
    return create_app(people_service, access=Access(accounts=True))


@pytest.fixture(scope="module")
def service_keys(people_service: Service) -> dict[str, str]:
    return {
        kind: people.make_key(people_service, f"{kind} key", kind, by=people.AT_THE_TERMINAL)
        for kind in people.KEY_KINDS
    }


@pytest.fixture(scope="module")
def accounts(people_service: Service) -> dict[str, str]:
    """Without passwords, which take long on purpose."""
    store = people_service.store
    for role in ROLES:
        people.invite(people_service, f"a {role}", role, by=people.AT_THE_TERMINAL)
    for link in store.invitations(NOW):
        store.accept_invitation(link.id, name=link.name, password="", at=NOW)
    return {role: f"a {role}" for role in ROLES}


@pytest.fixture
def visit(
    app: Starlette, people_service: Service, service_keys: dict[str, str], accounts: dict[str, str]
) -> Visit:
    """Somebody of a role, newly arrived; with the token of a page for what changes something."""

    def arrive(caller: str, *, reads: bool = False) -> TestClient:
        client = TestClient(app, follow_redirects=False)
        if caller in service_keys:
            client.headers["authorization"] = f"Bearer {service_keys[caller]}"
        elif caller in accounts:
            session = people.start_session(people_service, accounts[caller])
            client.cookies.set("assay_session", session)
        if not reads and caller not in service_keys:
            take_token(client, SIGNED_IN if caller in accounts else "/sign-in")
        return client

    return arrive


def call(client: TestClient, row: AppRoute, method: str) -> str:
    """allowed, or how it was refused."""
    path = re.sub(r"{\w+(:\w+)?}", "x", row.path)
    answer = client.request(method, path, json={} if row.is_api and method != "GET" else None)
    if answer.status_code in (401, 403):
        return "refused"
    if answer.headers.get("location", "").startswith("/sign-in?next="):
        return "refused"
    assert answer.status_code < 500, answer.text
    return "allowed"


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize(
    ("row", "method"), CALLS, ids=[f"{method} {row.path}" for row, method in CALLS]
)
def test_every_cell(visit: Visit, row: AppRoute, method: str, caller: str) -> None:
    least = -1 if row.role == "anyone" else ROLES.index(row.role)
    rank = ROLES.index(caller) if caller in ROLES else -1
    expected = rank >= least or caller == row.key
    client = visit(caller, reads=method == "GET")
    assert call(client, row, method) == ("allowed" if expected else "refused")


@pytest.mark.parametrize(
    "row", [row for row in ROWS if "POST" in row.methods], ids=lambda row: row.path
)
def test_every_change_needs_the_token(visit: Visit, row: AppRoute) -> None:
    client = visit("admin")
    del client.headers["x-csrf-token"]
    assert call(client, row, "POST") == "refused"
    client.headers["x-csrf-token"] = take_token(visit("admin"), SIGNED_IN)
    assert call(client, row, "POST") == "refused", "the token of another session"


def test_every_route_is_in_the_tables(app: Starlette) -> None:
    served = {
        (route.path, method)
        for route in app.routes
        if isinstance(route, Route)
        for method in (route.methods or ()) - {"HEAD"}
    }
    assert served == {(row.path, method) for row, method in CALLS}
    assert len(CALLS) == len(served), "a call is in two rows"
    assert [route.path for route in app.routes if not isinstance(route, Route)] == ["/static"]


def test_without_accounts_everybody_is_an_admin(store: Store, tmp_path: Path) -> None:
    service = Service(store=store, home=tmp_path)
    refused = [
        f"{method} {row.path}"
        for row, method in CALLS
        if call(local_client(service), row, method) == "refused"
    ]
    assert refused == []
