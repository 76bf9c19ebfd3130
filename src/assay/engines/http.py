"""The engine behind an HTTP address: a table has the request with placeholders, and JMESPath
expressions for the hits, their ids and their scores in the answer.

    [engines.prod]
    http = "http://127.0.0.1:9200/opinions/_search"
    method = "POST"
    body = '{"size": {{top_k}}, "query": {"match": {"text": {{query}}}}}'
    hits = "hits.hits"
    id = "_id"
    score = "_score"
    headers = { Authorization = "env:SEARCH_KEY" }

A preset is such a table, whose keys the user's own replace. A secret is named in the table, and
read from the environment when the engine is opened. An answer that cannot be read is reported with
the key of the table to change."""

from __future__ import annotations

import base64
import contextlib
import http.client
import io
import json
import math
import os
import socket
import ssl
import threading
import time
import zlib
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from itertools import pairwise
from typing import Any
from urllib.parse import quote, quote_plus, urlencode, urljoin, urlsplit

import msgspec

from assay import __version__
from assay.core.errors import EngineError, InputError
from assay.core.redaction import MASK
from assay.core.types import Hit, SearchEngine
from assay.engines.calling import Answer, OutOfTime, Temporary
from assay.engines.engine_table import DEFAULT_TIMEOUT, EngineKind
from assay.engines.http_table import (
    HttpTable,
    Pattern,
    Template,
    Values,
    as_text,
    complete,
    fill,
    form_like,
    mistake,
    pattern_of,
    with_keys,
)
from assay.engines.mapping import fields_of, lists_in, number
from assay.engines.secrets import SHORTEST, secret_names, values_of, with_secrets, without_secrets

ERROR_CHARACTERS = 300  # characters of what a server says of an error; taste
# failures that may pass: RFC 9110, 6585 and 8470; 520 to 524 are Cloudflare's, 529 is a custom
RETRIED = frozenset((408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529))


class HttpEngine(SearchEngine):
    """The engine at the address of a table. It keeps to the time limit itself. Several threads may
    search at once: each has a connection of its own."""

    keeps_time = True

    def __init__(self, name: str, table: HttpTable) -> None:
        self._name = name
        self._table: HttpTable = complete(table)
        self._pattern: Pattern = with_keys_of(self._table, f"engines.{name}")
        self._client = Client(self._table.http, self._table.ca)
        self._secrets: tuple[str, ...] = ()
        self._headers = self._made_headers()

    def name(self) -> str:
        return self._name

    def close(self) -> None:
        self._client.close()

    def search(
        self,
        query: str,
        top_k: int = 20,
        *,
        timeout: float = DEFAULT_TIMEOUT,
        **known: object,
    ) -> Answer[Hit]:
        """`known` has the values of the gold set's row, by the names of their placeholders."""
        request = self.request(query, top_k, known)
        response = self.send(request, timeout)
        reading = self.read(response, top_k)
        if reading.wrong:
            raise (Temporary if reading.may_pass else EngineError)(reading.wrong[0])
        answer: Answer[Hit] = Answer(reading.hits)
        answer.millis = response.millis
        return answer

    # ── the steps, which `engines test` takes one by one ──────────────────────────────────────────

    def request(self, query: str, top_k: int, known: dict[str, object]) -> Request:
        """The request, with its secrets: it must not be shown."""
        values = {name: value for name, value in known.items() if value not in (None, "", {}, [])}
        values = {**self._table.parameters, **values, "query": query, "top_k": top_k}
        pattern, table = self._pattern, self._table
        url = fill(pattern.url, values, "url")
        params = [(name, _param_text(template, values)) for name, template in pattern.params]
        if params:
            url += ("&" if "?" in url else "?") + urlencode(params)
        body = None
        if pattern.body:
            body = fill(pattern.body, values, "form" if form_like(table) else "json").encode()
        return Request(method=table.method, url=url, headers=self._headers, body=body)

    def send(self, request: Request, timeout: float, *, raising: bool = True) -> Response:
        """The answer. A failure is raised as an error without secrets, and so is a temporary status
        if `raising`."""
        host = host_of(self._table.http)
        started = time.monotonic()
        try:
            response = self._client.send(request, timeout)
        except TimeoutError:
            raise OutOfTime(timeout) from None
        except ssl.SSLCertVerificationError as error:
            raise EngineError(
                f"the certificate of {host} is not trusted: {error.verify_message}; "
                'a certificate of your own is named with ca = "FILE.pem"'
            ) from None
        except TooLarge:
            raise EngineError(
                f"{host} answers with more than {MOST_BYTES >> 20} MB: ask for fewer hits or fields"
            ) from None
        except CutShort:
            raise Temporary(f"the answer of {host} ends too soon") from None
        except ConnectionRefusedError:
            raise Temporary(f"nothing answers at {host}: the connection is refused") from None
        except (OSError, HTTPException, ValueError) as error:
            said = self.without_secrets(str(error) or type(error).__name__)
            if isinstance(error, OSError) and time.monotonic() - started >= timeout:
                raise OutOfTime(timeout) from None
            raise Temporary(f"no answer from {host}: {said}") from None
        if raising and response.status in RETRIED:
            wait = wait_of(response.headers.get("retry-after", ""))
            raise Temporary(self.error_message(response), wait)
        return response

    def read(self, response: Response, top_k: int) -> AnswerReading:
        """The hits of the answer, or its mistakes."""
        if not 200 <= response.status < 300:
            return not_read(self.error_message(response))
        reading = read_hits(self._without_secrets(response), self._pattern, top_k)
        wrong = tuple(self.without_secrets(text) for text in reading.wrong)
        return msgspec.structs.replace(reading, wrong=wrong)

    def _without_secrets(self, response: Response) -> Response:
        """The answer of a server that repeats a key, also in its hits, which are kept."""
        body = response.body
        for secret in self._secrets:
            if len(secret) > SHORTEST:
                body = body.replace(secret.encode(), MASK.encode())
        return msgspec.structs.replace(response, body=body)

    def error_message(self, response: Response) -> str:
        """The message for an answer with an error status, without secrets."""
        host, status = host_of(self._table.http), response.status
        if 300 <= status < 400:
            target = urljoin(self._table.http, response.headers.get("location", ""))
            place = urlsplit(target)
            shown = self.without_secrets(f"{place.scheme}://{place.netloc}{place.path}")
            return (
                f"{host} redirects to {shown}, which was not followed: a key goes to one host "
                "alone; write that address as http"
            )
        text = self.without_secrets(
            " ".join(response.body[:4096].decode("utf-8", "replace").split())
        )
        if status in (401, 403):
            named = dict.fromkeys(
                name for text in self._secret_texts() for name in secret_names(text)
            )
            key = f" in {', '.join(named)}" if named else ": the table names none"
            return f"{host} answers status {status}: it does not accept the key{key}" + (
                f"; it says: {text}" if text else ""
            )
        return f"{host} answers status {status}" + (f": {text}" if text else "")

    def without_secrets(self, text: str) -> str:
        """A text of the server as it may be shown. Secrets are removed before it is cut, which
        could leave a part of one."""
        text = without_secrets(text, self._secrets)
        text = "".join(character if character.isprintable() else " " for character in text)
        return text if len(text) <= ERROR_CHARACTERS else f"{text[:ERROR_CHARACTERS]}…"

    def shown_headers(self) -> dict[str, str]:
        """The headers as they may be shown, with secrets by their names."""
        shown = dict(self._headers)
        shown |= {name: value for name, value in self._table.headers.items() if value}
        if self._table.login:
            shown["Authorization"] = f"Basic {self._table.login}"
        return shown

    def masked(self, text: str) -> str:
        """The text without the secrets."""
        return without_secrets(text, self._secrets)

    def _secret_texts(self) -> tuple[str, ...]:
        """The texts of the table that may name a secret."""
        table = self._table
        return (
            *table.headers.values(),
            *table.params.values(),
            table.login,
            table.http,
            table.body,
        )

    def _made_headers(self) -> dict[str, str]:
        table, where = self._table, f"engines.{self._name}"
        headers = {
            name: with_secrets(value, f"{where}.headers.{name}")
            for name, value in table.headers.items()
            if value
        }
        secrets = values_of(self._secret_texts())
        if table.login:
            login = with_secrets(table.login, f"{where}.login")
            basic = base64.b64encode(login.encode()).decode()
            headers["Authorization"] = f"Basic {basic}"
            secrets = (*secrets, basic, login.partition(":")[2])
        for name, value in headers.items():
            if not value.isprintable() or not value.isascii():
                raise InputError("a header may have only printable ASCII", where=f"{where}.{name}")
        if table.body and not any(name.lower() == "content-type" for name in headers):
            headers["Content-Type"] = "application/json"
        spelled = {form for secret in secrets for form in _spellings(secret)}
        self._secrets = tuple(secret for secret in spelled if secret)
        return headers


def with_keys_of(table: HttpTable, where: str) -> Pattern:
    """The pattern of a complete table, with the secrets that its address, body and parameters
    name."""
    pattern = pattern_of(table, where)
    return msgspec.structs.replace(
        pattern,
        url=with_keys(pattern.url, "url", f"{where}.http"),
        body=with_keys(pattern.body, "form" if form_like(table) else "json", f"{where}.body"),
        params=tuple(
            (name, with_keys(template, None, f"{where}.params.{name}"))
            for name, template in pattern.params
        ),
    )


def _spellings(secret: str) -> tuple[str, ...]:
    """The ways in which an answer may spell a secret."""
    in_json = msgspec.json.encode(secret).decode()[1:-1]
    return secret, quote(secret), quote(secret, safe=""), quote_plus(secret), in_json


def _param_text(template: Template, values: Values) -> str:
    """A value of `params`, which is percent-encoded as a whole."""
    return "".join(part if isinstance(part, str) else as_text(part, values) for part in template)


def wait_of(value: str) -> float | None:
    """The seconds to wait by a Retry-After header, which has seconds or a date."""
    try:
        seconds = float(value)
    except ValueError:
        try:
            date = parsedate_to_datetime(value)
        except (ValueError, TypeError):
            return None
        date = date if date.tzinfo else date.replace(tzinfo=UTC)
        seconds = date.timestamp() - datetime.now(UTC).timestamp()
    return max(0.0, seconds) if math.isfinite(seconds) else None


# ── reading an answer ─────────────────────────────────────────────────────────────────────────────

KEYS_SHOWN = 12  # keys of an answer in a message; taste
CLOSED_BY = {b"{": b"}", b"[": b"]"}


class AnswerReading(msgspec.Struct, frozen=True, kw_only=True):
    """The hits of an answer, or its mistakes in `wrong`, after which no hit counts. They `may_pass`
    if the answer was cut short. `notes` are hints for `engines test`."""

    hits: tuple[Hit, ...] = ()
    wrong: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    may_pass: bool = False


def not_read(why: str) -> AnswerReading:
    return AnswerReading(wrong=(why,))


def read_hits(response: Response, pattern: Pattern, top_k: int) -> AnswerReading:
    """The hits of an answer. If there are more than `top_k`, the first documents count: a table may
    ask for many passages to get enough documents."""
    answer, wrong, cut_short = decode_json(response)
    if wrong:
        return AnswerReading(wrong=(wrong,), may_pass=cut_short)
    if pattern.error is not None and (said := _evaluate(pattern.error, answer)):
        return not_read(f"the answer says: {said if isinstance(said, str) else _shorten(said)}")
    found = _evaluate(pattern.hits, answer)
    if not isinstance(found, list):
        return not_read(_no_list(pattern, answer, found))
    hits: list[Hit] = []
    for rank, item in enumerate(found, start=1):
        if len(hits) == top_k:
            break
        doc_id = _id(_evaluate(pattern.id, item))
        if doc_id is None:
            return not_read(_no_id(pattern, item, rank))
        if len(found) > top_k and any(hit.doc_id == doc_id for hit in hits):
            continue
        said = _evaluate(pattern.score, item) if pattern.score is not None else None
        score = number(said)
        if said is not None and score is None:
            return not_read(
                f"score = {_text(pattern.score)} finds {_shorten(said)} at rank {rank}, "
                "which is no number"
            )
        hits.append(_hit(doc_id, score, pattern, item))
    notes = (*_notes(hits, pattern, found, top_k), *_unread_error(found, pattern, answer))
    return AnswerReading(hits=tuple(hits), notes=notes)


def decode_json(response: Response) -> tuple[Any, str, bool]:
    """The JSON of an answer; or its mistake, and whether it was cut short."""
    for text in (response.body, _respelled(response)):
        try:
            return msgspec.json.decode(text), "", False
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
    kind = response.headers.get("content-type", "").partition(";")[0].strip()
    start = " ".join(response.body[:160].decode("utf-8", "replace").split())
    if not response.body:
        wrong = f"the answer is empty (status {response.status}), and JSON is expected"
        return None, wrong, False
    packed = response.headers.get("content-encoding", "").strip().lower()
    if packed and packed not in UNPACKED:
        wrong = f"the answer is packed by {packed!r}, though it was asked for as it is"
        return None, wrong, False
    if "html" in kind or start.lower().startswith(("<!doctype html", "<html")):
        wrong = (
            "the answer is a web page and not JSON: is this the address of the service itself, and "
            f"not of a login page, a proxy or a console? It begins: {start}"
        )
        return None, wrong, False
    named = f" ({kind})" if kind else ""
    body = response.body.strip()
    if body[:1] in CLOSED_BY and not body.endswith(CLOSED_BY[body[:1]]):
        end = " ".join(response.body[-80:].decode("utf-8", "replace").split())
        return None, f"the answer{named} ends too soon, in the middle of its JSON: …{end}", True
    return None, f"the answer{named} is not JSON; it begins: {start}", False


def _respelled(response: Response) -> str | bytes:
    """The body in the encoding that its header or its first bytes name; JSON is UTF-8, but some
    servers use another."""
    _, _, named = response.headers.get("content-type", "").lower().partition("charset=")
    letters = named.partition(";")[0].strip(" \"'") or json.detect_encoding(response.body)
    if letters in ("utf-8", "utf8"):
        letters = "utf-8-sig"
    try:
        return response.body.decode(letters)
    except (LookupError, UnicodeDecodeError):
        return response.body


def _evaluate(expression: Any, value: Any) -> Any:
    """The value that an expression finds; a function with unsuitable arguments finds nothing."""
    from jmespath.exceptions import JMESPathError

    try:
        return expression.search(value)
    except (JMESPathError, TypeError):
        return None


def _id(value: Any) -> str | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return str(value)
    return value if isinstance(value, str) and value else None


def _hit(doc_id: str, score: float | None, pattern: Pattern, item: Any) -> Hit:
    return Hit(
        doc_id=doc_id,
        score=score,
        title=_words(pattern.title, item),
        text=_words(pattern.text, item),
    )


def _words(expression: Any, item: Any) -> str:
    found = _evaluate(expression, item) if expression is not None else None
    return found if isinstance(found, str) else ""


# ── messages ──────────────────────────────────────────────────────────────────────────────────────


def _text(expression: Any) -> str:
    return repr(expression.expression)


def _shorten(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 80 else f"{text[:80]}…"


def _keys(value: Any) -> str:
    if isinstance(value, dict):
        names = list(value)
        more = ", …" if len(names) > KEYS_SHOWN else ""
        return f"It has the keys {', '.join(names[:KEYS_SHOWN])}{more}." if names else "It is {}."
    if isinstance(value, list):
        return f"It is a list of {len(value)}."
    return f"It is {_shorten(value)}."


def _no_list(pattern: Pattern, answer: Any, found: Any) -> str:
    if _is_null(pattern, answer):
        path = pattern.hits.expression
        return (
            f"hits = {_text(pattern.hits)} is null in the answer. If that means that there are no "
            f'hits, write hits = "{path} || `[]`"'
        )
    what = "nothing" if found is None else f"{_shorten(found)}, which is no list,"
    here = "" if found is None else _keys(found) if isinstance(found, dict) else ""
    likely = lists_in(answer)
    try_it = f" Perhaps hits = {likely[0]!r}?" if likely else ""
    return (
        f"hits = {_text(pattern.hits)} finds {what} in the answer. {here or _keys(answer)}{try_it}"
    )


def _is_null(pattern: Pattern, answer: Any) -> bool:
    """Whether a plain path leads to a null, and is not missing."""
    for name in pattern.hits.expression.split("."):
        if not isinstance(answer, dict) or name not in answer:
            return False
        answer = answer[name]
    return answer is None


def _no_id(pattern: Pattern, item: Any, rank: int) -> str:
    found = _evaluate(pattern.id, item)
    what = "nothing" if found is None else f"{_shorten(found)}, which is no id,"
    likely = [one.path for one in fields_of([item]) if one.part == "id"]
    if isinstance(found, list) and found and _id(found[0]):
        likely = [f"{pattern.id.expression}[0]"]
    try_it = f" Perhaps id = {likely[0]!r}?" if likely else ""
    return f"id = {_text(pattern.id)} finds {what} at rank {rank}. {_keys(item)}{try_it}"


def _notes(hits: list[Hit], pattern: Pattern, found: list[Any], top_k: int) -> list[str]:
    notes = []
    if not found:
        notes.append("there are no hits for this query")
    if len(found) > top_k:
        notes.append(
            f"{len(found)} hits came and {top_k} were asked for: is {{{{top_k}}}} in the request?"
        )
    ids = [_id(_evaluate(pattern.id, item)) for item in found[:top_k]]
    if len(set(ids)) < len(ids):
        notes.append(
            f"{len(ids) - len(set(ids))} ids come twice: a run keeps the first place of each"
        )
    if pattern.score is not None and hits and all(hit.score is None for hit in hits):
        notes.append(f"score = {_text(pattern.score)} finds nothing: the hits have no scores")
    if pattern.score is None and hits:
        key = next((one.path for one in fields_of(found) if one.part == "score"), "")
        notes += [f'the hits have no scores: write score = "{key}" to read theirs'] if key else []
    scores = [hit.score for hit in hits if hit.score is not None]
    if any(later > earlier for earlier, later in pairwise(scores)):
        notes.append("scores rise further down: the order of the answer counts, not the scores")
    return notes


ERRORS = ("error", "errors", "exception", "message", "detail")  # usual names


def _unread_error(found: list[Any], pattern: Pattern, answer: Any) -> list[str]:
    """A note on an answer without hits that has an error which the table does not read."""
    if found or pattern.error is not None or not isinstance(answer, dict):
        return []
    key = next((key for key in ERRORS if answer.get(key)), "")
    told = f'the answer has a key {key}, {_shorten(answer.get(key))}: write error = "{key}"'
    return [f"{told} to have it read as an error"] if key else []


HTTP = EngineKind(settings=HttpTable, make=HttpEngine, check=mistake, files=("ca",))


# ── the HTTP client, on connections that are kept ─────────────────────────────────────────────────


MOST_BYTES = 64 * 2**20  # of an answer; chosen: more is no page of hits
BLOCK_BYTES = 65_536  # bytes read at a time (taste)
PORTS = {"http": 80, "https": 443}  # RFC 9110
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
        return io.BufferedReader(_Timed(self._sock, self._connection), BLOCK_BYTES)


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
        while block := answer.read1(BLOCK_BYTES):
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
