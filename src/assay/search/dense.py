"""Turn texts into vectors: with an encoder that ships with the package, or any embedding endpoint.

One thread and no spinning: two thread pools that spin against each other on two cores cost several
times the work.
"""

from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Protocol

import numpy as np

from assay.core import plugins
from assay.core.errors import EngineError, InputError
from assay.core.extras import imported, require_extra
from assay.search.arrays import Array, Floats, unit_rows
from assay.search.reports.documents import ReportTexts, pairs_in
from assay.search.views import Parts

# minilm-l6 is all-MiniLM-L6-v2 (Apache-2.0), int8; opinions-en-1 is the same, fine-tuned on the
# questions of opinions (research/encoders.md); codes-en-1 is gte-small (MIT), fine-tuned on
# statements and the articles that decide them; law-fi-1 and law-he-1 are made from statutes and
# court decisions (research/encoders.md)
SHIPPED = {
    "codes-en-1": "assay.search.dense:OnnxEncoder",
    "law-fi-1": "assay.search.law_encoder:LawEncoder",
    "law-he-1": "assay.search.law_encoder:LawEncoder",
    "minilm-l6": "assay.search.dense:OnnxEncoder",
    "opinions-en-1": "assay.search.dense:OnnxEncoder",
    "static-fi-1": "assay.search.law_encoder:StaticEncoder",
    "static-he-1": "assay.search.law_encoder:StaticEncoder",
}
# numbers at the beginning of a vector that read words in context; the others read each word alone
CONTEXT = dict.fromkeys(("law-fi-1", "law-he-1"), 256)  # SIZE in training/law_encoder.py
ENCODERS = plugins.PluginKind(name="encoder", group="assay.encoders", built_in=SHIPPED)
DIMENSIONS = 384  # of the three for English, as they were trained
QUERY_TOKENS = 128  # as in training/encoder.py, with two marks
CITED_TOKENS = 24  # as in training/encoder.py
# taste
MAX_CHARACTERS = 20_000  # of a text that the tokenizer reads
ENDPOINT_CHARACTERS = 8_000  # of a text that other models are given
ENDPOINT_BATCH = 64  # texts of one request
ENDPOINT_SECONDS = 60

Tick = Callable[[int], None]  # hears how many more texts are encoded


class Encoder(Protocol):
    """Unit vectors, one row a text."""

    name: str

    def queries(self, texts: Sequence[str]) -> Floats: ...
    def documents(self, texts: Sequence[Parts], tick: Tick) -> Floats: ...


class OnnxEncoder:
    """A shipped encoder."""

    def __init__(self, name: str) -> None:
        require_extra("search", f"the encoder {name}")
        import onnxruntime
        from tokenizers import Tokenizer

        self.name = name
        folder = resources.files("assay_models")
        vocabulary = (folder / "tokenizer.json").read_text(encoding="utf-8")
        self._tokenizer = Tokenizer.from_str(vocabulary)
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        model = (folder / f"{name}.onnx").read_bytes()
        self._session = onnxruntime.InferenceSession(
            model, options, providers=["CPUExecutionProvider"]
        )
        self._inputs = [entry.name for entry in self._session.get_inputs()]

    def queries(self, texts: Sequence[str]) -> Floats:
        return self._encode([self._ids(text)[: QUERY_TOKENS - 2] for text in texts], lambda n: None)

    def documents(self, texts: Sequence[Parts], tick: Tick) -> Floats:
        sequences = []
        for parts in texts:
            body = [token for text, most in parts.texts for token in self._ids(text)[:most]]
            sequences.append(body[: parts.most] + self._ids(parts.cited)[:CITED_TOKENS])
        return self._encode(sequences, tick)

    def _ids(self, text: str) -> list[int]:
        cut = text[:MAX_CHARACTERS]
        ids: list[int] = self._tokenizer.encode(cut, add_special_tokens=False).ids
        return ids

    def _encode(self, sequences: Sequence[list[int]], tick: Tick) -> Floats:
        """One at a time: int8 scales are set by all that runs together, so a text's vector would
        depend on its neighbours. It is also a quarter faster than padded batches on one thread."""
        start, end = (self._tokenizer.token_to_id(token) for token in ("[CLS]", "[SEP]"))
        vectors = np.zeros((len(sequences), DIMENSIONS), np.float32)
        for row, sequence in enumerate(sequences):
            ids = np.array([[start, *sequence, end]], np.int64)
            mask = np.ones_like(ids)
            feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            states = self._session.run(None, {name: feed[name] for name in self._inputs})[0]
            vectors[row] = _pooled(states, mask)[0]
            tick(1)
        return vectors


def _pooled(states: Any, mask: Any) -> Floats:
    """Mean of the token states, at unit length; graphs that pool themselves pass through."""
    if states.ndim == 3:
        states = (states * mask[..., None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
    return unit_rows(states)


class EndpointEncoder:
    """An OpenAI-compatible embedding endpoint: `openai:MODEL@URL`, with the key in
    $ASSAY_EMBEDDING_KEY."""

    def __init__(self, spec: str) -> None:
        self.name = spec
        self._model, _, self._url = spec.removeprefix("openai:").partition("@")
        if not self._model or not self._url.startswith(("http://", "https://")):
            raise InputError(
                f"not an embedding endpoint: {spec!r}",
                hint="Write it like openai:MODEL@https://host/v1.",
            )

    def queries(self, texts: Sequence[str]) -> Floats:
        return self._ask(list(texts))

    def documents(self, texts: Sequence[Parts], tick: Tick) -> Floats:
        whole = [_joined_text(parts) or " " for parts in texts]
        vectors = []
        for start in range(0, len(whole), ENDPOINT_BATCH):
            batch = whole[start : start + ENDPOINT_BATCH]
            vectors.append(self._ask(batch))
            tick(len(batch))
        return np.concatenate(vectors) if vectors else np.zeros((0, 1), np.float32)

    def _ask(self, texts: list[str]) -> Floats:
        body = json.dumps({"model": self._model, "input": texts}).encode()
        headers = {"Content-Type": "application/json"}
        if key := os.environ.get("ASSAY_EMBEDDING_KEY"):
            headers["Authorization"] = f"Bearer {key}"
        url = f"{self._url.rstrip('/')}/embeddings"
        request = urllib.request.Request(url, data=body, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=ENDPOINT_SECONDS) as answer:
                rows = json.load(answer)["data"]
            if all("index" in row for row in rows):
                rows = sorted(rows, key=lambda row: row["index"])
            vectors = np.array([row["embedding"] for row in rows], np.float32)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise EngineError(f"the embedding endpoint {self._url} failed: {error}") from error
        if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
            raise EngineError(
                f"the embedding endpoint {self._url} did not return {len(texts)} vectors"
            )
        return unit_rows(vectors)


class SentenceEncoder:
    """Any sentence-transformers model by name or path: `st:NAME`."""

    def __init__(self, spec: str) -> None:
        transformers = imported("sentence_transformers", f"the encoder {spec}", "st")
        self.name = spec
        self._model = transformers.SentenceTransformer(spec.removeprefix("st:"))

    def queries(self, texts: Sequence[str]) -> Floats:
        return np.asarray(self._model.encode(list(texts), normalize_embeddings=True), np.float32)

    def documents(self, texts: Sequence[Parts], tick: Tick) -> Floats:
        vectors = self.queries([_joined_text(parts) for parts in texts])
        tick(len(vectors))
        return vectors


def _joined_text(parts: Parts) -> str:
    """What a model gets that cuts texts itself."""
    return " ".join(text for text, _ in parts.texts)[:ENDPOINT_CHARACTERS]


@cache
def named_encoder(name: str) -> Encoder:
    """By name: a shipped one, `openai:MODEL@URL`, `st:NAME`, or one that another package adds: a
    class or function that is called with the name."""
    if name.startswith("openai:"):
        return EndpointEncoder(name)
    if name.startswith("st:"):
        return SentenceEncoder(name)
    if not plugins.is_known(ENCODERS, name):
        known = ", ".join(plugins.names(ENCODERS))
        raise InputError(
            f"unknown encoder {name!r}", hint=f"Known: {known}, openai:MODEL@URL, st:NAME."
        )
    made: Encoder = plugins.load(ENCODERS, name)(name)
    return made


def context_size(encoder: str) -> int:
    """How many numbers of its vectors read words in their context."""
    return CONTEXT.get(encoder, 0)


# ── vectors of the prose of reports ───────────────────────────────────────────────────────────────

# words of a passage that are encoded, if the encoder reads as many: 256 with two marks
MAX_PASSAGE_TOKENS = 254


@dataclass(frozen=True)
class PassageVectors:
    """The vectors of passages, and the row of the document of each."""

    vectors: Floats
    documents: Array


def vectors_of_passages(reports: Sequence[ReportTexts | None], encoder: str) -> PassageVectors:
    passages = [
        (Parts(texts=((passage, MAX_PASSAGE_TOKENS),), most=MAX_PASSAGE_TOKENS), row)
        for row, report in enumerate(reports)
        if report and report.body
        for passage in pairs_in(report.body)
    ]
    texts = [text for text, _ in passages]
    vectors = named_encoder(encoder).documents(texts, lambda number: None)
    return PassageVectors(vectors, np.array([row for _, row in passages], np.int32))
