"""The documentation of the calls is one that programs can follow. `schemathesis run
http://127.0.0.1:8350/api/openapi.json --checks all` tries it on a server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from assay.store import open_store
from assay.workbench.project.service import Service
from kit.server import local_client


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder: Path = tmp_path_factory.mktemp("calls")
    store = open_store(folder / "assay.db")
    yield local_client(Service(store=store, home=folder))
    store.close()


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for each in value.values():
            yield from references(each)
    elif isinstance(value, list):
        for each in value:
            yield from references(each)


def test_every_shape_that_is_named_is_there(client: TestClient) -> None:
    told = client.get("/api/openapi.json").json()
    known = {f"#/components/schemas/{name}" for name in told["components"]["schemas"]}
    named = set(references(told))
    assert named
    assert named <= known


def test_every_part_of_a_path_is_a_parameter(client: TestClient) -> None:
    told = client.get("/api/openapi.json").json()
    for path, calls in told["paths"].items():
        for call in calls.values():
            placed = {each["name"] for each in call["parameters"] if each["in"] == "path"}
            assert placed == set(re.findall(r"{([^}]+)}", path)), path


@pytest.mark.parametrize(
    ("path", "allowed"), [("/api/me", "GET, HEAD"), ("/api/runs/jobs", "GET, HEAD, POST")]
)
def test_another_method_is_told_which_there_are(
    client: TestClient, path: str, allowed: str
) -> None:
    answer = client.request("DELETE", path)
    assert (answer.status_code, answer.headers["allow"]) == (405, allowed)
