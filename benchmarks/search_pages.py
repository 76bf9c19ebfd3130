"""How long the search page and the page of a document take: forty different questions on a corpus.

ASSAY_HOME=… python benchmarks/search_pages.py CORPUS < questions.txt
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from tempfile import TemporaryDirectory

import numpy as np
from starlette.testclient import TestClient

from assay.web.app import create_app
from assay.web.search_pages import doc_address, search_address
from assay.workbench.project.service import open_service
from assay.workbench.searching import search


def millis(ask: Callable[[], object]) -> float:
    begun = time.perf_counter()
    ask()
    return (time.perf_counter() - begun) * 1000


def main(corpus: str, questions: list[str]) -> None:
    with TemporaryDirectory() as folder, open_service(f"sqlite:///{folder}/s.db") as service:
        search.search_page(service, search.SearchRequest(corpus=corpus, query="?"))
        client = TestClient(create_app(service))
        client.get("/search")
        searches, documents = [], []
        for question in questions:
            page = search_address(corpus=corpus, q=question)
            searches.append(millis(lambda page=page: client.get(page)))
            found = search.search_page(service, search.SearchRequest(corpus=corpus, query=question))
            for result in found.results[:1]:
                address = doc_address(corpus, result.doc_id, question)
                documents.append(millis(lambda address=address: client.get(address)))
    for name, times in (("search", searches), ("document", documents)):
        p50, p95 = np.percentile(times, [50, 95])
        sys.stdout.write(f"{name}: p50 {p50:.0f} ms, p95 {p95:.0f} ms, most {max(times):.0f} ms\n")


if __name__ == "__main__":
    main(sys.argv[1], [line.strip() for line in sys.stdin if line.strip()])
