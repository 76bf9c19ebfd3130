"""The tools: what an agent may ask. Every tool is one verb, and its docstring is all that a model
knows of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import Field

from assay.core.errors import InputError
from assay.mcp.models import (
    TO_JUDGE,
    GoldSets,
    Metrics,
    NextToJudge,
    Queries,
    QueryLine,
    RubricText,
    Suggested,
    Waiting,
    fitted,
)
from assay.mcp.run_models import (
    EngineLine,
    Engines,
    Evaluation,
    Explanation,
    Failures,
    RunComparison,
    RunLine,
    Runs,
)
from assay.mcp.search_models import (
    NO_FILTERS,
    USUAL,
    CitationLine,
    Citations,
    Corpora,
    DocumentText,
    SearchFilters,
    SearchResults,
    nearest,
)
from assay.workbench import (
    backlog,
    corpora,
    for_agents,
    gold,
    history,
    review_queue,
    searching,
    suggestions,
)
from assay.workbench.engines import engine_kinds
from assay.workbench.filtering import NonePasses, read_filters
from assay.workbench.opening import Service
from assay.workbench.shipping import may_ship, ship_answer
from assay.workbench.units import rest_of_section, when_in_force

Tool = Callable[..., Any]
Limit = Annotated[
    int,
    Field(ge=0, le=200, description="How many at most; 0: as many as fit in 2,000 characters."),
]
FITTING = 0
Offset = Annotated[
    int,
    Field(ge=0, le=10**9, description="Where to begin; give the next_offset of the last answer."),
]
CorpusName = Annotated[str, Field(description="A corpus that list_corpora names.")]
GoldName = Annotated[str, Field(description="A gold set that list_gold_sets names.")]
RunId = Annotated[str, Field(description="From run_evaluation or list_runs.")]
Rationale = Annotated[
    str,
    Field(
        min_length=1,
        max_length=suggestions.LONGEST,
        description="Why, in a sentence or two, for the expert.",
    ),
]
By = Annotated[
    str,
    Field(
        min_length=1,
        max_length=suggestions.LONGEST_NAME,
        description="Who suggests: your name and version.",
    ),
]
NEWEST: list[str] = []  # no runs are named
MOST_FAILED_LISTED = 10  # questions of a run in a list
MOST_NAMED = 20  # documents of a citation
MOST = 50  # lines of a list that are looked at
MOST_RUNS = 8
WRITING = ("suggest_judgment", "run_evaluation")
FIGURES = ("ndcg@10", "map", "pass_rate_total", "pass_rate_must")  # of a run in a list


def search_tools(service: Service) -> tuple[Tool, ...]:
    def list_corpora() -> Corpora:
        """The corpora that can be searched. Begin here."""
        return Corpora.of(for_agents.corpora_here(service))

    def search(
        corpus: CorpusName,
        query: Annotated[
            str,
            Field(
                max_length=10_000,
                description="A question, keywords, facts, or the number of a document.",
            ),
        ],
        limit: Limit = FITTING,
        offset: Offset = 0,
        filters: SearchFilters = NO_FILTERS,
        details: Annotated[
            bool, Field(description="All that is known of each hit, and longer passages. Long.")
        ] = False,
    ) -> SearchResults:
        """Search a corpus; the most relevant documents first, each with a citation that is ready to
        be written down. Look at `answered` first: false says that nothing here answers. Then read:
        cite a passage only if it says what was asked."""
        chosen = read_filters(**filters.model_dump())
        try:
            page = searching.found_page(
                service, corpus, query, limit or USUAL, offset, filters=chosen
            )
        except NonePasses as error:
            given = filters.model_dump(exclude_defaults=True)
            told = ", ".join(f"{name} {value!r}" for name, value in given.items())
            raise InputError(
                f"no document of {corpus!r} passes the filters {told}",
                hint=error.hint,
            ) from None
        if limit or details:
            return SearchResults.of(corpus, query, page, offset, details=details)
        answer = SearchResults.of(corpus, query, nearest(page, offset), offset)
        return fitted(answer, "hits", offset)

    return list_corpora, search


def reading_tools(service: Service) -> tuple[Tool, ...]:
    def get_document(
        corpus: CorpusName,
        doc_id: Annotated[str, Field(description="From search, next_to_judge or cite.")],
        offset: Offset = 0,
        characters: Annotated[
            int, Field(ge=1, le=100_000, description="How much of the text.")
        ] = 20_000,
    ) -> DocumentText:
        """Read a document, a part at a time; a moment of an act with the rest of its section."""
        try:
            document = corpora.document(service, corpus, doc_id)
        except InputError as error:
            raise InputError(
                error.message, hint=error.hint or "To look a citation up, call cite with its text."
            ) from error
        section = rest_of_section(service, corpus, doc_id)
        in_force = when_in_force(service, corpus, doc_id)
        return DocumentText.of(document, offset, characters, section, in_force)

    def cite(
        text: Annotated[
            str, Field(max_length=20_000, description="A citation, or a text that has some.")
        ],
        corpus: Annotated[
            str, Field(description="Where the documents are looked up; empty: only read them.")
        ] = "",
    ) -> Citations:
        """Read the citations in a text: the usual way to write each, and the documents it names."""
        return Citations(
            citations=[
                CitationLine(
                    text=found.citation.text,
                    normal=found.citation.normal,
                    kind=str(found.citation.kind),
                    status=str(found.status),
                    doc_ids=list(found.targets[:MOST_NAMED]),
                    more=max(len(found.targets) - MOST_NAMED, 0),
                    reason=found.reason,
                )
                for found in for_agents.citations(service, text, corpus)
            ]
        )

    return get_document, cite


def gold_tools(service: Service) -> tuple[Tool, ...]:
    def get_metrics(gold: str = "") -> Metrics:
        """The expert's review backlog, of one gold set or of all: how much waits, and how long."""
        elsewhere = for_agents.waits_elsewhere(service, gold)
        return Metrics.of(backlog.backlog_figures(service, gold=gold), elsewhere)

    def list_waiting(
        gold: Annotated[str, Field(description="Only of this gold set; empty: of all.")] = "",
        limit: Limit = FITTING,
        offset: Offset = 0,
    ) -> Waiting:
        """The expert's review queue, the oldest first: what was suggested, by whom, why.
        Disagreements of judges and documents to judge wait elsewhere: they are only counted."""
        page = review_queue.queue(service, gold=gold, limit=limit or MOST, offset=offset)
        total = backlog.backlog_figures(service, gold=gold).backlog.pending_review
        elsewhere = for_agents.waits_elsewhere(service, gold)
        answer = Waiting.of(page, total, elsewhere, for_agents.names_in_use(service))
        return answer if limit else fitted(answer, "items", offset)

    def list_gold_sets(limit: Limit = FITTING, offset: Offset = 0) -> GoldSets:
        """The gold sets there are, how large they are, and how much of each an expert has
        approved."""
        answer = GoldSets.of(gold.gold_list(service), offset, limit or MOST)
        return answer if limit else fitted(answer, "gold_sets", offset)

    def list_queries(
        gold: GoldName,
        find: Annotated[str, Field(description="Only queries with these words.")] = "",
        limit: Limit = FITTING,
        offset: Offset = 0,
    ) -> Queries:
        """The queries of a gold set with their ids."""
        page = for_agents.queries(service, gold, find=find, limit=limit or MOST, offset=offset)
        lines = [
            QueryLine(
                query_id=query.id,
                query=query.text,
                topic=query.topic or query.category,
                judged=judged,
                must=query.must,
            )
            for query, judged in page.items
        ]
        answer = Queries(gold=gold, queries=lines, next_offset=page.next_offset)
        return answer if limit else fitted(answer, "queries", offset)

    def get_rubric(
        gold: Annotated[str, Field(description="The gold set whose rubric is wanted.")] = "",
        name: Annotated[str, Field(description="Or a rubric by its name.")] = "",
    ) -> RubricText:
        """The rubric: when to give which grade. Read it before you judge."""
        version, text, scale = for_agents.rubric_text(service, gold, name)
        return RubricText(grades=list(scale.grades), scale=scale.text, text=text, version=version)

    return get_metrics, list_waiting, list_gold_sets, list_queries, get_rubric


def judging_tools(service: Service) -> tuple[Tool, ...]:
    def next_to_judge(
        gold: GoldName,
        limit: Limit = FITTING,
        offset: Offset = 0,
        run_ids: Annotated[
            list[str],
            Field(max_length=2, description="One or two runs: what would settle them comes first."),
        ] = NEWEST,
    ) -> NextToJudge:
        """What to judge next on a gold set, with the documents: first what waits in the expert's
        queue, then unjudged documents whose grade would settle most between the newest runs, and
        last what somebody has suggested a grade for already."""
        page = for_agents.to_judge(service, gold, limit or TO_JUDGE, offset, run_ids)
        answer = NextToJudge.of(gold, for_agents.scale_of(service, gold), page)
        return answer if limit else fitted(answer, "items", offset)

    def suggest_judgment(
        gold: GoldName,
        query_id: str,
        doc_id: str,
        grade: Annotated[int, Field(description="On the scale of the set: see get_rubric.")],
        rationale: Rationale,
        by: By,
        allow_unknown: Annotated[
            bool,
            Field(description="The document may be one that no corpus, search or run here has."),
        ] = False,
    ) -> Suggested:
        """Suggest a judgment. It waits in the review queue for an expert, and does not change the
        gold set."""
        for_agents.check_suggestion(service, gold, query_id, doc_id, grade)
        item = suggestions.suggest(
            service,
            gold,
            (query_id, doc_id),
            grade,
            rationale=rationale,
            by=by,
            allow_unknown=allow_unknown,
        )
        return Suggested.of(item, gold)

    return next_to_judge, suggest_judgment


def run_tools(service: Service) -> tuple[Tool, ...]:
    def list_engines() -> Engines:
        """The search engines that run_evaluation can score."""
        lines = [
            EngineLine(name=name, kind=kind, gold_sets=sets)
            for name, kind, sets in engine_kinds(service.config)
        ]
        none = "No engine is configured. A person configures one, and starts this server again."
        message = "" if lines else none
        return Engines(engines=lines, message=message)

    def list_runs(
        gold: Annotated[str, Field(description="Only runs on this gold set.")] = "",
        limit: Limit = FITTING,
        offset: Offset = 0,
    ) -> Runs:
        """The runs that were scored, the newest first: which engine on which set, how good, whether
        it may ship, and which golden questions it failed."""
        page = history.runs(service, gold=gold, limit=limit or MOST_RUNS, offset=offset)
        names = for_agents.names_in_use(service)
        lines = [run_line(record.id, names) for record in page.items]
        answer = Runs(runs=lines, next_offset=page.next_offset)
        return answer if limit else fitted(answer, "runs", offset)

    def run_line(run_id: str, names: dict[str, str]) -> RunLine:
        run = history.kept_run(service, run_id)
        overall = run.results.overall
        keys = [key for key in FIGURES if key in overall] or list(overall)[:2]
        answer, why = ship_answer(service, run)
        return RunLine(
            run_id=run.id,
            engine=run.engine,
            gold=names.get(run.gold, run.gold),
            at=run.at.isoformat(timespec="seconds"),
            figures={key: None if (v := overall[key]) is None else round(v, 3) for key in keys},
            may_ship=answer,
            why=why,
            failed=for_agents.failed_of(run.results)[:MOST_FAILED_LISTED],
        )

    def run_evaluation(
        gold: GoldName,
        engine: Annotated[str, Field(description="An engine that list_engines names.")],
    ) -> Evaluation:
        """Score an engine on a gold set, and see whether it may ship. The run is kept under its
        run_id."""
        run = history.evaluate(service, gold, engine)
        return Evaluation.of(run, gold, may_ship(service, run).told)

    return list_engines, list_runs, run_evaluation


def deciding_tools(service: Service) -> tuple[Tool, ...]:
    def compare_runs(
        run_ids: Annotated[
            list[str],
            Field(min_length=2, description="From list_runs. The first is the baseline."),
        ],
        force: Annotated[
            bool, Field(description="Compare even where gold sets or corpora differ.")
        ] = False,
        details: Annotated[
            bool, Field(description="Everything: all measures, tests and documents. Long.")
        ] = False,
    ) -> RunComparison:
        """Is one run better than another? The verdict in words comes first; report it as it is:
        "open" means that it cannot be told yet, and "no difference" is not "equal"."""
        found = history.compare_runs(service, run_ids, force=force)
        ships = [may_ship(service, history.kept_run(service, each)).told for each in run_ids[1:]]
        return RunComparison.of(found, for_agents.verdicts(found), ships, details=details)

    def explain_score(
        run_id: RunId, query_id: Annotated[str, Field(description="See list_queries.")]
    ) -> Explanation:
        """Why one query of a run scored so: what was expected, what came, what is missing, and of a
        golden question why it passed or failed."""
        told = history.explain(service, run_id, query_id)
        relevant = history.relevant_to(service, run_id, query_id)
        return Explanation.of(told.entry, told.measures, relevant)

    def list_failures(run_id: RunId, limit: Limit = FITTING, offset: Offset = 0) -> Failures:
        """What a run gets wrong: of a golden set every question that failed, those that must pass
        first, with what was expected and why it failed; of a graded set the queries with the lowest
        scores. `kinds` says which kind of question it is worst at."""
        results = history.kept_run(service, run_id).results
        answer = Failures.of(results, limit or MOST, offset)
        return answer if limit else fitted(answer, "failures", offset)

    return compare_runs, explain_score, list_failures


TOOLS = (search_tools, reading_tools, gold_tools, judging_tools, run_tools, deciding_tools)
