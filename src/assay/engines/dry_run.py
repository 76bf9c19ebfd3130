"""A dry run of one query: the request, the answer, the hits that were read from it, and the
mistakes."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from assay.core.errors import AssayError, EngineError
from assay.core.types import Hit, Query
from assay.engines.calling import AllFailed
from assay.engines.engine_table import EngineConfig
from assay.engines.http import RETRIED, HttpEngine, Request
from assay.engines.running import ask_engine, opened

MOST = 20_000  # characters of an answer that are kept


class SentRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request as it may be shown, with secrets by their names."""

    method: str
    url: str
    headers: dict[str, str]
    body: str = ""


class ReceivedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    status: int
    type: str
    bytes: int
    text: str


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one query. `wrong` has the errors that keep the engine from being measured,
    `notes` what is worth a look."""

    engine: str
    kind: str
    query: str
    top_k: int
    ok: bool
    request: SentRequest | None = None
    answer: ReceivedAnswer | None = None
    millis: float | None = None
    hits: list[Hit] = []
    wrong: list[str] = []
    notes: list[str] = []


def try_engine(config: EngineConfig, query: str, top_k: int, known: Mapping[str, object]) -> Trial:
    if config.kind:
        with opened(config) as engine:
            if isinstance(engine, HttpEngine):
                return _over_http(engine, config, query, top_k, known)
    return _any(config, query, top_k, known)


def kind_word(config: EngineConfig) -> str:
    """The word for the kind of an engine."""
    if config.kind:
        return config.kind
    plain = {
        "corpora": bool(config.routes),
        "run": bool(config.run),
        "search_module": bool(config.search_module),
    }
    return next((word for word, is_so in plain.items() if is_so), "engine")


def _any(config: EngineConfig, query: str, top_k: int, known: Mapping[str, object]) -> Trial:
    asked = Query(id="test", text=query, corpus=str(known.get("corpus", "")), extra=dict(known))
    trial = Trial(engine=config.name, kind=kind_word(config), query=query, top_k=top_k, ok=False)
    try:
        _, (result,) = ask_engine(config, [asked], top_k=top_k)
    except AllFailed as error:
        return msgspec.structs.replace(trial, wrong=[error.first])
    except EngineError as error:
        return msgspec.structs.replace(trial, wrong=[str(error)])
    return msgspec.structs.replace(
        trial,
        ok=True,
        hits=list(result.hits),
        millis=result.millis,
        notes=[] if result.hits else ["there are no hits for this query"],
    )


def _over_http(
    engine: HttpEngine, config: EngineConfig, query: str, top_k: int, known: Mapping[str, object]
) -> Trial:
    request = engine.request(query, top_k, dict(known))
    trial = Trial(
        engine=config.name,
        kind=config.kind,
        query=query,
        top_k=top_k,
        ok=False,
        request=_sent(engine, request),
    )
    try:
        response = engine.send(request, config.calls.timeout, raising=False)
    except AssayError as error:
        return msgspec.structs.replace(trial, wrong=[str(error)])
    reading = engine.read(response, top_k)
    may_pass = response.status in RETRIED or reading.may_pass
    again = config.calls.retries if may_pass else 0
    passing = [f"this may pass: a run asks again up to {again} times"] if again else []
    text = response.body[: 4 * MOST].decode("utf-8", "replace")
    return msgspec.structs.replace(
        trial,
        ok=not reading.wrong,
        answer=ReceivedAnswer(
            status=response.status,
            type=response.headers.get("content-type", ""),
            bytes=len(response.body),
            text=engine.masked(text)[:MOST],
        ),
        millis=response.millis,
        hits=list(reading.hits),
        wrong=list(reading.wrong),
        notes=[*reading.notes, *passing],
    )


def _sent(engine: HttpEngine, request: Request) -> SentRequest:
    body = (request.body or b"").decode("utf-8", "replace")
    return SentRequest(
        method=request.method,
        url=engine.masked(request.url),
        headers=engine.shown_headers(),
        body=engine.masked(body),
    )
