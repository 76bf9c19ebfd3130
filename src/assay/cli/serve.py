"""`assay serve` and `assay mcp`: the servers for people, other programs and agents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from assay.cli.options import Redact, StoreUrl, a_number, check_gold, check_port, is_named, opened
from assay.cli.output import say

ProxySecret = Annotated[
    str,
    typer.Option(
        help="Shared with a reverse proxy that signs people in by a signed header.",
        envvar="ASSAY_PROXY_SECRET",
    ),
]
Token = Annotated[
    str,
    typer.Option(
        help="A key for services that log, beside those of `assay people key`.",
        envvar="ASSAY_TOKEN",
    ),
]


def serve(
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port.")] = 8350,
    gold: Annotated[
        list[Path] | None, typer.Option(help="A gold set to review. Repeat for more.")
    ] = None,
    accounts: Annotated[
        bool,
        typer.Option(
            "--accounts",
            help="People sign in. Needed to let other machines in; on by itself once "
            "somebody has an account.",
        ),
    ] = False,
    address: Annotated[
        str,
        typer.Option(help="The address people use, where a reverse proxy stands in front."),
    ] = "",
    behind_proxy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS",
            help="The IP address or network that the reverse proxy connects from. Needed where "
            "--host is not this machine alone. Repeat for more.",
        ),
    ] = None,
    allowed_host: Annotated[
        list[str] | None, typer.Option(help="Another name of the server. Repeat for more.")
    ] = None,
    proxy_secret: ProxySecret = "",
    token: Token = "",
    log_format: Annotated[
        Literal["text", "json"],
        typer.Option(help="json: a line for every request on stderr, without personal text."),
    ] = "text",
    redact: Redact = None,
    retention: Annotated[
        float | None,
        typer.Option(min=0, callback=a_number, help="Forget searches older than this, in days."),
    ] = None,
    store: StoreUrl = "",
) -> None:
    """Open the workbench in the browser, with calls for programs (/api/docs). On your own machine
    there is nothing to sign in to. For a team, see --accounts and `assay people`."""
    from assay.web import app
    from assay.workbench.project.service import Recording, only_on_this_host
    from assay.workbench.review.queue import say_pending

    check_gold(gold)
    check_port(host, port)
    recording = Recording(redactions=tuple(redact or ()), retention_days=retention)
    serving = app.Serving(
        host=host,
        port=port,
        accounts=accounts,
        address=address,
        behind_proxy=tuple(behind_proxy or ()),
        allowed_hosts=tuple(allowed_host or ()),
        log_format=log_format,
        token=token,
        proxy_secret=proxy_secret,
    )
    with (
        only_on_this_host(),
        opened(store, create=True, gold=gold or (), recording=recording) as service,
    ):
        say_pending(service)
        app.serve(service, serving, say=say)


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
