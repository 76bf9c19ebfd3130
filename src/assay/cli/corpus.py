"""`assay corpus …`, `assay index`, `assay search`, `assay calibrate`, `assay cite`: documents and
the engine on them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import CORPUS, On
from assay.cli.output import Json, emit, is_in_start, progress_bar, say, tell, warn
from assay.core.errors import UsageError

app = typer.Typer(help="Corpora: import, inspect, check, freeze.", no_args_is_help=True)

Corpus = Annotated[str, typer.Argument(help=f"The corpus: {CORPUS}.")]


@app.command("import")
def import_(
    name: Annotated[str, typer.Option(help="The name of the corpus.")],
    kind: Annotated[
        str,
        typer.Argument(
            show_default=False,
            help="documents, fppc, akn, finlex, report, jsonl, json, csv, parquet or postgres.",
        ),
    ] = "",
    source: Annotated[
        str,
        typer.Argument(
            show_default=False,
            help="A file, a folder, or a database URL. Without KIND, the kind is guessed from it.",
        ),
    ] = "",
    map_: Annotated[
        list[str] | None,
        typer.Option("--map", help="For tables, map a column: TARGET=COLUMN. Repeat for more."),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", help="An option of the importer, KEY=VALUE. Repeat for more."),
    ] = None,
    strict: Annotated[bool, typer.Option(help="Stop at the first bad record.")] = False,
    seconds: Annotated[
        float, typer.Option(min=1, help="The time limit for reading one file, in seconds.")
    ] = 60,
    memory: Annotated[
        int, typer.Option(min=256, help="The memory limit for reading one file, in megabytes.")
    ] = 2048,
    json: Json = False,
) -> None:
    """Import a file or folder: text, Markdown, HTML, Word, e-mail, PDF, zip, acts, tables. Files
    that cannot be read are listed with the reason. Unchanged files are not read again."""
    from assay.core.types import counted
    from assay.reports import listing
    from assay.workbench.searching import corpora

    if not kind:
        raise UsageError("no file or folder is given", hint="assay corpus import PATH --name NAME")
    if not source:
        kind, source = corpora.guess_kind(kind), kind
    options: dict[str, str | dict[str, str]] = dict(_pair(text) for text in option or ())
    if map_:
        options["map"] = dict(_pair(text) for text in map_)
    before = corpora.known_manifest(name)
    place = str(Path(source).resolve()) if Path(source).exists() else source
    kept: corpora.Options = {}
    is_same = before is not None and (before.kind, before.source) == (kind, place)
    if before is not None and is_same and not options and before.options:
        kept = before.options
        listed = ", ".join(f"{key}={value}" for key, value in kept.items())
        say(f"with the options of the last import: {listed}")
    elif before is not None and not is_same:
        was = f"{counted(before.documents, 'document')}, {before.kind} from {before.source}"
        warn(f"replacing {name} ({was})")
    with progress_bar() as tick:
        report = corpora.import_corpus(
            kind,
            source,
            name=name,
            options=options or kept,
            strict=strict,
            progress=tick,
            limits=corpora.Limits(seconds=seconds, megabytes=memory),
        )
    for line in (lines := listing.problem_lines(corpora.corpus_named(name).problems()))[
        : listing.SHOWN_PROBLEMS
    ]:
        warn(line)
    if len(lines) > listing.SHOWN_PROBLEMS:
        warn(f"{len(lines) - listing.SHOWN_PROBLEMS:,} more: assay corpus check {name}")
    if cut := corpora.cut_files(name):
        files, parts = counted(cut.files, "file"), counted(cut.parts, "document")
        say(
            f"{files} became {parts}, one for each section or moment. If people look for whole "
            "files, or an engine of yours finds them, import them whole: --option by=file"
        )
    begun = is_in_start()
    emit(report, lambda: listing.import_summary(report, source, in_start=begun), json=json)


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"{text!r} is not KEY=VALUE")
    return key.strip(), value.strip()


@app.command("list")
def list_(json: Json = False) -> None:
    """List the corpora of this workspace."""
    from assay.reports import listing
    from assay.workbench.searching import corpora

    rows = corpora.corpus_rows()
    columns = ("name", "kind", "documents", "indexed", "source")
    emit(rows, lambda: listing.plain_table(rows, columns), json=json)


@app.command()
def show(
    corpus: Corpus,
    doc_id: Annotated[str | None, typer.Argument(help="A document's id.")] = None,
    json: Json = False,
) -> None:
    """Show a document with its citations in both directions. Without an id, show the corpus."""
    from assay.reports import listing
    from assay.workbench.searching import corpora

    if doc_id is None:
        manifest = corpora.corpus_named(_imported(corpus)).manifest
        emit(manifest, lambda: listing.key_values(manifest), json=json)
        return
    document = corpora.corpus_named(_imported(corpus)).linked(doc_id)
    emit(document, lambda: listing.document_page(document), json=json)


@app.command()
def stats(corpus: Corpus, json: Json = False) -> None:
    """Summarize a corpus: types, years, languages, field coverage, citations, scan quality."""
    from assay.reports import listing
    from assay.workbench.searching import corpora

    figures = corpora.corpus_stats(_imported(corpus))
    emit(figures, lambda: listing.key_values(figures), json=json)


@app.command()
def check(corpus: Corpus, json: Json = False) -> None:
    """Find near-duplicates, dangling references, missing texts and poor scans. Records that could
    not be read are errors: the exit code is 1."""
    from assay.core.types import counted
    from assay.reports import listing
    from assay.workbench.searching import corpora

    findings = corpora.check_corpus(_imported(corpus))
    emit(findings, lambda: listing.findings_table(findings), json=json)
    errors = sum(finding.level == "error" for finding in findings)
    say(f"{corpus}: {counted(errors, 'error')}, {counted(len(findings) - errors, 'flag')}")
    if errors:
        sys.exit(1)


@app.command()
def freeze(
    corpus: Corpus,
    output: Annotated[Path, typer.Argument(help="The file to write, preferably ending in .assay.")],
    json: Json = False,
) -> None:
    """Write one portable file with the corpus and its fingerprint."""
    from assay.workbench.searching import corpora

    name = _imported(corpus)
    written = corpora.freeze_corpus(name, output)
    made = {
        "corpus": corpus,
        "output": str(written),
        "fingerprint": corpora.corpus_named(name).manifest.fingerprint,
    }
    tell(made, f"{corpus} frozen to {written}", json=json)


def _imported(corpus: str) -> str:
    from assay.workbench.searching.corpora import imported_corpus

    return imported_corpus(corpus, say=say)


def index(
    corpus: Corpus,
    dense: Annotated[
        bool, typer.Option(help="Use vectors too. Without them only words are searched.")
    ] = True,
    encoder: Annotated[
        str,
        typer.Option(
            help="codes-en-1, law-fi-1, law-he-1, minilm-l6, opinions-en-1, static-fi-1, "
            "static-he-1, openai:MODEL@URL or st:NAME."
        ),
    ] = "",
    fresh: Annotated[bool, typer.Option(help="Build everything again.")] = False,
    questions: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="A file with questions written for documents (JSON lines with id and questions). "
            "It is kept for later builds. 'none': no questions; 'shipped': only those that ship.",
            show_default="as last time, else those that ship",
        ),
    ] = "",
    into: Annotated[
        str,
        typer.Option(
            metavar="ENGINE",
            help="Load the corpus into this engine of assay.toml, which then ranks it.",
        ),
    ] = "",
    dataset: Annotated[
        Path | None,
        typer.Option(help="With --into: a gold set, to compare the quality with our own index."),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            help="The configuration file with the engine of --into.", show_default="assay.toml"
        ),
    ] = None,
    on: On = "",
    json: Json = False,
) -> None:
    """Make a corpus searchable, or bring its index up to date. With --into, load it into an
    engine."""
    from assay.core import cluster
    from assay.reports import listing
    from assay.workbench.searching import corpora

    if not into and (dataset is not None or config is not None):
        raise UsageError("--dataset and --config are for --into ENGINE")
    name = _imported(corpus)
    if into and dense and not (encoder or fresh or questions):  # the index that is there will do
        return _load_into(name, into, config=config, dataset=dataset, json=json)
    with cluster.use_cluster(on), progress_bar() as tick:
        report = corpora.index_corpus(
            name, dense=dense, encoder=encoder, fresh=fresh, questions=questions, tick=tick
        )
    if into:
        return _load_into(name, into, config=config, dataset=dataset, json=json)
    emit(report, lambda: listing.key_values(report), json=json)


def _load_into(
    name: str, into: str, *, config: Path | None, dataset: Path | None, json: bool
) -> None:
    from assay.reports import listing
    from assay.workbench.searching.engine_loading import index_into

    with progress_bar() as tick:
        done = index_into(name, into, config=config, dataset=dataset, tick=tick, say=say)
    emit(
        done,
        lambda: listing.loaded_into(
            done.loaded, [(row.measure, row.own, row.there) for row in done.beside]
        ),
        json=json,
    )
    if done.same_in_ten is not None:
        there, own = done.there_millis or 0, done.own_millis or 0
        say(
            f"{done.same_in_ten:.0%} of the first ten hits are those of our own index; a question "
            f"takes {there:.0f} ms there, {own:.0f} ms on our index"
        )


def search(
    corpus: Corpus,
    query: Annotated[
        str, typer.Argument(help="Keywords, a question or a description of facts.")
    ] = "",
    top_k: Annotated[int, typer.Option(min=1, max=1000, help="How many hits to return.")] = 10,
    topic: Annotated[str, typer.Option(help="Only this topic.")] = "",
    statute: Annotated[str, typer.Option(help="Only documents that cite this.")] = "",
    law: Annotated[str, typer.Option(help="Only this act.")] = "",
    language: Annotated[
        str, typer.Option(help="Only documents in this language: en, fi or he.")
    ] = "",
    year: Annotated[str, typer.Option(help="A year or a range: 2015 or 2010-2020.")] = "",
    as_of: Annotated[str, typer.Option(help="Only law in force on this day, YYYY-MM-DD.")] = "",
    like: Annotated[str, typer.Option(help="Find documents similar to this one.")] = "",
    explain: Annotated[bool, typer.Option(help="Explain why each hit was found.")] = False,
    json: Json = False,
) -> None:
    """Search a corpus. Each hit has a score, its answer or passage, statutes, date and writer."""
    from assay.reports import listing
    from assay.workbench.searching import corpora
    from assay.workbench.searching.filters import read_filters

    filters = read_filters(
        year=year, as_of=as_of, topic=topic, statute=statute, law=law, language=language
    )
    if like and query:
        raise UsageError("give a query or --like, not both")
    if not like and not query.strip():
        raise UsageError(
            "there is no question to search for",
            hint='Name the corpus, then the question: assay search CORPUS "QUESTION".',
        )
    name = _imported(corpus)
    if like:
        answer = corpora.more_like(name, like, top_k=top_k, filters=filters, say=say)
    else:
        with progress_bar() as tick:
            answer = corpora.search(name, query, top_k=top_k, filters=filters, tick=tick, say=say)
    emit(answer, lambda: listing.search_page(answer, explain=explain), json=json)


def calibrate(
    corpus: Corpus,
    dataset: Annotated[
        Path,
        typer.Option(
            "--dataset", "--gold", help="Questions with known answers: a gold set or golden set."
        ),
    ],
    json: Json = False,
) -> None:
    """Fit the scores of a corpus to your own questions, and print how reliable they are. About 30
    questions with known answers are enough."""
    from assay.reports import listing
    from assay.workbench.searching.calibration import calibrate as fit

    name = _imported(corpus)
    with progress_bar() as tick:
        done = fit(name, dataset, tick=tick, say=say)
    emit(done, lambda: listing.calibration_page(done), json=json)


def cite(
    text: Annotated[str, typer.Argument(help="A text with citations; - reads standard input.")],
    corpus: Annotated[str, typer.Option(help=f"Resolve them in this corpus: {CORPUS}.")] = "",
    language: Annotated[
        str | None, typer.Option(help="en, fi, he or sv. By default all are tried.")
    ] = None,
    json: Json = False,
) -> None:
    """Find the citations in a text: where they are, their normal form, and which document each
    names."""
    from assay.reports import listing
    from assay.workbench.searching import corpora

    source = sys.stdin.read() if text == "-" else text
    citations = corpora.citations_in(source, _imported(corpus), language=language)
    emit(citations, lambda: listing.citations_table(citations), json=json)
    if not citations:
        say("no citations found")
