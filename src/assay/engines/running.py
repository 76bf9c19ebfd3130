"""Opens the engine of a configuration and runs it on a gold set: in this process, in its own, on a
cluster, or as several engines; and tries one query, for `assay engines test`.

A Python module is somebody else's code: it runs in a process of its own, so that one that exits,
crashes or hangs is an error of the engine, and never the end of the command. If a table routes each
corpus to an engine of its own, each row goes to the engine of its corpus.

An engine that another package adds is a class, or a function that makes one. If it has a parameter
`documents`, it gets those of `--corpus`; otherwise it is called without arguments, as a class in
`--search-module` is. Corpora and Assay's own search take long to import, and are imported where
they are used: an engine over HTTP needs neither."""

from __future__ import annotations

import contextlib
import inspect
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from assay.core import cluster, plugins
from assay.core.errors import AssayError, EngineError, InputError, UsageError, nearest_name
from assay.core.types import Hit, JsonObject, Query, QueryResult, counted
from assay.core.workers import Failure, Job, is_worker, note, run_apart, run_jobs
from assay.core.workspace import workspace
from assay.engines.calling import (
    SLACK,
    AllFailed,
    Progress,
    ask_all,
    longest_wait,
    refuse_all_failed,
    stdout_to_stderr,
)
from assay.engines.engine_table import EngineConfig, kind_of, settings_of
from assay.engines.python import (
    as_engine,
    error_text,
    load_engine,
    parameters_of,
    split_keywords,
    with_keywords,
)

if TYPE_CHECKING:
    from assay.corpus.lookup import FileIds
    from assay.engines.http import HttpEngine, Request

Say = Callable[[str], None]
START = 300.0  # seconds that a module has to be imported and to make its engine (taste)
NAMES_IN_MESSAGE = 5  # names in a message (taste)


def ask_engine(
    config: EngineConfig,
    queries: Sequence[Query],
    *,
    top_k: int,
    progress: Progress = lambda queries: queries,
    say: Say = lambda text: None,
) -> tuple[str, list[QueryResult]]:
    """The engine's name and its answers, in the order of the queries. Hits on files of its corpus
    have the ids of their documents."""
    if config.routes:
        return config.name, _ask_routed(config, queries, top_k=top_k, progress=progress, say=say)
    name, results = _answers(config, queries, top_k=top_k, progress=progress, say=say)
    if (files := _files_of(config)) is None:
        return name, results
    return name, [
        msgspec.structs.replace(result, hits=tuple(_with_documents(result.hits, files)))
        for result in results
    ]


def _answers(
    config: EngineConfig,
    queries: Sequence[Query],
    *,
    top_k: int,
    progress: Progress = lambda queries: queries,
    say: Say = lambda text: None,
) -> tuple[str, list[QueryResult]]:
    if cluster.is_on():
        return _ask_in_parts(config, queries, top_k)
    if config.search_module is not None and not is_worker():
        return _ask_in_process(config, queries, top_k, progress)
    with stdout_to_stderr(), engine_session(config, say) as engine:
        note(0)
        return ask_all(
            engine, queries, top_k=top_k, calls=config.calls, progress=_noting_progress(progress)
        )


@contextlib.contextmanager
def engine_session(config: EngineConfig, say: Say = lambda text: None) -> Iterator[Any]:
    """The engine; if it is one of Assay's own kinds, its connections are closed at the end."""
    engine = open_engine(config, say)
    try:
        yield engine
    finally:
        if config.kind and callable(close := getattr(engine, "close", None)):
            close()


def _files_of(config: EngineConfig) -> FileIds | None:
    """The files of the corpus that an engine which is not ours is said to search."""
    if not config.corpus or not (config.search_module or config.kind):
        return None
    from assay.corpus.lookup import FileIds, corpus_named, is_corpus

    corpus = corpus_named(config.corpus) if is_corpus(config.corpus) else None
    return FileIds(corpus) if corpus is not None and corpus.manifest.kind == "documents" else None


def _with_documents(hits: Iterable[Hit], files: FileIds) -> Iterator[Hit]:
    for hit in hits:
        yield msgspec.structs.replace(hit, doc_id=files.document(hit.doc_id))


def quiet_of(config: EngineConfig) -> tuple[float, float] | None:
    """The seconds that a process may be silent: while a module is imported, and for one query.
    Assay's own index has no limit, since it may have to be built first."""
    if config.routes:
        every = [quiet_of(part) for part in config.routes.values()]
        known = [quiet for quiet in every if quiet is not None]
        return max(known) if len(known) == len(every) else None
    if config.engine is not None or config.run is not None:
        return None
    rounds = -(-config.calls.warm_up // config.calls.concurrency) + 1
    return START, rounds * longest_wait(config.calls) + 10 * SLACK


def _noting_progress(progress: Progress) -> Progress:
    """The progress with a sign of life after every query, for a worker."""

    def noted(queries: Iterable[Query]) -> Iterator[Query]:
        for done, query in enumerate(progress(queries), start=1):
            yield query
            note(done)

    return noted


# ── on a cluster ──────────────────────────────────────────────────────────────────────────────────


def _ask_in_parts(
    config: EngineConfig, queries: Sequence[Query], top_k: int
) -> tuple[str, list[QueryResult]]:
    """Run the queries in parts, each by a worker in a process of its own."""
    folder = config.folder or os.getcwd()
    parts = enumerate(cluster.even_parts(queries))
    home = str(workspace().resolve())
    made = [
        answer for _, answer in cluster.map_on_cluster(ask_part, parts, config, top_k, folder, home)
    ]
    results = [result for _, part in made for result in part]
    name = made[0][0] if made else config.name
    refuse_all_failed(name, results)
    return name, results


def ask_part(
    queries: Sequence[Query], config: EngineConfig, top_k: int, folder: str, home: str
) -> tuple[str, list[QueryResult]]:
    """Run a part of the queries in a new process, so that an engine that exits does not end the
    worker."""
    arguments = (msgspec.structs.replace(config, folder=folder), tuple(queries), top_k, home)
    answer = run_apart(Job(_ask_part_here, arguments, quiet=quiet_of(config)))
    if isinstance(answer, Failure):
        raise answer.error or failed_process(answer)
    return answer


def _ask_part_here(
    config: EngineConfig, queries: Sequence[Query], top_k: int, home: str
) -> tuple[str, list[QueryResult]]:
    os.environ["ASSAY_HOME"] = home
    try:
        return ask_here(config, queries, top_k)
    except AllFailed as error:  # other parts may have answers
        return error.name, list(error.results)


# ── in a process of its own ───────────────────────────────────────────────────────────────────────


def _ask_in_process(
    config: EngineConfig, queries: Sequence[Query], top_k: int, progress: Progress
) -> tuple[str, list[QueryResult]]:
    job = Job(ask_here, (config, tuple(queries), top_k), quiet=quiet_of(config))
    bar = iter(progress(queries))

    def heard(number: int, done: int) -> None:
        next(bar, None)

    with contextlib.closing(run_jobs([job], at_once=1, fresh=True, heard=heard)) as answers:
        for _, answer in answers:
            if isinstance(answer, Failure):
                raise answer.error or failed_process(answer)
            for _ in bar:  # the bar reaches its end
                pass
            return answer
    raise AssayError("the engine did not answer")


def ask_here(
    config: EngineConfig, queries: Sequence[Query], top_k: int
) -> tuple[str, list[QueryResult]]:
    """Run the queries in a worker, from the folder of the configuration, where its modules are."""
    if config.folder:
        os.environ["ASSAY_HOME"] = str(workspace().resolve())
        os.chdir(config.folder)
    name, results = _answers(config, queries, top_k=top_k)
    return name, [
        msgspec.structs.replace(result, hits=tuple(map(_portable, result.hits)))
        for result in results
    ]


def _portable(hit: Hit) -> Hit:
    """The hit without objects that only the engine's own process knows."""
    hit = msgspec.structs.replace(hit, doc_id=str.__str__(hit.doc_id))
    if not hit.metadata and not hit.explanation:
        return hit
    return msgspec.structs.replace(
        hit,
        metadata=msgspec.to_builtins(hit.metadata, enc_hook=str, str_keys=True),
        explanation=msgspec.to_builtins(hit.explanation, enc_hook=str, str_keys=True),
    )


def failed_process(failure: Failure) -> AssayError:
    """The error for a process that gave no answer."""
    if failure.kind == "ended":
        return EngineError(
            "the engine ended its process: it crashed, exited, or ran out of memory "
            f"({failure.message})"
        )
    if failure.kind in ("silent", "late"):
        return EngineError(f"the engine hangs: {failure.message}")
    return AssayError(f"something went wrong: {failure.message}")


# ── each corpus on an engine of its own ───────────────────────────────────────────────────────────


def _ask_routed(
    config: EngineConfig, queries: Sequence[Query], *, top_k: int, progress: Progress, say: Say
) -> list[QueryResult]:
    refuse_unserved(config, queries)
    rows: dict[str, list[int]] = {}  # engine -> the rows that it serves
    parts: dict[str, EngineConfig] = {}
    for row, query in enumerate(queries):
        part = config.routes[query.corpus]
        rows.setdefault(part.name, []).append(row)
        parts[part.name] = part
    bar = iter(progress(queries))

    def shared(queries: Iterable[Query]) -> Iterator[Query]:
        """One bar for all engines."""
        for query in queries:
            next(bar, None)
            yield query

    results: dict[int, QueryResult] = {}
    for name, served in rows.items():
        asked = [queries[row] for row in served]
        say(f"asking {name}: {len(asked)} of {len(queries)} queries")
        _, answers = ask_engine(parts[name], asked, top_k=top_k, progress=shared, say=say)
        results |= dict(zip(served, answers, strict=True))
    for _ in bar:
        pass
    return [results[row] for row in range(len(queries))]


def refuse_unserved(config: EngineConfig, queries: Iterable[Query]) -> None:
    """Refuse rows whose corpus no engine serves: they are a mistake, not a score of zero."""
    strange = [query for query in queries if query.corpus not in config.routes]
    if not strange:
        return
    named = list(dict.fromkeys(query.corpus or "no corpus at all" for query in strange))
    ids = ", ".join(query.id for query in strange[:NAMES_IN_MESSAGE]) + (
        ", …" if len(strange) > NAMES_IN_MESSAGE else ""
    )
    rows = "1 row is" if len(strange) == 1 else f"{len(strange)} rows are"
    raise InputError(
        f"{rows} of a corpus that no engine serves: {', '.join(named[:NAMES_IN_MESSAGE])} "
        f"(queries {ids})",
        where=f"engines.{config.name}.corpora",
        hint=f"It has: {', '.join(config.routes)}. Add a line, or correct the rows.",
    )


# ── engines by name ───────────────────────────────────────────────────────────────────────────────


BASELINES = {
    "random": "assay.engines.baselines:RandomEngine",
    "bm25": "assay.engines.baselines:Bm25Engine",
    "bm25-forms": "assay.engines.baselines:Bm25FormsEngine",
}
ENGINES = plugins.PluginKind(name="engine", group="assay.engines", built_in=BASELINES)


def corpus_of(config: EngineConfig) -> Path | None:
    """The corpus that the engine searches, if it is known: the configured one, or the one it is
    named after."""
    if config.corpus is None and config.engine is not None and is_indexed_name(config.engine):
        return Path(config.engine)
    return Path(config.corpus) if config.corpus else None


def is_indexed_name(name: str) -> bool:
    """Whether the name stands for Assay's own engine on a corpus. A baseline's name never does."""
    from assay.corpus.lookup import is_corpus

    return name not in BASELINES and is_corpus(name)


def open_engine(config: EngineConfig, say: Say = lambda text: None) -> Any:
    """The engine of a configuration, ready to search."""
    if config.kind:
        kind = kind_of(config.kind)
        return kind.make(config.name, settings_of(config, kind))
    if config.search_module is not None:
        return load_engine(config.search_module, config.parameters)
    name = config.engine or ""
    if is_indexed_name(name):
        from assay.engines.indexed import open_indexed

        return open_indexed(name, say=say, weights=config.parameters)
    if not plugins.is_known(ENGINES, name):
        from assay.corpus.disk import list_corpora

        names = [*plugins.names(ENGINES), *list_corpora()]
        module = "A Python module is a search_module, not an engine. " if ".py" in name else ""
        raise UsageError(
            f"unknown engine {config.engine!r}: no corpus of the workspace "
            f"{workspace().resolve()} or built-in engine has this name",
            hint=f"{nearest_name(name, names)}{module}Known: {', '.join(names)}. "
            "`assay corpus import` adds one, and so does a table [engines.NAME] of assay.toml.",
        )
    corpus = Path(config.corpus) if config.corpus else None
    return _make_engine(name, plugins.load(ENGINES, name), corpus, config.parameters)


def _make_engine(
    name: str, factory: Callable[..., Any], corpus: Path | None, parameters: JsonObject
) -> Any:
    if not inspect.isclass(factory) and not inspect.isroutine(factory):
        return with_keywords(as_engine(factory), parameters)  # an object, not a class
    arguments: list[object] = []
    if "documents" in parameters_of(factory):
        if corpus is None:
            raise UsageError(f"engine {name!r} needs --corpus FILE.jsonl")
        from assay.corpus.lookup import documents

        arguments = [documents(corpus)]
    made_with, asked_with = split_keywords(factory, parameters)
    try:
        made = factory(*arguments, **made_with)
    except Exception as error:
        reason = error_text(error)
        raise EngineError(f"the engine {name!r} could not be created: {reason}") from error
    return with_keywords(as_engine(made), asked_with)


# ── a dry run of one query ────────────────────────────────────────────────────────────────────────


MAX_SHOWN = 20_000  # characters of an answer that are kept (taste)


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
    trial = _trial(config, query, top_k, known)
    files = _files_of(config) if trial.hits else None
    return trial if files is None else _checked(trial, files)


def _trial(config: EngineConfig, query: str, top_k: int, known: Mapping[str, object]) -> Trial:
    if config.kind:
        from assay.engines.http import HttpEngine  # most engines need no HTTP client

        with engine_session(config) as engine:
            if isinstance(engine, HttpEngine):
                return _try_over_http(engine, config, query, top_k, known)
    return _try_any(config, query, top_k, known)


def _checked(trial: Trial, files: FileIds) -> Trial:
    """The trial, with whether its hits are documents of the corpus."""
    corpus = files.corpus
    named = [hit.doc_id for hit in trial.hits if hit.doc_id not in corpus]
    trial = msgspec.structs.replace(trial, hits=list(_with_documents(trial.hits, files)))
    strange = [hit.doc_id for hit in trial.hits if hit.doc_id not in corpus]
    cut = [name for name in strange if files.is_cut(name)]
    if len(strange) < len(named):  # its ids are files, and another query may find any of them
        cut += sorted(files.cut)
    if cut:
        place = shlex.quote(corpus.manifest.source)
        again = f"assay corpus import {place} --name {corpus.name} --option by=file"
        said = f"its ids are files, and {counted(len(files.cut), 'file')} of {corpus.name} became "
        said += f"several documents, such as {cut[0]!r}. Import whole files: {again}"
        return msgspec.structs.replace(trial, ok=False, wrong=[*trial.wrong, said])
    if not strange:
        return trial
    said = f"{len(strange)} of {len(trial.hits)} hits are not in {corpus.name}, such as "
    said += f"{strange[0]!r}; its ids look like {corpus.ids[0]!r}"
    if len(strange) < len(trial.hits):
        return msgspec.structs.replace(trial, notes=[*trial.notes, said])
    return msgspec.structs.replace(trial, ok=False, wrong=[*trial.wrong, said])


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


def _try_any(config: EngineConfig, query: str, top_k: int, known: Mapping[str, object]) -> Trial:
    asked = Query(id="test", text=query, corpus=str(known.get("corpus", "")), extra=dict(known))
    trial = Trial(engine=config.name, kind=kind_word(config), query=query, top_k=top_k, ok=False)
    try:
        ask = ask_engine if config.routes else _answers  # as the engine names its hits
        _, (result,) = ask(config, [asked], top_k=top_k)
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


def _try_over_http(
    engine: HttpEngine, config: EngineConfig, query: str, top_k: int, known: Mapping[str, object]
) -> Trial:
    from assay.engines.http import RETRIED

    request = engine.request(query, top_k, dict(known))
    trial = Trial(
        engine=config.name,
        kind=config.kind,
        query=query,
        top_k=top_k,
        ok=False,
        request=_request_shown(engine, request),
    )
    try:
        response = engine.send(request, config.calls.timeout, raising=False)
    except AssayError as error:
        return msgspec.structs.replace(trial, wrong=[str(error)])
    reading = engine.read(response, top_k)
    may_pass = response.status in RETRIED or reading.may_pass
    again = config.calls.retries if may_pass else 0
    passing = [f"this may pass: a run asks again up to {again} times"] if again else []
    text = response.body[: 4 * MAX_SHOWN].decode("utf-8", "replace")
    return msgspec.structs.replace(
        trial,
        ok=not reading.wrong,
        answer=ReceivedAnswer(
            status=response.status,
            type=response.headers.get("content-type", ""),
            bytes=len(response.body),
            text=engine.masked(text)[:MAX_SHOWN],
        ),
        millis=response.millis,
        hits=list(reading.hits),
        wrong=list(reading.wrong),
        notes=[*reading.notes, *passing],
    )


def _request_shown(engine: HttpEngine, request: Request) -> SentRequest:
    body = (request.body or b"").decode("utf-8", "replace")
    return SentRequest(
        method=request.method,
        url=engine.masked(request.url),
        headers=engine.shown_headers(),
        body=engine.masked(body),
    )
