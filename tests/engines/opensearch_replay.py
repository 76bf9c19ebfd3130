"""OpenSearch's documented requests and answers, replayed: index creation, `_mapping`, `_bulk`,
`_refresh` and `_search` with bool, term, terms and knn. It refuses what the documentation does not
have, and ranks by BM25 and cosine as they are documented. It is no OpenSearch."""

from __future__ import annotations

import json
import math
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np


class Replay:
    def __init__(self) -> None:
        self.mappings: dict[str, Any] | None = None
        self.settings: dict[str, Any] = {}
        self.documents: dict[int, dict[str, Any]] = {}
        self.requests: list[tuple[str, str, str]] = []
        self.refused: set[str] = set()  # ids that _bulk does not take
        self.key = ""
        self._kept: dict[tuple[str, int], tuple[dict[int, Counter[str]], float]] = {}

    # ── what the server does ──────────────────────────────────────────────────────────────────────

    def answer(self, method: str, path: str, kind: str, body: bytes) -> tuple[int, Any]:
        _, index, *rest = path.split("/")
        action = rest[0] if rest else ""
        self.requests.append((method, path, kind))
        if method == "GET" and action == "_mapping":
            if self.mappings is None:
                return 404, {"error": {"type": "index_not_found_exception"}, "status": 404}
            return 200, {index: {"mappings": self.mappings}}
        if method == "DELETE" and not action:
            self.mappings, self.documents = None, {}
            return 200, {"acknowledged": True}
        if method == "PUT" and not action:
            given = json.loads(body)
            assert set(given) <= {"settings", "mappings", "aliases"}
            self.mappings, self.settings = given["mappings"], given["settings"]["index"]
            return 200, {"acknowledged": True, "shards_acknowledged": True, "index": index}
        assert self.mappings is not None
        if method == "PUT" and action == "_mapping":
            self.mappings |= json.loads(body)
            return 200, {"acknowledged": True}
        if method == "POST" and action == "_refresh":
            return 200, {"_shards": {"total": 2, "successful": 1, "failed": 0}}
        if method == "POST" and action == "_bulk":
            assert kind == "application/x-ndjson"
            return 200, self._bulk(index, body.decode())
        if method == "POST" and action == "_search":
            return 200, self._search(index, json.loads(body))
        return 400, {"error": {"reason": f"no handler for {method} {path}"}, "status": 400}

    def _bulk(self, index: str, text: str) -> dict[str, Any]:
        assert text.endswith("\n"), "the last line must end"
        lines = [json.loads(line) for line in text.splitlines()]
        items = []
        for action, document in zip(lines[::2], lines[1::2], strict=True):
            (named,) = action.items()
            assert named[0] == "index"
            id = named[1]["_id"]
            if id in self.refused:
                error = {"type": "mapper_parsing_exception", "reason": "failed to parse"}
                items.append({"index": {"_index": index, "_id": id, "status": 400, "error": error}})
                continue
            self.documents[int(id)] = document
            items.append({"index": {"_index": index, "_id": id, "status": 201}})
        return {"took": 3, "errors": any("error" in i["index"] for i in items), "items": items}

    def _search(self, index: str, body: dict[str, Any]) -> dict[str, Any]:
        assert set(body) <= {"size", "query", "_source", "from"}
        scores = self._scores(body["query"])
        best = sorted(scores, key=lambda id: (-scores[id], id))[: body["size"]]
        hits = [
            {
                "_index": index,
                "_id": str(id),
                "_score": scores[id],
                "_source": {name: self.documents[id][name] for name in body["_source"]},
            }
            for id in best
        ]
        total = {"value": len(scores), "relation": "eq"}
        return {"took": 1, "timed_out": False, "hits": {"total": total, "hits": hits}}

    def _scores(self, query: dict[str, Any]) -> dict[int, float]:
        (kind, asked), *others = query.items()
        assert not others
        if kind == "terms":
            (field, values), *_ = asked.items()
            wanted = set(values)
            return {id: 1.0 for id, doc in self.documents.items() if doc[field] in wanted}
        if kind == "term":
            return self._bm25(*next(iter(asked.items())))
        if kind == "knn":
            (field, near), *_ = asked.items()
            among = self._scores(near["filter"]) if "filter" in near else self.documents
            vector = np.array(near["vector"])
            likeness = {id: float(vector @ np.array(self.documents[id][field])) for id in among}
            best = sorted(likeness, key=lambda id: -likeness[id])[: near["k"]]
            return {id: (1 + likeness[id]) / 2 for id in best}
        assert kind == "bool"
        assert set(asked) <= {"should", "filter", "minimum_should_match"}
        assert len(asked["should"]) <= 1024, "too_many_clauses"
        total: dict[int, float] = {}
        for clause in asked["should"]:
            for id, score in self._scores(clause).items():
                total[id] = total.get(id, 0.0) + score
        for clause in asked.get("filter", ()):
            kept = self._scores(clause)
            total = {id: score for id, score in total.items() if id in kept}
        return total

    def _counted(self, field: str, size: int) -> tuple[dict[int, Counter[str]], float]:
        if (field, size) not in self._kept:
            held = {n: doc[field] for n, doc in self.documents.items() if field in doc}
            counted = {n: Counter(text.split()) for n, text in held.items()}
            average = sum(map(Counter.total, counted.values())) / len(counted)
            self._kept[field, size] = counted, average
        return self._kept[field, size]

    def _bm25(self, field: str, asked: dict[str, Any]) -> dict[int, float]:
        assert self.mappings is not None
        mapped = self.mappings["properties"][field]
        assert mapped["analyzer"] == "whitespace"
        similarity = self.settings["similarity"][mapped["similarity"]]
        k1, b = similarity["k1"], similarity["b"]
        counted, average = self._counted(field, len(self.documents))
        held = {id: words[asked["value"]] for id, words in counted.items() if words[asked["value"]]}
        idf = math.log(1 + (len(counted) - len(held) + 0.5) / (len(held) + 0.5))
        return {
            id: asked["boost"]
            * idf
            * times
            / (times + k1 * (1 - b + b * counted[id].total() / average))
            for id, times in held.items()
        }


@contextmanager
def served(replay: Replay) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def _handle(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if replay.key and self.headers.get("Authorization") != replay.key:
                status, answer = 401, {"error": f"not {self.headers.get('Authorization')}"}
            else:
                kind = self.headers.get("Content-Type", "")
                status, answer = replay.answer(self.command, self.path, kind, body)
            said = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        do_GET = do_PUT = do_POST = do_DELETE = _handle

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
