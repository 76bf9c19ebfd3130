"""An engine behind an HTTP address, described by a table: the request with places in it, and where
in the answer the hits, their ids and their scores are (JMESPath).

    [engines.prod]
    http = "http://127.0.0.1:9200/opinions/_search"
    method = "POST"
    body = '{"size": {{top_k}}, "query": {"match": {"text": {{query}}}}}'
    hits = "hits.hits"
    id = "_id"
    score = "_score"
    headers = { Authorization = "env:SEARCH_KEY" }

A preset is such a table, whose keys the user's replace. A secret is named, and read from the
environment when the engine is opened."""

from __future__ import annotations

import base64
import math
import ssl
import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from urllib.parse import quote, quote_plus, urlencode, urljoin, urlsplit

import msgspec

from assay.core.errors import EngineError, InputError
from assay.core.types import Hit, SearchEngine
from assay.engines.calling import Answer, Late, Temporary
from assay.engines.connecting import EngineKind
from assay.engines.described import DEFAULT_TIMEOUT
from assay.engines.extracting import Reading, not_read, read_hits
from assay.engines.http_table import (
    HttpTable,
    Pattern,
    complete,
    form_like,
    mistake,
    pattern_of,
)
from assay.engines.secrets import filled, hidden, names_in, values_of
from assay.engines.templates import Template, Values, as_text, fill, with_keys
from assay.engines.transport import (
    MOST_BYTES,
    Client,
    CutShort,
    Request,
    Response,
    TooLarge,
    host_of,
)

SHOWN = 300  # characters of what a server says of an error
RETRIED = frozenset((408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529))


class HttpEngine(SearchEngine):
    """Asks the address of a table. It keeps to the limit of time itself, and may be asked from
    several threads: each has a connection of its own."""

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
        """`known` is what the row of a gold set knows, by the names of its places."""
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
        """The request, with its secrets in it: not for people."""
        values = {name: value for name, value in known.items() if value not in (None, "", {}, [])}
        values |= {"query": query, "top_k": top_k}
        pattern, table = self._pattern, self._table
        url = fill(pattern.url, values, "url")
        params = [(name, _plain(template, values)) for name, template in pattern.params]
        if params:
            url += ("&" if "?" in url else "?") + urlencode(params)
        body = None
        if pattern.body:
            body = fill(pattern.body, values, "form" if form_like(table) else "json").encode()
        return Request(method=table.method, url=url, headers=self._headers, body=body)

    def send(self, request: Request, timeout: float, *, raising: bool = True) -> Response:
        """The answer. Whatever keeps it from coming is raised in words, without the secrets; and
        so is a status that may pass, unless it is to be looked at."""
        host = host_of(self._table.http)
        started = time.monotonic()
        try:
            response = self._client.send(request, timeout)
        except TimeoutError:
            raise Late(timeout) from None
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
            said = self.shown(str(error) or type(error).__name__)
            if isinstance(error, OSError) and time.monotonic() - started >= timeout:
                raise Late(timeout) from None
            raise Temporary(f"no answer from {host}: {said}") from None
        if raising and response.status in RETRIED:
            wait = wait_of(response.headers.get("retry-after", ""))
            raise Temporary(self.said(response), wait)
        return response

    def read(self, response: Response, top_k: int) -> Reading:
        """What the answer holds, or what is wrong with it."""
        if not 200 <= response.status < 300:
            return not_read(self.said(response))
        reading = read_hits(response, self._pattern, top_k)
        wrong = tuple(self.shown(text) for text in reading.wrong)
        return msgspec.structs.replace(reading, wrong=wrong)

    def said(self, response: Response) -> str:
        """What an answer with an error says, in words and without the secrets."""
        host, status = host_of(self._table.http), response.status
        if 300 <= status < 400:
            target = urljoin(self._table.http, response.headers.get("location", ""))
            place = urlsplit(target)
            shown = self.shown(f"{place.scheme}://{place.netloc}{place.path}")
            return (
                f"{host} redirects to {shown}, which was not followed: a key goes to one host "
                "alone; write that address as http"
            )
        text = self.shown(" ".join(response.body[:4096].decode("utf-8", "replace").split()))
        if status in (401, 403):
            named = dict.fromkeys(name for text in self._naming() for name in names_in(text))
            key = f" in {', '.join(named)}" if named else ": the table names none"
            return f"{host} answers status {status}: it does not accept the key{key}" + (
                f"; it says: {text}" if text else ""
            )
        return f"{host} answers status {status}" + (f": {text}" if text else "")

    def shown(self, text: str) -> str:
        """What others wrote, fit to be shown: the secrets go before it is cut, which could leave a
        part of one."""
        text = hidden(text, self._secrets)
        text = "".join(character if character.isprintable() else " " for character in text)
        return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"

    def shown_headers(self) -> dict[str, str]:
        """The headers of the table, where a key is its name."""
        shown = dict(self._headers)
        shown |= {name: value for name, value in self._table.headers.items() if value}
        if self._table.login:
            shown["Authorization"] = f"Basic {self._table.login}"
        return shown

    def masked(self, text: str) -> str:
        """The text without the secrets."""
        return hidden(text, self._secrets)

    def _naming(self) -> tuple[str, ...]:
        """The texts of the table that may name a key."""
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
            name: filled(value, f"{where}.headers.{name}")
            for name, value in table.headers.items()
            if value
        }
        secrets = values_of(self._naming())
        if table.login:
            login = filled(table.login, f"{where}.login")
            basic = base64.b64encode(login.encode()).decode()
            headers["Authorization"] = f"Basic {basic}"
            secrets = (*secrets, basic, login.partition(":")[2])
        for name, value in headers.items():
            if not value.isprintable() or not value.isascii():
                raise InputError("a header has printable ASCII alone", where=f"{where}.{name}")
        if table.body and not any(name.lower() == "content-type" for name in headers):
            headers["Content-Type"] = "application/json"
        spelled = {form for secret in secrets for form in _spellings(secret)}
        self._secrets = tuple(secret for secret in spelled if secret)
        return headers


def with_keys_of(table: HttpTable, where: str) -> Pattern:
    """The pattern of a complete table, with the keys that its address, its body and its parameters
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
    """How a key may be written where it is repeated."""
    in_json = msgspec.json.encode(secret).decode()[1:-1]
    return secret, quote(secret), quote(secret, safe=""), quote_plus(secret), in_json


def _plain(template: Template, values: Values) -> str:
    """A value of `params`, which is percent-encoded as a whole."""
    return "".join(part if isinstance(part, str) else as_text(part, values) for part in template)


def wait_of(value: str) -> float | None:
    """Retry-After: seconds, or a date."""
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


HTTP = EngineKind(settings=HttpTable, make=HttpEngine, check=mistake, files=("ca",))
