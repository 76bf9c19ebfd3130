"""The engine of a Python module: a class with `search(query, top_k)`, whatever its base class, or
an object of another library. Objects are recognised by their methods: no library is imported and no
class is looked up.

| object | how it is searched |
|---|---|
| an object or module with `search(query, top_k)`, plain or async | as it is |
| a function `f(query, top_k)` or `f(query)`, plain or async | called |
| a LangChain retriever: `invoke` and `ainvoke` | `invoke(query)`, with `k` where it has one |
| a LlamaIndex retriever: `retrieve` and `aretrieve` | `retrieve(query)`, with `similarity_top_k` |
| a vector store or index of these two: `as_retriever` | its retriever |
| a Haystack retriever, or a pipeline with one: `run` | `run(query=…, top_k=…)` |
| a PyTerrier transformer: `transform` | `transform` of a table with qid and query |

A retriever gives passages, and a gold set judges documents. So the id of a hit is `doc_id` or
`document_id` of its metadata, else the document that the passage comes from, else its own id. A
document that appears twice keeps its first rank."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import inspect
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial, wraps
from pathlib import Path
from types import ModuleType
from typing import Any

from assay.core.errors import EngineError, InputError
from assay.core.types import Hit
from assay.engines.engine_table import ROW


def load_engine(spec: str, parameters: Mapping[str, object] = {}) -> Any:
    """`path.to.module`, `path.to.module:Class` or `path/to/file.py[:Class]`, looked up from the
    current folder. A parameter is a keyword of `__init__` where that has it, else of `search`."""
    target = find_engine(spec)
    if not inspect.isclass(target):
        return with_keywords(as_engine(target), parameters)
    made_with, asked_with = split_keywords(target, parameters)
    try:
        made = target(**made_with)
    except (Exception, SystemExit) as error:
        raise EngineError(f"{target.__name__}() failed: {error_text(error)}") from error
    return with_keywords(as_engine(made), asked_with)


def split_keywords(
    factory: Any, parameters: Mapping[str, object]
) -> tuple[dict[str, object], dict[str, object]]:
    """The parameters that a class takes when it is made, and the others."""
    known = parameters_of(factory)
    takes_all = any(each.kind is each.VAR_KEYWORD for each in known.values())
    made = {name: value for name, value in parameters.items() if takes_all or name in known}
    return made, {name: value for name, value in parameters.items() if name not in made}


def with_keywords(engine: Any, keywords: Mapping[str, object]) -> Any:
    """The engine whose `search` always gets these keywords; one that it does not have is
    refused."""
    if not keywords:
        return engine
    _, unknown = split_keywords(engine.search, keywords)
    if unknown:
        raise InputError(
            f"neither __init__ nor search has the parameter {next(iter(unknown))}",
            hint=f"search has: {', '.join(parameters_of(engine.search)) or 'none that it tells'}.",
        )
    search = wraps(engine.search, updated=())(partial(engine.search, **keywords))
    return AdaptedEngine(engine_name(engine), search)


def find_engine(spec: str) -> Any:
    """The engine of the module: an object, or a class that is not instantiated yet."""
    name, _, wanted = spec.partition(":") if not _is_windows_path(spec) else (spec, "", "")
    module = _import(name)
    target = getattr(module, wanted, None) if wanted else _only_engine(module, name)
    if target is None:
        raise InputError(
            f"module {name!r} has no {wanted!r}", hint=f"It has: {_names(_engine_classes(module))}."
        )
    return target


def engine_name(engine: Any) -> str:
    name = getattr(engine, "name", None)
    try:
        text = name() if callable(name) else name
    except (Exception, SystemExit) as error:
        raise EngineError(f"{type(engine).__name__}.name() failed: {error_text(error)}") from error
    plain = engine.__name__ if isinstance(engine, ModuleType) else type(engine).__name__
    return text if isinstance(text, str) and text and is_text(text) else plain


def is_text(value: str) -> bool:
    """Whether the text can be written: half a surrogate pair cannot."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_windows_path(spec: str) -> bool:
    return len(spec) > 2 and spec[1] == ":" and spec[2] in "\\/"


def _import(name: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        if name.endswith(".py"):
            return _import_file(Path(name))
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            message = f"no module {name!r} in the current folder or the environment"
            hint = "Give it as path.to.my_engine, from the folder that holds path/."
            raise InputError(message, hint=hint) from error
        raise EngineError(f"module {name!r} failed on import: {error_text(error)}") from error
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        raise EngineError(f"module {name!r} failed on import: {error_text(error)}") from error


def _import_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise InputError(
            "no such file", where=str(path), hint="Give the engine's Python file or module name."
        )
    folder = str(path.parent.resolve())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise InputError("not a Python file", where=str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _only_engine(module: ModuleType, name: str) -> Any:
    classes = _engine_classes(module)
    own = [candidate for candidate in classes if candidate.__module__ == module.__name__] or classes
    # a helper may have a `search` of its own: a class made for the interface goes first, then one
    # that takes its call
    own = (
        [candidate for candidate in own if _implements_interface(candidate)]
        or [f for f in own if _takes_query(f)]
        or own
    )
    if len(own) == 1:
        return own[0]
    if not own and callable(getattr(module, "search", None)):
        return module
    if not own and len(made := _engine_objects(module, with_functions=False)) == 1:
        return next(iter(made.values()))
    if not own:
        raise _unclear(module, name)
    raise InputError(
        f"module {name!r} has {len(own)} engines: {_names(own)}",
        hint=f"Name one: {name}:{own[0].__name__}.",
    )


def _unclear(module: ModuleType, name: str) -> InputError:
    """The error for a module without a class or `search`, and without exactly one object that is an
    engine. Neither an object among several nor a function is guessed."""
    possible = list(_engine_objects(module, with_functions=True))
    if not possible:
        return InputError(f"module {name!r} has no search engine", hint=EXPECTED)
    if len(possible) == 1:
        return InputError(
            f"{name} has no function search; it has {possible[0]}",
            hint=f"Rename it, or give {name}:{possible[0]}.",
        )
    return InputError(
        f"module {name!r} has several candidates for the engine: {', '.join(possible)}",
        hint=f"Name one: {name}:{possible[0]}.",
    )


def _engine_classes(module: ModuleType) -> list[type]:
    return [
        value
        for value in vars(module).values()
        if inspect.isclass(value)
        and callable(getattr(value, "search", None))
        and not inspect.isabstract(value)
    ]


def _engine_objects(module: ModuleType, *, with_functions: bool) -> dict[str, Any]:
    """The objects of the module that can be searched, such as a retriever, and its own functions if
    they are wanted."""
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_")
        and not isinstance(value, type | ModuleType)
        and (
            not inspect.isroutine(value) or (with_functions and value.__module__ == module.__name__)
        )
        and is_engine(value)
    }


def _implements_interface(candidate: type) -> bool:
    return any("search" in getattr(base, "__abstractmethods__", ()) for base in candidate.__mro__)


def _takes_query(candidate: type) -> bool:
    search = candidate.search  # type: ignore[attr-defined]
    return bool(parameters_of(search)) and binds(search, None, "query", 20)


def _names(classes: list[type]) -> str:
    return ", ".join(candidate.__name__ for candidate in classes) or "none"


def error_text(error: BaseException) -> str:
    """The type and the message of an error of somebody else's code."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


# ── objects of other libraries ────────────────────────────────────────────────────────────────────


Search = Callable[..., Any]
DEPTHS = ("top_k", "k", "limit", "size", "n", "num_results")  # names of the parameter for top_k
IDS = ("doc_id", "document_id")
EXPECTED = (
    "Expected an object with search(query, top_k), a function of (query, top_k), either of them "
    "async, a LangChain, LlamaIndex or Haystack retriever, or a PyTerrier transformer."
)


@dataclass(frozen=True)
class AdaptedEngine:
    """An engine made from another object. Its `search` has the signature of that object's own."""

    name: str
    search: Search


def is_engine(target: Any) -> bool:
    """Whether the object can be searched."""
    return _reader(target) is not None


def as_engine(target: Any) -> Any:
    """An engine with a plain `search(query, top_k)` for an object; an unknown one is refused."""
    made = _reader(target)
    if made is None:
        raise InputError(f"{_described(target)} cannot be searched", hint=EXPECTED)
    return made(target)


def _reader(target: Any) -> Callable[[Any], Any] | None:
    if target is None or inspect.isclass(target):
        return None
    has = {name for name in METHODS if callable(getattr(target, name, None))}
    if {"transform", "search"} <= has and "qid" in parameters_of(target.search):
        return _pyterrier
    if "as_retriever" in has:
        return lambda store: as_engine(store.as_retriever())
    if "search" in has:
        return _searching
    if {"invoke", "ainvoke"} <= has:
        return _langchain
    if {"retrieve", "aretrieve"} <= has:
        return _llama_index
    if {"run", "inputs"} <= has:
        return _haystack_pipeline
    if "run" in has and "query" in parameters_of(target.run):
        return _haystack
    if inspect.isroutine(target) or callable(target):
        return _function if _takes_a_query(target) else None
    return None


METHODS = (
    "as_retriever",
    "search",
    "invoke",
    "ainvoke",
    "retrieve",
    "aretrieve",
    "run",
    "inputs",
    "transform",
)


# ── objects and functions ─────────────────────────────────────────────────────────────────────────


def _searching(target: Any) -> Any:
    is_async = inspect.iscoroutinefunction(target.search)
    as_usual = binds(target.search, "query", 20) or not _takes_a_query(target.search)
    if not is_async and as_usual:
        return target
    name = getattr(target, "name", None)
    named = name() if callable(name) else name
    plain = target.__name__ if isinstance(target, ModuleType) else type(target).__name__
    search = _waited_for(target.search) if as_usual else _function(target.search).search
    return AdaptedEngine(str(named or plain), search)


def _function(target: Any) -> AdaptedEngine:
    plain = target if inspect.isroutine(target) else type(target).__call__
    is_async = inspect.iscoroutinefunction(plain)
    called = _waited_for(target) if is_async else target
    by_name = next((name for name in DEPTHS if name in parameters_of(target)), "")
    by_place = not by_name and len(_positional(target)) > 1

    @wraps(target, updated=())
    def search(query: str, top_k: int = 20, **more: Any) -> Any:
        if by_name:
            return called(query, **{by_name: top_k}, **more)
        return called(query, top_k, **more) if by_place else called(query, **more)

    return AdaptedEngine(str(getattr(target, "__name__", type(target).__name__)), search)


def _takes_a_query(target: Any) -> bool:
    """Whether `f(query)` or `f(query, top_k)` can be called."""
    try:
        signature = inspect.signature(target)
    except (TypeError, ValueError):
        return False  # `dict` and other things of C that are no engines
    depth = {name: 20 for name in DEPTHS if name in signature.parameters}
    first = dict(list(depth.items())[:1])
    return any(
        binds(target, *given, **named)
        for given in (("query",), ("query", 20))
        for named in ({}, first)
    )


def binds(target: Any, *given: Any, **named: Any) -> bool:
    """Whether it can be called with these arguments; yes if its parameters are unknown."""
    try:
        inspect.signature(target).bind(*given, **named)
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def _positional(target: Any) -> list[str]:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(target).parameters.values()
    return [each.name for each in parameters if each.kind in kinds and each.name not in ROW]


def parameters_of(target: Any) -> Mapping[str, inspect.Parameter]:
    """The parameters of a callable; none for those written in C that do not say."""
    try:
        return inspect.signature(target).parameters
    except (TypeError, ValueError):
        return {}


# ── async ─────────────────────────────────────────────────────────────────────────────────────────


def _waited_for(function: Callable[..., Coroutine[Any, Any, Any]]) -> Search:
    """The async function as a plain one. All run on one lasting event loop, so that they can keep
    connections."""

    @wraps(function, updated=())
    def search(*given: Any, **named: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(function(*given, **named), _loop()).result()

    return search


def settled(answer: Any) -> Any:
    """The answer of an async engine that is not declared so: a decorated or partial function, or an
    async generator."""
    if inspect.isasyncgen(answer):
        answer = _collect_async(answer)
    if not inspect.iscoroutine(answer):
        return answer
    return asyncio.run_coroutine_threadsafe(answer, _loop()).result()


async def _collect_async(answer: AsyncIterator[Any]) -> list[Any]:
    return [each async for each in answer]


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True, name="assay-async-engines").start()
    return loop


# ── retrievers ────────────────────────────────────────────────────────────────────────────────────


def _langchain(target: Any) -> AdaptedEngine:
    def search(query: str, top_k: int = 20) -> list[Hit]:
        found = _deep_enough(target, top_k).invoke(query)
        return _hits(found, _langchain_hit, target)[:top_k]

    return AdaptedEngine(type(target).__name__, search)


def _deep_enough(retriever: Any, top_k: int) -> Any:
    """A copy that gives `top_k` documents, if the retriever has a setting for it."""
    copied = getattr(retriever, "model_copy", None)
    if not callable(copied):
        return retriever
    arguments = getattr(retriever, "search_kwargs", None)
    if isinstance(arguments, dict):
        return copied(update={"search_kwargs": {**arguments, "k": top_k}})
    if isinstance(getattr(retriever, "k", None), int):
        return copied(update={"k": top_k})
    return retriever


def _langchain_hit(found: Any) -> Hit | None:
    if not isinstance(getattr(found, "page_content", None), str):
        return None
    metadata = dict(found.metadata or {})
    score = metadata.get("relevance_score", metadata.get("score"))
    return _hit(metadata, getattr(found, "id", None), found.page_content, score)


def _llama_index(target: Any) -> AdaptedEngine:
    def search(query: str, top_k: int = 20) -> list[Hit]:
        before = getattr(target, "similarity_top_k", None)
        if not isinstance(before, int) or before == top_k:
            return _hits(target.retrieve(query), _llama_index_hit, target)[:top_k]
        with _one_at_a_time(id(target)):  # its depth is one attribute for all callers
            target.similarity_top_k = top_k
            try:
                found = target.retrieve(query)
            finally:
                target.similarity_top_k = before
        return _hits(found, _llama_index_hit, target)[:top_k]

    return AdaptedEngine(type(target).__name__, search)


@cache
def _one_at_a_time(target: int) -> threading.Lock:
    return threading.Lock()


def _llama_index_hit(found: Any) -> Hit | None:
    node = getattr(found, "node", None)
    if node is None:
        return None
    metadata = dict(getattr(node, "metadata", None) or {})
    own = getattr(node, "ref_doc_id", None) or getattr(node, "node_id", None)
    return _hit(metadata, own, str(getattr(node, "text", "") or ""), getattr(found, "score", None))


def _haystack(target: Any) -> AdaptedEngine:
    takes = parameters_of(target.run)

    def search(query: str, top_k: int = 20, filters: Any = None) -> list[Hit]:
        more = {"top_k": top_k} if "top_k" in takes else {}
        if filters is not None and "filters" in takes:
            more["filters"] = filters
        return _hits(_documents(target.run(query=query, **more)), _haystack_hit, target)[:top_k]

    return AdaptedEngine(type(target).__name__, search)


def _haystack_pipeline(target: Any) -> AdaptedEngine:
    """The pipeline as an engine: each open input `query` or `text` gets the query, each `top_k` the
    depth."""
    inputs = target.inputs()
    asked = {
        component: [name for name in sockets if name in ("query", "text")]
        for component, sockets in inputs.items()
    }
    if not any(asked.values()):
        raise InputError(
            f"{_described(target)} has no input called query or text",
            hint=f"Its inputs: {', '.join(inputs) or 'none'}. Put it into a function of (query, "
            "top_k).",
        )

    def search(query: str, top_k: int = 20) -> list[Hit]:
        data = {
            component: dict.fromkeys(asked[component], query)
            | ({"top_k": top_k} if "top_k" in sockets else {})
            for component, sockets in inputs.items()
        }
        answer = target.run({component: given for component, given in data.items() if given})
        found = [part for part in answer.values() if isinstance(part, Mapping) and part]
        with_documents = [part for part in found if "documents" in part]
        if len(with_documents) != 1:
            raise EngineError(
                f"{_described(target)} gave documents from {len(with_documents)} components, "
                "expected one"
            )
        return _hits(with_documents[0]["documents"], _haystack_hit, target)[:top_k]

    return AdaptedEngine(type(target).__name__, search)


def _documents(answer: Any) -> Any:
    if not isinstance(answer, Mapping) or "documents" not in answer:
        raise EngineError(f"run() returned {type(answer).__name__}, expected a key documents in it")
    return answer["documents"]


def _haystack_hit(found: Any) -> Hit | None:
    if not hasattr(found, "meta") or not hasattr(found, "content"):
        return None
    return _hit(dict(found.meta or {}), found.id, found.content or "", found.score)


def _pyterrier(target: Any) -> AdaptedEngine:
    def search(query: str, top_k: int = 20) -> list[Hit]:
        import pandas

        # its own engines read characters like ? and ' as operators
        asked = pandas.DataFrame([{"qid": "1", "query": _query_without_operators(query)}])
        found = target.transform(asked)
        if "docno" not in getattr(found, "columns", ()):
            raise EngineError(f"{_described(target)} returned no column docno")
        order = ["rank"] if "rank" in found.columns else ["score"]
        found = found.sort_values(order, ascending=order == ["rank"], kind="stable")
        scores = found["score"] if "score" in found.columns else [None] * len(found)
        pairs = zip(found["docno"].astype(str), scores, strict=True)
        return [Hit(doc_id=id, score=_number(score)) for id, score in pairs][:top_k]

    return AdaptedEngine(type(target).__name__, search)


def _query_without_operators(query: str) -> str:
    """The query as letters, digits and spaces, which every query parser reads as words."""
    return " ".join("".join(c if c.isalnum() else " " for c in query).split())


# ── hits ──────────────────────────────────────────────────────────────────────────────────────────


def _hits(found: Any, read: Callable[[Any], Hit | None], target: Any) -> list[Hit]:
    if not isinstance(found, Iterable) or isinstance(found, str | bytes | Mapping):
        raise EngineError(
            f"{_described(target)} returned {type(found).__name__}, expected a list of documents"
        )
    hits: dict[str, Hit] = {}
    for each in found:
        hit = read(each)
        if hit is None:
            raise EngineError(
                f"{_described(target)} returned a list of {type(each).__name__}, expected documents"
            )
        hits.setdefault(hit.doc_id, hit)
    return list(hits.values())


def _hit(metadata: Mapping[str, object], own: Any, text: str, score: Any) -> Hit:
    named = next((metadata[key] for key in IDS if metadata.get(key) not in (None, "")), own)
    if named in (None, ""):
        known = ", ".join(metadata) or "none"
        raise InputError(
            "a document has no id",
            hint=f"Give it metadata called doc_id, or its own id. Its metadata: {known}.",
        )
    title = metadata.get("title")
    return Hit(
        doc_id=str(named),
        score=_number(score),
        title=title if isinstance(title, str) else "",
        text=text,
        metadata={str(key): value for key, value in metadata.items() if _is_plain(value)},
    )


def _number(score: Any) -> float | None:
    try:
        return None if score is None else float(score)
    except (TypeError, ValueError):
        return None


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)


def _described(target: Any) -> str:
    if inspect.isroutine(target):
        return f"{target.__name__}{_signature(target)}"
    return f"{type(target).__name__} {target!r:.60}" if _is_plain(target) else _kind(target)


def _kind(target: Any) -> str:
    kind = target if inspect.isclass(target) else type(target)
    return f"{'the class ' if inspect.isclass(target) else ''}{kind.__module__}.{kind.__qualname__}"


def _signature(target: Any) -> str:
    try:
        return str(inspect.signature(target))
    except (TypeError, ValueError):
        return "()"
