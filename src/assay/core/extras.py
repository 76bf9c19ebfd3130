"""The optional packages (extras) of Assay: which packages an extra installs, and the one error that
names a missing extra.

A plain install reads, scores, decides and reports. Everything else imports its packages through
`imported`, or asks for them with `require_extra` before it begins, so that a missing one is always
told in the same words and with exit code 2. `tests/test_packaging.py` holds the table to
pyproject.toml."""

from __future__ import annotations

import json
import shlex
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any
from urllib.parse import unquote, urlsplit

from assay.core.errors import UsageError

# extra: {the module that is imported: the package that has it}
EXTRAS: dict[str, dict[str, str]] = {
    "words": {"simplemma": "simplemma"},
    "search": {
        "onnxruntime": "onnxruntime",
        "tokenizers": "tokenizers",
        "mmh3": "mmh3",
        "assay_models": "assay-ir-models",
        "simplemma": "simplemma",
    },
    "store": {"sqlalchemy": "sqlalchemy", "alembic": "alembic"},
    "serve": {
        "starlette": "starlette",
        "uvicorn": "uvicorn",
        "argon2": "argon2-cffi",
        "sqlalchemy": "sqlalchemy",
        "alembic": "alembic",
        "simplemma": "simplemma",
    },
    "mcp": {
        "mcp": "mcp",
        "sqlalchemy": "sqlalchemy",
        "alembic": "alembic",
        "simplemma": "simplemma",
    },
    "pdf": {"pypdfium2": "pypdfium2"},
    "documents": {"docx": "python-docx", "pypdfium2": "pypdfium2"},
    "postgres": {"psycopg": "psycopg"},
    "cluster": {"distributed": "distributed"},
    "chroma": {"chromadb": "chromadb"},
    "lancedb": {"lancedb": "lancedb"},
    "milvus": {"pymilvus": "pymilvus", "milvus_lite": "milvus-lite"},
    "qdrant": {"qdrant_client": "qdrant-client", "mmh3": "mmh3"},
    "irds": {"ir_datasets": "ir-datasets"},
    "measures": {"ir_measures": "ir-measures"},
    "tune": {"optuna": "optuna"},
    "mlflow": {"mlflow": "mlflow-skinny"},
    "pyterrier": {"pyterrier": "pyterrier", "pandas": "pandas"},
    "st": {"sentence_transformers": "sentence-transformers"},
}
SHOWN_EXTRAS = (
    "search",
    "store",
    "serve",
    "mcp",
    "documents",
    "pdf",
    "postgres",
    "cluster",
    "measures",
    "st",
)


class MissingExtra(UsageError):
    """The requested feature needs an extra that is not installed."""

    def __init__(self, what: str, extra: str, *, where: str = "") -> None:
        self.extra = extra
        names = " and ".join(f"{name!r}" for name in extra.split(","))
        noun = "extras" if "," in extra else "extra"
        super().__init__(f"{what} needs the {noun} {names}: {install_command(extra)}", where=where)

    def __reduce__(self) -> Any:  # it may come from a worker process
        return _restore_missing_extra, (self.message, self.extra, self.where)


def _restore_missing_extra(message: str, extra: str, where: str) -> MissingExtra:
    error = MissingExtra("it", extra, where=where)
    error.message = message
    error.args = (f"{where}: {message}" if where else message,)
    return error


def install_command(extra: str) -> str:
    """The command that installs an extra into this environment: from the clone that Assay was
    installed from, with the encoders in it where they are missing, else from a package index."""
    clone = _clone()
    wanted = [f"{clone or 'assay-ir'}[{extra}]"]
    needs_encoders = any("assay_models" in EXTRAS.get(name, ()) for name in extra.split(","))
    if clone and needs_encoders and not _is_package_installed("assay-ir-models"):
        wanted.insert(0, str(clone / "packages" / "models"))
    python = Path(sys.executable)
    is_pip_here = Path(which("pip") or "").parent == python.parent
    pip = ["pip"] if is_pip_here else [str(python), "-m", "pip"]
    return shlex.join([*pip, "install", *wanted])


def _clone() -> Path | None:
    """The clone of the repository that Assay was installed from; None if it is not there."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        origin = distribution("assay-ir").read_text("direct_url.json") or "{}"
    except PackageNotFoundError:
        return None
    url = urlsplit(json.loads(origin).get("url", ""))
    folder = Path(unquote(url.path))
    if url.scheme != "file" or not (folder / "pyproject.toml").is_file():
        return None
    return Path() if folder.samefile(Path()) else folder


def extra_of_module(module: str) -> str:
    """The extra that brings a module; empty where none does."""
    root = module.partition(".")[0]
    return next((extra for extra, modules in EXTRAS.items() if root in modules), "")


def imported(module: str, what: str, extra: str, *, where: str = "") -> Any:
    """Import a module that an extra installs. `what` names the feature that needs it, in a few
    words."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != module.partition(".")[0]:
            raise  # the package is there, and something that it needs itself is not
        raise MissingExtra(what, extra, where=where) from error


def require_extra(extra: str, what: str) -> None:
    """Raise `MissingExtra` before the work begins if a package of the extra is missing. Nothing is
    loaded."""
    if not is_installed(extra):
        raise MissingExtra(what, extra)


def is_installed(extra: str) -> bool:
    """Whether every package of the extra is installed."""
    return all(_is_importable(module) for module in EXTRAS[extra])


def _is_importable(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ValueError:  # what stands in sys.modules has no spec
        return True


def _is_package_installed(package: str) -> bool:
    """Whether pip knows the package. A module of an editable clone is importable without it."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        distribution(package)
    except PackageNotFoundError:
        return False
    return True


def installed_versions(extra: str) -> str:
    """The versions of the packages of an extra, or the command that installs it."""
    if not is_installed(extra):
        return f"not installed: {install_command(extra)}"
    return ", ".join(f"{package} {_version(package)}" for package in EXTRAS[extra].values())


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:  # a checkout has it on its path without having installed it
        return "of this checkout"
