"""Open the corpus that a user names: a corpus of the workspace, a frozen file, a JSONL file or a
folder of opinions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from zipfile import is_zipfile

import msgspec
import polars as pl

from assay.core.decoding import thread_safe
from assay.core.errors import InputError
from assay.core.files import iter_json_lines
from assay.core.types import WHOLE_DOCUMENTS, Document
from assay.core.workspace import workspace
from assay.corpus.disk import Corpus, list_corpora, open_corpus
from assay.corpus.frozen import open_frozen
from assay.corpus.importers.kinds import safe_id

ID_KEYS = ("id", "_id", "doc_id", "opinion_id", "node_id")
_NUMBER = re.compile(r"\d+(?:\.\d+)*")
TEXT_KEYS = ("title", "section_title", "text", "content", "body")


def corpus_named(name: str, home: Path | None = None) -> Corpus:
    """Open a corpus of the workspace, or a frozen one by its file."""
    return open_frozen(Path(name), home=home) if _is_frozen(name) else open_corpus(home, name)


def is_corpus(name: str, home: Path | None = None) -> bool:
    return name in list_corpora(home) or _is_frozen(name)


def require_corpus(corpus: Path) -> None:
    """Raise an error that says where a corpus or file of this name was looked for, if there is
    none."""
    if not corpus.exists() and not is_corpus(str(corpus)):
        known = ", ".join(list_corpora()) or "none"
        raise InputError(
            f"there is no corpus {str(corpus)!r} in the workspace {workspace().resolve()}, and no "
            f"file or folder {corpus.absolute()}",
            hint=f"Imported corpora: {known}.",
        )


def _is_frozen(name: str) -> bool:
    """A file that `assay corpus freeze` wrote; any ending will do, a text file will not."""
    path = Path(name)
    text = path.suffix in (".jsonl", ".json", ".csv")
    return not text and path.is_file() and is_zipfile(path)


def documents(corpus: Path) -> list[Document]:
    """A corpus by name, or a JSONL file, or a folder of opinion files `{year}/*.json`."""
    require_corpus(corpus)
    if is_corpus(str(corpus)):
        return list(corpus_named(str(corpus)).iter())
    if corpus.name.endswith(f".{WHOLE_DOCUMENTS}"):
        return _whole_documents(corpus)
    if corpus.is_file():
        return read_documents(corpus)
    opinions = [_opinion(path) for path in sorted(corpus.rglob("*.json"))]
    if not opinions:
        raise InputError("the folder has no .json files", where=str(corpus))
    return opinions


def _whole_documents(path: Path) -> list[Document]:
    try:
        return [msgspec.convert(row, thread_safe(Document)) for _, row in iter_json_lines(path)]
    except msgspec.ValidationError as error:
        raise InputError(f"not documents of Assay: {error}", where=str(path)) from error


class FileIds:
    """From the paths that an engine has for the files of a corpus, from the folder that was
    imported or on this machine, to the ids of the documents that the files are."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.cut = {doc_id.partition(":")[0] for doc_id in corpus.ids if ":" in doc_id}

    def document(self, name: str) -> str:
        """The document that a whole file is; the name itself where there is none."""
        found = (one for one in self._forms(name) if one in self.corpus and one not in self.cut)
        return name if name in self.corpus else next(found, name)

    def is_cut(self, name: str) -> bool:
        """Whether a file is several documents."""
        return not self.cut.isdisjoint(self._forms(name))

    def _forms(self, name: str) -> list[str]:
        source, path = Path(self.corpus.manifest.source), Path(name).resolve()
        below = path.relative_to(source) if path.is_relative_to(source) else Path(name)
        forms = (below, below.with_suffix("") if below.name else below)
        return [safe_id(form.as_posix()) for form in forms]


def cited_numbers(corpus: Path, known: Iterable[Document]) -> frozenset[str]:
    """The numbers of the sections and rules that a corpus cites. A file or a folder has no list of
    its citations; there every number of its texts may be one."""
    if is_corpus(str(corpus)):
        statutes = pl.col("kind").is_in(["statute", "regulation", "reference"])
        cited = corpus_named(str(corpus)).citations.filter(statutes).select("normal")
        texts = iter(cited.collect()["normal"].unique())
    else:
        texts = (document.text for document in known)
    return frozenset(number for text in texts for number in _NUMBER.findall(text))


def read_documents(path: Path) -> list[Document]:
    """A JSONL corpus: an id under one of the usual names, and whatever text fields there are."""
    documents: dict[str, Document] = {}
    for number, row in iter_json_lines(path):
        where = f"{path}:{number}"
        if not isinstance(row, dict):
            raise InputError("expected an object", where=where)
        doc_id = next((row[key] for key in ID_KEYS if isinstance(row.get(key), str)), None)
        if doc_id is None:
            keys = ", ".join(ID_KEYS)
            raise InputError(f"no id: expected one of {keys} as a string", where=where)
        if doc_id in documents:
            raise InputError(
                f"the id {doc_id!r} appears twice", where=where, hint="Ids must be unique."
            )
        texts = [row[key] for key in TEXT_KEYS if isinstance(row.get(key), str)]
        documents[doc_id] = Document(id=doc_id, text=" ".join(texts))
    return list(documents.values())


class _Content(msgspec.Struct):
    full_text: str = ""


class _Opinion(msgspec.Struct):
    id: str | None = None
    content: _Content | None = None


def _opinion(path: Path) -> Document:
    try:
        opinion = msgspec.json.decode(path.read_bytes(), type=thread_safe(_Opinion))
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(f"not an opinion file: {error}", where=str(path)) from error
    text = opinion.content.full_text if opinion.content else ""
    return Document(id=opinion.id or path.stem, text=text)
