"""Connections: uvicorn's own limits, and nginx in front of the server, with the configuration that
the documentation gives, against half-sent requests, slow bodies and slow readers."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from assay.web import app as web
from assay.web.app import AnnouncingServer, Serving, server_config
from kit.commands import free_port
from kit.docs_pages import DOCS, blocks
from kit.server import PASSWORD, take_token

NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
needs_nginx = pytest.mark.skipif(
    not NGINX or not shutil.which("openssl"), reason="needs Debian's packages nginx and openssl"
)
MOST = 4  # connections that the server takes in these tests
HALF_SENT = b"GET / HTTP/1.1\r\nHost: assay.example.org\r\nX-Slow: "
SLOW_BODY = b"POST / HTTP/1.1\r\nHost: assay.example.org\r\nContent-Length: 100\r\n\r\nsome"
SLOW_READER = b"GET /long HTTP/1.1\r\nHost: assay.example.org\r\n\r\n"
LONG = 2**24  # bytes; more than the buffers of all sockets on the way
SLOW = pytest.mark.parametrize(
    "sent", [HALF_SENT, SLOW_BODY, SLOW_READER], ids=["half-sent", "slow-body", "slow-reader"]
)


@contextmanager
def small_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A small application under the settings of `assay serve`, on a port, with few connections."""

    async def body(request: Request) -> PlainTextResponse:
        return PlainTextResponse(await request.body())

    routes = [
        Route("/", lambda request: PlainTextResponse("here")),
        Route("/", body, methods=["POST"]),
        Route("/long", lambda request: PlainTextResponse("x" * LONG)),
    ]
    monkeypatch.setattr(web, "MOST_CONNECTIONS", MOST)
    port, ready = free_port(), threading.Event()
    config = server_config(Starlette(routes=routes), Serving(port=port))
    config.timeout_graceful_shutdown = 1
    server = AnnouncingServer(config, ready.set)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    assert ready.wait(10)
    yield port
    server.should_exit = True
    thread.join(10)


def visit(port: int, sent: bytes, address: str = "127.0.0.1") -> socket.socket:
    """A connection that has sent this, and reads nothing."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    made.settimeout(10)
    made.bind((address, 0))
    made.connect(("127.0.0.1", port))
    made.sendall(sent)
    return made


def read_all(made: socket.socket) -> bytes:
    """All that comes until the other side closes the connection."""
    received = bytearray()
    try:
        while some := made.recv(2**16):
            received += some
    except (ConnectionResetError, ssl.SSLEOFError):
        pass
    return bytes(received)


# ── uvicorn's limits ──────────────────────────────────────────────────────────────────────────────


def test_the_address_is_printed_when_visitors_can_come_in() -> None:
    port, came = free_port(), list[int]()

    def come() -> None:
        with socket.create_connection(("127.0.0.1", port), timeout=5):
            came.append(port)
        server.should_exit = True

    server = AnnouncingServer(server_config(Starlette(), Serving(port=port)), come)
    server.run()
    assert came


def test_too_many_connections_are_refused_until_some_are_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with small_server(monkeypatch) as port:
        address = f"http://127.0.0.1:{port}/"
        held = [visit(port, HALF_SENT) for _ in range(MOST)]
        assert httpx.get(address).status_code == 503
        for made in held:
            made.close()
        until = time.monotonic() + 10
        while (status := httpx.get(address).status_code) == 503 and time.monotonic() < until:
            time.sleep(0.05)
        assert status == 200


def test_headers_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    with small_server(monkeypatch) as port:
        with visit(port, HALF_SENT + b"x" * web.MOST_HEADERS) as made:
            assert read_all(made).startswith(b"HTTP/1.1 400")
        assert httpx.get(f"http://127.0.0.1:{port}/").text == "here"


def test_an_idle_connection_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "IDLE_SECONDS", 0)
    asked = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    with small_server(monkeypatch) as port, visit(port, asked) as made:
        assert read_all(made).endswith(b"here")


@pytest.mark.parametrize(
    ("serving", "believed"),
    [
        (Serving(), set[str]()),
        (Serving(address="https://assay.example.org"), {"127.0.0.1"}),
        (Serving(behind_proxy=("10.0.0.5", "10.1.0.0/16")), {"10.0.0.5", "10.1.2.3"}),
    ],
    ids=["none", "same-machine", "named"],
)
def test_only_the_proxy_is_believed_about_visitors(
    serving: Serving, believed: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Limits go by the address of a visitor: nobody else may choose it."""
    monkeypatch.delenv("FORWARDED_ALLOW_IPS", raising=False)

    async def who(request: Request) -> PlainTextResponse:
        assert request.client
        return PlainTextResponse(f"{request.url.scheme} {request.client.host}")

    config = server_config(Starlette(routes=[Route("/", who)]), serving)
    config.load()
    headers = {"x-forwarded-for": "192.0.2.7", "x-forwarded-proto": "https"}
    for sender in ("127.0.0.1", "10.0.0.5", "10.1.2.3", "10.2.0.1"):
        client = TestClient(config.loaded_app, client=(sender, 1), headers=headers)
        expected = "https 192.0.2.7" if sender in believed else f"http {sender}"
        assert client.get("/").text == expected


# ── nginx in front ────────────────────────────────────────────────────────────────────────────────


@contextmanager
def nginx(folder: Path, upstream: int, **changes: str) -> Iterator[int]:
    """nginx with the configuration of the documentation, in front of a port. `changes` are settings
    with another value."""
    port = free_port()
    certificate = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=assay"]
    files = ["-keyout", str(folder / "assay.key"), "-out", str(folder / "assay.pem")]
    subprocess.run([*certificate, *files], check=True, capture_output=True)
    [shown] = [one for one in blocks(DOCS / "workbench/proxy.md") if one.language == "nginx"]
    text = shown.text
    places = {"listen 443": f"listen 127.0.0.1:{port}", "127.0.0.1:8350": f"127.0.0.1:{upstream}"}
    for old, new in {**places, "/etc/ssl": str(folder)}.items():
        assert old in text
        text = text.replace(old, new)
    lines = text.splitlines()
    for name, value in changes.items():
        [place] = [i for i, line in enumerate(lines) if line.split()[:1] == [name]]
        lines[place] = f"{name} {value};"
    (folder / "assay.conf").write_text("\n".join(lines))
    temporary = [
        f"{name}_temp_path {folder / name};"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    ]
    (folder / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {folder}/pid; error_log {folder}/errors;\n"
        "events { worker_connections 512; }\n"
        f"http {{ access_log off; {' '.join(temporary)} include {folder}/assay.conf; }}\n"
    )
    started = [str(NGINX), "-p", str(folder), "-c", "nginx.conf", "-e", str(folder / "errors")]
    with subprocess.Popen(started, stderr=subprocess.PIPE, text=True) as running:
        try:
            wait_until_open(port, running)
            yield port
        finally:
            running.terminate()


def wait_until_open(port: int, running: subprocess.Popen[str]) -> None:
    until = time.monotonic() + 20
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
            return
        except OSError:
            if running.poll() is not None or time.monotonic() > until:
                running.kill()
                pytest.fail(running.communicate()[1])
            time.sleep(0.05)


def visit_securely(port: int, sent: bytes, address: str = "127.0.0.1") -> ssl.SSLSocket:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    made = context.wrap_socket(visit(port, b"", address), server_hostname="assay.example.org")
    made.sendall(sent)
    return made


def browser(port: int, address: str = "127.0.0.1") -> httpx.Client:
    """A browser on another address, as far as nginx sees."""
    return httpx.Client(
        transport=httpx.HTTPTransport(verify=False, local_address=address),
        base_url=f"https://127.0.0.1:{port}",
        headers={"host": "assay.example.org"},
        timeout=10,
    )


def answer_within(port: int, seconds: float, address: str = "127.0.0.1") -> str:
    """The answer for somebody who tries again while the server is busy."""
    until = time.monotonic() + seconds
    with browser(port, address) as client:
        while True:
            answer = client.get("/")
            if answer.status_code == 200 or time.monotonic() > until:
                return answer.text
            time.sleep(0.1)


@needs_nginx
@SLOW
def test_slow_visitors_keep_nobody_out(
    sent: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More of them than the server takes connections; each of them stays."""
    with small_server(monkeypatch) as upstream, nginx(tmp_path, upstream) as port:
        held = [visit_securely(port, sent) for _ in range(MOST + 2)]
        # answers of 16 MiB that nobody reads are first taken over by nginx
        assert answer_within(port, 8 if sent == SLOW_READER else 0) == "here"
        assert [answer_within(port, 0) for _ in range(3)] == ["here"] * 3
        for made in held:
            made.close()


@needs_nginx
@SLOW
def test_slow_visitors_are_let_go(
    sent: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = dict.fromkeys(("client_header_timeout", "client_body_timeout", "send_timeout"), "1s")
    with small_server(monkeypatch) as upstream, nginx(tmp_path, upstream, **seconds) as port:
        with closing(visit_securely(port, sent)) as made:
            if sent == SLOW_READER:
                time.sleep(2)
            assert len(read_all(made)) < LONG
        assert answer_within(port, 0) == "here"


@needs_nginx
def test_one_address_cannot_take_all_connections(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        small_server(monkeypatch) as upstream,
        nginx(tmp_path, upstream, limit_conn="assay 2") as port,
    ):
        held = [visit_securely(port, SLOW_BODY, "127.0.0.2") for _ in range(2)]
        with browser(port, "127.0.0.2") as client:
            until = time.monotonic() + 5
            while client.get("/").status_code != 503:
                assert time.monotonic() < until, "the third request is answered"
        assert answer_within(port, 0, "127.0.0.3") == "here"
        for made in held:
            made.close()


@contextmanager
def assay_serve(folder: Path, *options: str) -> Iterator[tuple[int, str]]:
    """`assay serve` for a team on a port, and the link that it prints for the first admin."""
    port = free_port()
    command = [sys.executable, "-m", "assay", "serve", "--port", str(port), *options]
    environment = os.environ | {"ASSAY_HOME": str(folder / "home")}
    with subprocess.Popen(
        command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True
    ) as running:
        try:
            assert running.stderr is not None
            said = ""
            while "/invite/" not in said:
                line = running.stderr.readline()
                assert line, said
                said += line
            yield port, said.split()[-1]
        finally:
            running.terminate()


@needs_nginx
def test_a_team_joins_through_the_proxy(tmp_path: Path) -> None:
    """Links, cookies and limits are those of visitors, not those of the proxy."""
    team = ["--accounts", "--address", "https://assay.example.org"]
    network = ["--host", "0.0.0.0", "--behind-proxy", "127.0.0.1"]
    with assay_serve(tmp_path, *team, *network) as (upstream, link):
        path = link.removeprefix("https://assay.example.org")
        with nginx(tmp_path, upstream) as port:
            with browser(port) as client:
                client.headers["origin"] = "https://assay.example.org"
                take_token(client, path)
                form = {"name": "Ada", "password": PASSWORD, "again": PASSWORD}
                joined = client.post(path, data=form)
                assert joined.status_code == 303, joined.text
                assert "__Host-assay_session" in client.cookies
                assert client.get("/api/me").json()["name"] == "Ada"
                assert client.get("/", headers={"host": "other.example"}).status_code == 400
            guesses = [guess_key(port, "127.0.0.2", number) for number in range(40)]
            assert (guesses[0], guesses[-1]) == (401, 429)
            assert guess_key(port, "127.0.0.3", 0) == 401


def guess_key(port: int, address: str, number: int) -> int:
    """The answer for a wrong key from somebody who also claims to be somebody else."""
    guess = {"authorization": f"Bearer guess-{number}", "x-forwarded-for": f"192.0.2.{number}"}
    with browser(port, address) as client:
        return client.get("/api/me", headers=guess).status_code
