"""A search server of our own for tests: it answers, and misbehaves on request.

It searches a few documents by words. How it behaves is a function that a test gives: (number of the
request, request) -> `Reply`, or None for a good answer in the manner of OpenSearch."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

DOCUMENTS = {
    "a": "the levy on betterment of land",
    "b": "a levy and its appeal",
    "c": "appeal against a decision",
    "d": "notice of a hearing",
}


@dataclass(frozen=True)
class Asked:
    """A request as the server saw it."""

    method: str
    path: str
    params: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes
    at: float

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Reply:
    body: bytes | str | dict[str, Any] | list[Any] = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    wait: float = 0.0  # before anything is sent
    drip: float = 0.0  # seconds between single bytes, of the head too
    hang_up: bool = False  # without an answer
    cut: int = 0  # bytes that are announced and not sent


Behaviour = Callable[[int, Asked], Reply | None]


@dataclass
class SearchServer:
    url: str
    asked: list[Asked] = field(default_factory=list)
    behave: Behaviour = lambda number, asked: None
    at_once: int = 0
    most_at_once: int = 0

    def bodies(self) -> list[Any]:
        return [asked.json for asked in self.asked]


def found(query: str, top_k: int) -> dict[str, Any]:
    """In the manner of OpenSearch."""
    words = Counter(query.lower().split())
    scores = {
        doc_id: sum(words[word] for word in text.split()) for doc_id, text in DOCUMENTS.items()
    }
    best = sorted((-score, doc_id) for doc_id, score in scores.items() if score)
    hits = [{"_id": doc_id, "_score": float(-score)} for score, doc_id in best[:top_k]]
    return {"took": 1, "timed_out": False, "hits": {"total": {"value": len(best)}, "hits": hits}}


@contextmanager
def search_server(behave: Behaviour = lambda number, asked: None) -> Iterator[SearchServer]:
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def answer(self) -> None:
            split = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            asked = Asked(
                self.command,
                split.path,
                parse_qs(split.query, keep_blank_values=True),
                {name.lower(): value for name, value in self.headers.items()},
                body,
                time.monotonic(),
            )
            with lock:
                server.asked.append(asked)
                number = len(server.asked)
                server.at_once += 1
                server.most_at_once = max(server.most_at_once, server.at_once)
            try:
                self.reply(server.behave(number, asked) or Reply(self.good(asked)))
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True
            finally:
                with lock:
                    server.at_once -= 1

        def good(self, asked: Asked) -> dict[str, Any]:
            if asked.body:
                text = json.dumps(asked.json["query"])
                query = json.loads(text)["match"]["text"] if "match" in text else text
                return found(query, asked.json.get("size", 10))
            return found(asked.params["q"][0], int(asked.params.get("n", ["10"])[0]))

        def reply(self, reply: Reply) -> None:
            time.sleep(reply.wait)
            if reply.hang_up:
                self.close_connection = True
                return
            body = reply.body
            if isinstance(body, dict | list):
                body = json.dumps(body)
            content = body.encode() if isinstance(body, str) else body
            headers = {
                "Content-Type": "application/json",
                "Content-Length": str(len(content) + reply.cut),
            } | reply.headers
            head = f"HTTP/1.1 {reply.status} X\r\n"
            head += "".join(f"{name}: {value}\r\n" for name, value in headers.items()) + "\r\n"
            whole = head.encode("latin-1") + content
            if reply.drip:
                for at in range(len(whole)):
                    self.wfile.write(whole[at : at + 1])
                    time.sleep(reply.drip)
            else:
                self.wfile.write(whole)
            if reply.cut:
                self.close_connection = True

        do_GET = do_POST = do_PUT = answer

        def log_message(self, format: str, *args: Any) -> None:
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.daemon_threads = True
    httpd.request_queue_size = 128
    server = SearchServer(f"http://127.0.0.1:{httpd.server_address[1]}", behave=behave)
    thread = threading.Thread(target=httpd.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        httpd.shutdown()
        httpd.server_close()
