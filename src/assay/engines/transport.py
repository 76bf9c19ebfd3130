"""The HTTP client of the engines, on connections that are kept.

It is the standard library's client with what measuring needs: a deadline for the whole exchange,
however slowly an answer drips; the time from the first byte sent to the last byte read; no
redirects, since a secret goes only to the host of its table; and a limit on the size of an
answer."""

from __future__ import annotations

import contextlib
import http.client
import io
import os
import socket
import ssl
import threading
import time
import zlib
from typing import Any
from urllib.parse import urlsplit

import msgspec

from assay import __version__

MOST_BYTES = 64 * 2**20  # of an answer; chosen: more is no page of hits
BLOCK = 65_536  # bytes read at a time
PORTS = {"http": 80, "https": 443}
STALE = (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError)


class Request(msgspec.Struct, frozen=True, kw_only=True):
    method: str
    url: str
    headers: dict[str, str]
    body: bytes | None = None


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """`millis` is the time of the request alone: no waiting for a turn, no reading of JSON."""

    status: int
    headers: dict[str, str]  # names in lower case
    body: bytes
    millis: float


class TooLarge(Exception):
    """More than MOST_BYTES."""


class CutShort(Exception):
    """The answer ended before it was whole."""


class Client:
    """Connections to one host, one a thread. `ca` is a file of certificates to trust."""

    def __init__(self, url: str, ca: str = "") -> None:
        split = urlsplit(url)
        self._scheme, self._host = split.scheme, split.hostname or ""
        self._port = split.port or PORTS[split.scheme]
        self._ca = ca
        self._own = threading.local()
        self._every: list[_Connection] = []
        self._context: ssl.SSLContext | None = None
        self._proxy = _proxy(self._scheme, self._host)

    def send(self, request: Request, timeout: float) -> Response:
        """The answer, whatever its status. A kept connection that the server has closed meanwhile
        is opened again."""
        until = time.monotonic() + timeout
        kept: _Connection | None = getattr(self._own, "connection", None)
        if kept is not None:
            try:
                return self._exchange(kept, request, until)
            except STALE:
                if time.monotonic() >= until:
                    raise TimeoutError from None
        self._own.connection = fresh = self._connection()
        self._every.append(fresh)
        return self._exchange(fresh, request, until)

    def close(self) -> None:
        while self._every:
            self._every.pop().close()

    def _exchange(self, connection: _Connection, request: Request, until: float) -> Response:
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        connection.until, connection.timeout = until, left
        if connection.sock is not None:
            connection.sock.settimeout(left)
        started = time.perf_counter()
        try:
            connection.request(
                request.method, self._target(request.url), request.body, _headers(request)
            )
            answer = connection.getresponse()
            body = _body(answer)
            millis = (time.perf_counter() - started) * 1000
            answer.close()
        except BaseException:
            connection.close()
            self._own.connection = None
            raise
        if answer.will_close:
            connection.close()
        headers = {name.lower(): value for name, value in answer.getheaders()}
        body = _unpacked(body, headers.get("content-encoding", ""))
        return Response(status=answer.status, headers=headers, body=body, millis=millis)

    def _target(self, url: str) -> str:
        split = urlsplit(url)
        path = f"{split.path or '/'}?{split.query}" if split.query else split.path or "/"
        if self._proxy is not None and self._scheme == "http":
            return f"{split.scheme}://{split.netloc}{path}"
        return path

    def _connection(self) -> _Connection:
        host, port = self._proxy or (self._host, self._port)
        if self._scheme == "http":
            return _Connection(host, port)
        if self._context is None:
            self._context = ssl.create_default_context(cafile=self._ca or None)
        secure = _SecureConnection(host, port, context=self._context)
        if self._proxy is not None:
            secure.set_tunnel(self._host, self._port)
        return secure


# ── a deadline for all of an answer ───────────────────────────────────────────────────────────────


class _Timed(io.RawIOBase):
    """The bytes of a socket, each block read within the time that is left."""

    def __init__(self, sock: socket.socket, connection: _Connection) -> None:
        self._raw: Any = sock.makefile("rb", buffering=0)
        self._sock, self._connection = sock, connection

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._connection.until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._sock.settimeout(left)
        _acknowledge(self._sock)
        read: int | None = self._raw.readinto(buffer)
        return read

    def close(self) -> None:
        self._raw.close()
        super().close()


def _acknowledge(sock: socket.socket) -> None:
    """Acknowledge packets at once. A server that writes head and body apart waits for that, and
    Linux would delay it by 40 ms, which would be measured as the engine's."""
    if at_once := getattr(socket, "TCP_QUICKACK", None):
        with contextlib.suppress(OSError):  # not every socket is one of TCP
            sock.setsockopt(socket.IPPROTO_TCP, at_once, 1)


class _Reader:
    """A socket as `HTTPResponse` wants one."""

    def __init__(self, sock: socket.socket, connection: _Connection) -> None:
        self._sock, self._connection = sock, connection

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Timed(self._sock, self._connection), BLOCK)


class _Connection(http.client.HTTPConnection):
    until = 0.0

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.response_class: Any = self._response

    def _response(self, sock: Any, *args: Any, **more: Any) -> http.client.HTTPResponse:
        reader: Any = _Reader(sock, self)
        return http.client.HTTPResponse(reader, *args, **more)


class _SecureConnection(http.client.HTTPSConnection, _Connection):
    pass


# ── headers, bodies, proxies ──────────────────────────────────────────────────────────────────────


def _headers(request: Request) -> dict[str, str]:
    """The default headers, replaced by those of the table."""
    own = {
        "User-Agent": f"assay/{__version__}",
        "Accept": "application/json",
        "Accept-Encoding": "identity",
    }
    named = {name.lower() for name in request.headers}
    kept = {name: value for name, value in own.items() if name.lower() not in named}
    return kept | request.headers


def _body(answer: http.client.HTTPResponse) -> bytes:
    blocks, size = [], 0
    try:
        while block := answer.read1(BLOCK):
            blocks.append(block)
            size += len(block)
            if size > MOST_BYTES:
                raise TooLarge
    except http.client.IncompleteRead as error:
        raise CutShort from error
    if answer.length:
        raise CutShort
    return b"".join(blocks)


UNPACKED = ("gzip", "x-gzip", "deflate", "identity")


def _unpacked(body: bytes, encoding: str) -> bytes:
    """The body of an answer, which a server may compress without being asked."""
    encoding = encoding.strip().lower()
    if encoding not in UNPACKED or encoding == "identity":
        return body
    # some send what deflate makes without the head that HTTP asks for
    bare = encoding == "deflate" and body[:1] and (body[0] & 15 != 8 or len(body) < 2)
    blocks, left = [], MOST_BYTES
    try:
        while body:  # one file after the other is a file of gzip too
            unpacker = zlib.decompressobj(-15 if bare else 47)
            blocks.append(unpacker.decompress(body, left))
            left -= len(blocks[-1])
            if unpacker.unconsumed_tail or left <= 0:
                raise TooLarge
            if not unpacker.eof:
                raise CutShort
            body = unpacker.unused_data
    except zlib.error as error:
        raise CutShort from error
    return b"".join(blocks)


def _proxy(scheme: str, host: str) -> tuple[str, int] | None:
    """The proxy that the environment names, for hosts that are not this machine."""
    local = host in ("localhost", "::1") or host.startswith("127.")
    if local or not any(name.lower().endswith("_proxy") for name in os.environ):
        return None
    from urllib.request import getproxies, proxy_bypass

    named = getproxies().get(scheme)
    if not named or proxy_bypass(host):
        return None
    split = urlsplit(named if "//" in named else f"//{named}")
    return (split.hostname, split.port or 80) if split.hostname else None


def host_of(url: str) -> str:
    """`host:port`, for messages."""
    return urlsplit(url).netloc
