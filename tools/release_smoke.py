"""What an installed Assay must do: without extras, and with each alone. Every step is what a user
would type, in an empty folder; a step that ends otherwise ends the check."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

# extra: a command that needs it, and what it says when it is missing names the extra in brackets
NEEDING = {
    "search": ["index", "docs"],
    "store": ["logs", "import", "log.jsonl"],
    "serve": ["serve"],
    "mcp": ["mcp"],
    "pdf": ["corpus", "import", "report", "report.pdf", "--name", "report"],
    "postgres": [
        "corpus",
        "import",
        "postgres",
        "postgresql://127.0.0.1:9/x",
        "--name",
        "rows",
        "--option",
        "query=SELECT 1",
    ],
    "cluster": [
        "score",
        "qrels.txt",
        "--engine",
        "bm25",
        "--corpus",
        "docs.jsonl",
        "--on",
        "local:2",
    ],
    "qdrant": ["engines", "test", "vectors", "gift", "--config", "stores.toml"],
    "measures": ["score", "qrels.txt", "--run", "run.trec", "-m", "RPrec"],
}
PDF = b"""%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents 4 0 R
/Resources<</Font<</F1 5 0 R>>>>>>endobj
4 0 obj<</Length 56>>stream
BT /F1 18 Tf 20 200 Td (Balance sheet of the town) Tj ET
endstream endobj
5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj
trailer<</Root 1 0 R>>
"""


class Folder:
    """Where the commands are typed."""

    def __init__(self, python: Path, folder: Path) -> None:
        self.python, self.folder = python, folder
        folder.mkdir()
        gone = ("PYTHONPATH", "ASSAY_HOME", "ASSAY_STORE", "VIRTUAL_ENV")
        self.env = {key: value for key, value in os.environ.items() if key not in gone}
        files = {
            "qrels.txt": "q1 0 a 2\nq1 0 b 0\nq2 0 b 1\n",
            "run.trec": "".join(
                f"{query} Q0 {doc} {rank} {3 - rank}.0 mine\n"
                for query in ("q1", "q2")
                for rank, doc in enumerate("ab", start=1)
            ),
            "docs.jsonl": '{"id": "a", "title": "Gifts", "text": "A mayor may accept a gift."}\n'
            '{"id": "b", "title": "Land", "text": "A council member owns land."}\n',
            "log.jsonl": '{"id": "1", "at": "2026-05-01", "query": "gift", "results": ["a"]}\n',
            "stores.toml": '[engines.vectors]\nqdrant = "./vectors"\ncollection = "docs"\n'
            'encoder = "minilm-l6"\n',
        }
        for name, text in files.items():
            (folder / name).write_text(text)
        (folder / "report.pdf").write_bytes(PDF)

    def assay(self, *args: str, code: int = 0, says: str = "") -> str:
        return self.run([str(self.python), "-m", "assay", *args], code=code, says=says)

    def run(self, command: list[str], *, code: int = 0, says: str = "") -> str:
        done = subprocess.run(
            command, cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=300
        )
        said = done.stdout + done.stderr
        if done.returncode != code or says not in said or "Traceback" in said:
            wanted = f"exit {code}" + (f" and {says!r}" if says else "")
            sys.exit(f"{' '.join(command)}: exit {done.returncode}, wanted {wanted}\n{said}")
        return done.stdout

    def import_docs(self) -> None:
        self.assay("corpus", "import", "jsonl", "docs.jsonl", "--name", "docs")


def smoke(python: Path, extra: str, folder: Path) -> None:
    place = Folder(python, folder)
    if not extra:
        core(place)
        missing(place)
        return
    for name in EXTRAS if extra == "all" else (extra,):
        EXTRAS[name](place)


def core(place: Folder) -> None:
    """Scores a TREC run, decides gates, reports, compares."""
    place.assay("--version", says="assay ")
    scored = json.loads(place.assay("score", "qrels.txt", "--run", "run.trec", "--json"))
    assert scored["receipt"]["counts"]["n_scored"] == 2, scored["receipt"]["counts"]
    place.assay("init", "--yes")
    place.assay("run", says="PASS")
    results = ".assay/results/sample--bm25.json", ".assay/results/sample--mine.json"
    place.assay("compare", *results)
    place.assay("report", results[0], "-o", "report.html")
    place.assay("gold", "validate", "dataset.json")
    place.assay("demo", says="[search]")
    place.assay(says="last verdict")
    place.assay("doctor", says="not installed")


def missing(place: Folder) -> None:
    place.import_docs()
    for extra, command in NEEDING.items():
        first = "search" if extra == "qdrant" else extra  # its encoder is asked for first
        place.assay(*command, code=2, says=f"[{first}]")
    code = "import assay.web"
    place.run(
        [
            str(place.python),
            "-c",
            f"try:\n {code}\nexcept Exception as e: print(type(e).__name__, e)",
        ],
        says="MissingExtra the workbench",
    )


def search(place: Folder) -> None:
    place.import_docs()
    place.assay("index", "docs", "--encoder", "minilm-l6")
    found = json.loads(place.assay("search", "docs", "may a mayor take a gift", "--json"))
    assert found["hits"][0]["id"] == "a" if "id" in found["hits"][0] else found["hits"], found
    for encoder in ("static-fi-1", "static-he-1", "opinions-en-1"):
        place.assay("index", "docs", "--encoder", encoder, "--fresh")
    place.run([str(place.python), "-c", "import assay_models; assert not assay_models.wrong()"])


def store(place: Folder) -> None:
    place.assay(*NEEDING["store"], says="1 new")
    place.assay("backlog", "--json")


def serve(place: Folder) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [str(place.python), "-m", "assay", "serve", "--port", str(port)],
        cwd=place.folder, env=place.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        for _ in range(120):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as page:
                    assert b"<html" in page.read()
                    return
            except OSError:
                time.sleep(0.5)
        sys.exit("assay serve does not answer")
    finally:
        server.terminate()
        server.wait(30)


def mcp(place: Folder) -> None:
    hello = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {},
                   "clientInfo": {"name": "check", "version": "1"}},
    }  # fmt: skip
    done = subprocess.run(
        [str(place.python), "-m", "assay", "mcp"], input=json.dumps(hello) + "\n",
        cwd=place.folder, env=place.env, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    if '"serverInfo"' not in done.stdout:
        sys.exit(f"assay mcp does not answer\n{done.stdout}{done.stderr}")


def pdf(place: Folder) -> None:
    place.assay(*NEEDING["pdf"])
    place.assay("corpus", "stats", "report")


def postgres(place: Folder) -> None:
    """No server is needed to see that the driver is there: it says that nobody answers."""
    place.assay(*NEEDING["postgres"], code=2, says="onnect")
    place.run([str(place.python), "-c", "import sqlalchemy, psycopg"])


def engines(place: Folder) -> None:
    code = """
import qdrant_client, chromadb, lancedb, pymilvus
from qdrant_client.models import Distance, PointStruct, VectorParams
from assay.search.dense import named_encoder
client = qdrant_client.QdrantClient(path="vectors")
client.create_collection("docs", VectorParams(size=384, distance=Distance.COSINE))
vector = named_encoder("minilm-l6").queries(["a gift of tickets"])[0].tolist()
client.upsert("docs", [PointStruct(id=1, vector=vector, payload={"doc_id": "a", "title": "Gifts"})])
client.close()
"""
    place.run([str(place.python), "-c", code])
    place.assay(*NEEDING["qdrant"], says="a")


def cluster(place: Folder) -> None:
    place.assay(*NEEDING["cluster"])


def everything(place: Folder) -> None:
    place.assay(*NEEDING["measures"])


EXTRAS: dict[str, Callable[[Folder], None]] = {
    "search": search,
    "store": store,
    "serve": serve,
    "mcp": mcp,
    "pdf": pdf,
    "postgres": postgres,
    "engines": engines,
    "cluster": cluster,
    "all": everything,
}
