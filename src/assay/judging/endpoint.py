"""Requests to an OpenAI-compatible chat-completions endpoint, one reply each.

The key goes to the host of the judge's table and to no other: a redirect is refused, not followed.
Error texts of the endpoint are shown short, without control characters and without the key."""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import IO, Annotated, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urljoin, urlsplit
from urllib.request import (
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    Request,
    build_opener,
)

import msgspec

from assay import __version__
from assay.core.decoding import thread_safe
from assay.engines.http import wait_of
from assay.judging.machine import (
    ChatMessage,
    EndpointUnavailable,
    Machine,
    Reply,
    RequestRefused,
    UnusableReply,
    answer_schema,
    api_key,
)

MOST_BYTES = 4 * 2**20  # of an answer; chosen, far more than any model writes
BLOCK_BYTES = 65_536  # bytes that are read at a time; chosen
ERROR_CHARACTERS = 300  # characters of an error text of the endpoint; taste
# statuses after which a later try may succeed: RFC 9110, and those of proxies in front
TEMPORARY = frozenset((408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529))
THIS_REQUEST = frozenset((400, 413, 422))  # too long, not allowed, not understood

# How an endpoint is asked: the first that it accepts. Many know no schema, some no JSON mode; newer
# models count an answer's tokens under another name, and older servers do not know that one.
SHAPES = ("json_schema", "json_object", "")
COUNTS = ("max_tokens", "max_completion_tokens")


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: Annotated[int, msgspec.Meta(ge=0)] | None = None
    completion_tokens: Annotated[int, msgspec.Meta(ge=0)] | None = None


class _Completion(msgspec.Struct):
    choices: Annotated[list[_Choice], msgspec.Meta(min_length=1)]
    usage: object = None


class _RequestShape(msgspec.Struct, frozen=True):
    shape: int = 0  # of SHAPES
    count: int = 0  # of COUNTS


# what an endpoint took last, so that it is asked that way again
_accepted: dict[str, _RequestShape] = {}


def chat(machine: Machine, messages: tuple[ChatMessage, ...], grades: tuple[int, ...]) -> Reply:
    """One reply. If the endpoint refuses a form of request, the next form is tried."""
    known = f"{machine.base_url} {machine.model}"
    manner = _accepted.get(known, _RequestShape())
    while True:
        try:
            reply = _reply(machine, _body(machine, messages, grades, manner))
        except _ShapeRefused as error:
            other = _next_shape(manner, str(error))
            if other is None:
                raise UnusableReply(f"{machine.host} refuses the request: {error}") from None
            manner = other
        else:
            _accepted[known] = manner
            return reply


class _ShapeRefused(Exception):
    """Status 400: the endpoint does not know or allow something in the request."""


def _next_shape(manner: _RequestShape, message: str) -> _RequestShape | None:
    """The next way of asking, if the error may be about the way; else None."""
    if manner.count == 0 and "max_tokens" in message:
        return _RequestShape(manner.shape, 1)
    if manner.shape + 1 < len(SHAPES):
        return _RequestShape(manner.shape + 1, manner.count)
    return None


def _body(
    machine: Machine,
    messages: tuple[ChatMessage, ...],
    grades: tuple[int, ...],
    manner: _RequestShape,
) -> bytes:
    shapes: dict[str, object] = {
        "json_object": {"type": "json_object"},
        "json_schema": {
            "type": "json_schema",
            "json_schema": {"name": "judgment", "strict": True, "schema": answer_schema(grades)},
        },
    }
    body: dict[str, object] = {
        "model": machine.model,
        "messages": messages,
        COUNTS[manner.count]: machine.max_tokens,
    }
    if machine.temperature is not None:
        body["temperature"] = machine.temperature
    if grades and (shape := SHAPES[manner.shape]):  # without a scale no verdict is asked for
        body["response_format"] = shapes[shape]
    return msgspec.json.encode(body)


def _reply(machine: Machine, body: bytes) -> Reply:
    content = _post(machine, body)
    try:
        completion = msgspec.json.decode(content, type=thread_safe(_Completion))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise _unavailable(
            f"{machine.host} answers, but not as a chat-completions endpoint does", sent=True
        ) from None
    choice, usage = completion.choices[0], _usage(completion.usage)
    return Reply(
        text=choice.message.content or choice.message.refusal or "",
        cut=choice.finish_reason == "length",
        tokens_in=usage.prompt_tokens,
        tokens_out=usage.completion_tokens,
    )


def _usage(usage: object) -> _Usage:
    """The token counts. Invalid ones are ignored: the answer counts at its upper bound."""
    try:
        return msgspec.convert(usage or {}, thread_safe(_Usage))
    except msgspec.ValidationError:
        return _Usage()


# ── the wire ──────────────────────────────────────────────────────────────────────────────────────


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(
        self,
        req: Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> None:
        """None: a redirect is an answer like any other, and an error."""
        return None


class _WithDeadline(HTTPHandler, HTTPSHandler):
    """Connections that are cut at a deadline. A timeout of a socket starts anew with every byte, so
    that an endpoint that never stops sending (a status 100 after another, headers, an error text, a
    trailer) would never be left."""

    def __init__(self, until: float) -> None:
        super().__init__()
        self._context_of_ours = ssl.create_default_context()
        self._until = until
        self._timers: list[threading.Timer] = []

    def http_open(self, req: Request) -> http.client.HTTPResponse:
        return self.do_open(self._timed(http.client.HTTPConnection), req)

    def https_open(self, req: Request) -> http.client.HTTPResponse:
        secure = partial(http.client.HTTPSConnection, context=self._context_of_ours)
        return self.do_open(self._timed(secure), req)

    def _timed(self, make: Callable[..., http.client.HTTPConnection]) -> Any:
        def connection(host: str, **options: Any) -> http.client.HTTPConnection:
            made = make(host, **options)
            connect = made.connect

            def connect_and_watch() -> None:
                connect()
                left = max(self._until - time.monotonic(), 0)
                timer = threading.Timer(left, _close_connection, (made.sock,))
                timer.daemon = True
                timer.start()
                self._timers.append(timer)

            made.connect = connect_and_watch  # type: ignore[method-assign]
            return made

        return connection

    def stop(self) -> None:
        for timer in self._timers:
            timer.cancel()


def _close_connection(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _post(machine: Machine, body: bytes) -> bytes:
    """The body of a good answer; all else is raised as what it means for the judge."""
    key = api_key(machine)
    address = f"{machine.base_url.rstrip('/')}/chat/completions"
    headers = {"Content-Type": "application/json", "User-Agent": f"assay/{__version__}"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    until = time.monotonic() + machine.timeout
    connections = _WithDeadline(until)
    opener: OpenerDirector = build_opener(_NoRedirect, connections)
    try:
        with opener.open(
            Request(address, data=body, headers=headers, method="POST"), timeout=machine.timeout
        ) as response:
            return _read_body(response, until, machine)
    except HTTPError as error:
        with error:
            found = _error_of(error, machine, key, address)
            raise _timed_out(machine) if time.monotonic() > until else found from None
    except (OSError, http.client.HTTPException) as error:
        reason = error.reason if isinstance(error, URLError) else error
        if isinstance(reason, ssl.SSLCertVerificationError):
            raise RequestRefused(f"the certificate of {machine.host} is not trusted") from None
        if isinstance(reason, TimeoutError) or time.monotonic() > until:
            raise _timed_out(machine) from None
        refused = isinstance(reason, ConnectionRefusedError)
        message = _without_key(str(reason) or type(reason).__name__, key)
        raise _unavailable(f"no answer from {machine.host}: {message}", sent=not refused) from None
    finally:
        connections.stop()


def _read_body(response: http.client.HTTPResponse, until: float, machine: Machine) -> bytes:
    """The whole body, within the size and the time that an answer may take."""
    blocks, size = [], 0
    while block := response.read1(BLOCK_BYTES):
        blocks.append(block)
        size += len(block)
        if size > MOST_BYTES:
            raise _unavailable(
                f"{machine.host} answers with more than {MOST_BYTES:,} bytes", sent=True
            )
        if time.monotonic() > until:
            raise _timed_out(machine)
    if time.monotonic() > until:
        raise _timed_out(machine)
    if response.length:
        raise _unavailable(f"the answer of {machine.host} ends too soon", sent=True)
    return b"".join(blocks)


def _error_of(error: HTTPError, machine: Machine, key: str, address: str) -> Exception:
    status, host = error.code, machine.host
    if 300 <= status < 400:
        target = urlsplit(urljoin(address, error.headers.get("Location", ""))).netloc
        return RequestRefused(
            f"{host} redirects to {_without_key(target, key) or 'nowhere'}, which was not "
            "followed; give the address itself as base_url"
        )
    if status in (401, 403):  # what it says may repeat a part of the key
        return RequestRefused(f"{host} does not accept the key (status {status})")
    message = _error_text(error, key)
    if status == 400:
        return _ShapeRefused(message)
    if status in THIS_REQUEST:
        return UnusableReply(f"{host} refuses the request: {message}")
    if status in TEMPORARY:
        wait = wait_of(error.headers.get("Retry-After", ""))
        asks = f" and asks to wait {wait:,.0f} seconds" if wait else ""
        return _unavailable(f"{host} answers {message}{asks}", wait=wait)
    return RequestRefused(f"{host} answers {message}")


def _error_text(error: HTTPError, key: str) -> str:
    try:
        text = error.read(BLOCK_BYTES).decode("utf-8", "replace")
    except (OSError, http.client.HTTPException):
        text = ""
    return _without_key(f"status {error.code}: {' '.join(text.split())}".rstrip(": "), key)


def _without_key(text: str, key: str) -> str:
    """A message of the endpoint, fit to be shown: the key is removed before the text is cut, which
    could leave a part of it."""
    if key:
        text = text.replace(key, "***")
    text = "".join(character if character.isprintable() else " " for character in text)
    return text if len(text) <= ERROR_CHARACTERS else f"{text[:ERROR_CHARACTERS]}…"


def _timed_out(machine: Machine) -> EndpointUnavailable:
    return _unavailable(f"no answer from {machine.host} in {machine.timeout:g} seconds", sent=True)


def _unavailable(
    message: str, *, wait: float | None = None, sent: bool = False
) -> EndpointUnavailable:
    error = EndpointUnavailable(message)
    error.wait, error.sent = wait, sent
    return error
