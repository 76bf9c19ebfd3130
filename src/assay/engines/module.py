"""The engine of a Python module: a class with `search(query, top_k)`, whatever its base class, or
anything else that retrievers.py can adapt."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from assay.core.errors import EngineError, InputError
from assay.engines.retrievers import EXPECTED, as_engine, binds, is_engine, parameters_of


def load_engine(spec: str) -> Any:
    """`path.to.module`, `path.to.module:Class` or `path/to/file.py[:Class]`, looked up from the
    current folder."""
    target = find_engine(spec)
    if not inspect.isclass(target):
        return as_engine(target)
    try:
        made = target()
    except (Exception, SystemExit) as error:
        raise EngineError(f"{target.__name__}() failed: {error_text(error)}") from error
    return as_engine(made)


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
        hint=f"Say which: {name}:{own[0].__name__}.",
    )


def _unclear(module: ModuleType, name: str) -> InputError:
    """The error for a module without a class or `search`, and without exactly one object that is an
    engine. Neither an object among several nor a function is guessed."""
    possible = list(_engine_objects(module, with_functions=True))
    if not possible:
        return InputError(f"module {name!r} has no search engine", hint=EXPECTED)
    return InputError(
        f"module {name!r} does not say which of these is the engine: {', '.join(possible)}",
        hint=f"Say which: {name}:{possible[0]}.",
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
