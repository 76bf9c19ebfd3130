"""`assay serve`: the server for people and other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import Redact, StoreUrl, check_gold, check_port, opened
from assay.cli.output import say


def serve(
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port.")] = 8350,
    gold: Annotated[list[Path] | None, typer.Option(help="A gold set to review; repeat.")] = None,
    redact: Redact = None,
    retention: Annotated[
        float | None, typer.Option(min=0, help="Forget searches older than this, in days.")
    ] = None,
    store: StoreUrl = "",
) -> None:
    """The dashboard, the review page and the HTTP endpoints."""
    from assay.web import app
    from assay.workbench.opening import Recording
    from assay.workbench.review_queue import fill_queue

    check_gold(gold)
    check_port(host, port)
    recording = Recording(redactions=tuple(redact or ()), retention_days=retention)
    with opened(store, create=True, gold=gold or (), recording=recording) as service:
        for filled in fill_queue(service):
            if filled.waiting:
                say(f"{filled.waiting} of {filled.gold} wait for review")
        say(f"serving on http://{host}:{port}/ (Ctrl-C stops it)")
        app.serve(service, host=host, port=port)
