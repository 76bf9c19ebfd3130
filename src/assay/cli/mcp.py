"""`assay mcp`: the server for agents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import StoreUrl, check_gold, check_port, is_named, opened


def mcp(
    http: Annotated[
        bool, typer.Option(help="Streamable HTTP instead of standard input and output.")
    ] = False,
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port.")] = 8351,
    config: Annotated[Path | None, typer.Option(help="The configuration.")] = None,
    gold: Annotated[
        list[Path] | None,
        typer.Option(help="A gold set beside those of the configuration; repeat."),
    ] = None,
    store: StoreUrl = "",
) -> None:
    """Start the server for agents (Model Context Protocol)."""
    from assay.mcp import server

    check_gold(gold)
    if http:
        check_port(host, port)
    transport: server.Transport = "streamable-http" if http else "stdio"
    with opened(store, create=not is_named(store), config=config, gold=gold or ()) as service:
        server.run(service, transport=transport, host=host, port=port)
