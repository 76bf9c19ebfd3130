"""Visitors of the server in tests."""

from __future__ import annotations

import re
from typing import Any

from starlette.testclient import TestClient

from assay.web import app
from assay.web.access import Access
from assay.web.app import create_app
from assay.workbench.opening import Service

app.LOCAL = (*app.LOCAL, "testserver")  # where the client of the tests thinks that it is


def local_client(service: Service, name: str = "דפנה", **options: Any) -> TestClient:
    """Somebody on this machine who has chosen a name; it carries the token that changes need."""
    client = TestClient(create_app(service, **options), follow_redirects=False)
    call_me(client, name)
    return client


def call_me(client: TestClient, name: str) -> None:
    """Choose a name on the page for it, as a browser does."""
    take_token(client, "/me")
    if name:
        answer = client.post("/me", data={"name": name})
        assert answer.status_code == 303, answer.text


def take_token(client: TestClient, path: str = "/") -> str:
    """The token of a page, carried from now on."""
    found = re.search(r'name="csrf" content="([^"]+)"', client.get(path).text)
    assert found, "no token on this page"
    client.headers["x-csrf-token"] = found[1]
    return found[1]


__all__ = ["Access", "call_me", "local_client", "take_token"]
