"""`assay demo`: everything on the bundled samples."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.output import Json, emit, say, searching, show
from assay.core import extras
from assay.core.errors import UsageError

TRY = (
    "1. Search: {}search?q=may+a+council+member+accept+concert+tickets",
    "2. Judge, one key per document: {}judge/opinions",
    "3. Decide: rule where judges disagree, {}agreement/opinions; approve rows, {}review; "
    "and say which engine may ship, {}runs",
)


Copied = Annotated[
    Path | None,
    typer.Option(
        "--samples",
        metavar="FOLDER",
        help="Only copy the sample files into this folder, to work on.",
    ),
]


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where the results of the last engine go.")
    ] = Path("demo-results.json"),
    copy_to: Copied = None,
    serve: Annotated[
        bool,
        typer.Option("--serve", help="Open the workbench on a sample project that is judged."),
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="With --serve: throw the sample project away first.")
    ] = False,
    folder: Annotated[
        Path, typer.Option(help="With --serve: the folder of the sample project.")
    ] = Path("assay-demo"),
    port: Annotated[
        int, typer.Option(min=1, max=65535, help="With --serve: the port on this machine.")
    ] = 8350,
    accounts: Annotated[
        bool, typer.Option("--accounts", help="With --serve: people sign in, as in a team.")
    ] = False,
    json: Json = False,
) -> None:
    """Score engines on the bundled sample of advisory opinions, and say what to try next. With
    --serve, open the workbench on a sample project: three corpora, two made-up judges, runs on
    four days."""
    if copy_to is not None:
        _copy(copy_to)
        return
    if serve:
        _serve(folder, port, fresh=fresh, accounts=accounts)
        return
    if fresh or accounts:
        raise UsageError("--fresh and --accounts go with --serve")
    _score_sample(output, json=json)


def _score_sample(output: Path, *, json: bool) -> None:
    from assay.reports import terminal, view
    from assay.workbench.judging.gold_sets import validate_gold
    from assay.workbench.project.demo import demo, samples

    english = samples() / "en"
    gold, findings = validate_gold(english / "dataset.json", corpus=english / "opinions")
    errors = sum(finding.level == "error" for finding in findings)
    say(
        f"1. The gold set: {len(gold.queries)} queries, {gold.judgments.height} judgments, "
        f"{errors} errors, {len(findings) - errors} flags for a person to look at",
        style="bold",
    )
    own = extras.has("search")
    which = "Four engines answer the queries (Assay's own, the last, first builds an index)"
    if not own:
        which = f"Three engines answer the queries (Assay's own needs {extras.how('search')})"
    say(f"2. {which}", style="bold")
    scored = demo(output, searching)
    if json:
        figures = {name: each.results.overall for name, each in scored.items()}
        emit(figures, lambda: None, json=True)
        return
    show(terminal.comparison({name: view(each.results) for name, each in scored.items()}))
    last = list(scored)[-1]
    say(f"3. The scorecard of {last}", style="bold")
    show(terminal.scorecard(view(scored[last].results)))
    show(terminal.next_steps(output, english, search=own))


def _copy(folder: Path) -> None:
    from assay.workbench.project.demo import copy_samples

    say(f"the samples are in {copy_samples(folder)}/; everything in them is invented")


def _serve(folder: Path, port: int, *, fresh: bool, accounts: bool) -> None:
    """The project is made before the port is taken, and served from its own folder: what the user
    has of their own is not touched."""
    from assay.cli.options import check_port
    from assay.cli.serve import serve

    if not (extras.has("search") and extras.has("serve")):
        raise extras.MissingExtra("the sample project", "search,serve")
    from assay.web import app
    from assay.workbench.project.demo_project import inside, prepare

    serving = app.Serving(port=port, accounts=accounts)
    check_port(serving.host, port)
    if prepare(folder, fresh=fresh, say=say):
        say(f"the sample project is made, in {folder}/; everything in it is invented")
    else:
        say(f"the sample project in {folder}/ is as you left it; --fresh begins anew")
    say("three things to try:")
    for line in TRY:
        say(line.replace("{}", f"{serving.own_address}/"))
    with inside(folder):
        serve(port=port, accounts=accounts)
