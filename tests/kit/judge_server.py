"""A chat-completions endpoint on this machine that answers as it is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Reply:
    """`content` is what the model says; `body` instead is the whole answer. `hang` says nothing
    until the server is closed; `cut` promises more than it gives."""

    content: str | None = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: str | None = None
    hang: bool = False
    cut: bool = False
    endless: tuple[bytes, bytes] | None = None  # the first bytes, and those that come without end
    usage: tuple[int, int] | None = (100, 10)

    def payload(self) -> bytes:
        if self.body is not None:
            return self.body.encode()
        answer: dict[str, Any] = {"choices": [{"message": {"content": self.content}}]}
        if self.usage:
            answer["usage"] = {"prompt_tokens": self.usage[0], "completion_tokens": self.usage[1]}
        return json.dumps(answer).encode()


def verdict(grade: int | None = 1, rationale: str = "It names the limit.", **more: Any) -> Reply:
    return Reply(json.dumps({"rationale": rationale, "grade": grade, "unsure": False} | more))


@dataclass
class Seen:
    body: dict[str, Any]
    key: str
    path: str

    @property
    def texts(self) -> list[str]:
        return [message["content"] for message in self.body["messages"]]


@dataclass
class JudgeServer:
    """Answers by `reply`, which is called with the number of the request (from 0) and the request;
    `seen` are all that came."""

    reply: Callable[[int, Seen], Reply] = lambda number, seen: verdict()
    seen: list[Seen] = field(default_factory=list)
    url: str = ""
    closed: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def host(self) -> str:
        return self.url.split("/")[2]

    def about(self) -> list[str]:
        """Which document each request was about."""
        return [
            next(name for name in ("alpha", "beta", "gamma", "delta") if name in seen.texts[1])
            for seen in self.seen
        ]


@contextmanager
def judge_server() -> Iterator[JudgeServer]:
    state = JudgeServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen = Seen(body, self.headers.get("Authorization", ""), self.path)
            with state.lock:
                number = len(state.seen)
                state.seen.append(seen)
            reply = state.reply(number, seen)
            if reply.hang:
                state.closed.wait(30)
                self.close_connection = True
                return
            if reply.endless:
                self.close_connection = True
                with suppress(OSError):
                    self.wfile.write(reply.endless[0])
                    while not state.closed.wait(0.02):
                        self.wfile.write(reply.endless[1])
                return
            payload = reply.payload()
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(payload) + 100 * reply.cut))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        state.closed.set()
        server.shutdown()
        server.server_close()
        thread.join()
