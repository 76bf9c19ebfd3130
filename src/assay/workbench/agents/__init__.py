"""Tools for agents: one function for each tool of the MCP server, and the struct of its answer.

The docstrings and annotations here are all that a model knows of a tool: the schemas of arguments
and answers are made from them. An answer may gain fields but does not lose any. It is complete
(title, passage, citation, scale), so that the next step needs no other question, and short unless
more is asked for. In a line of a list, empty fields are left out."""

from __future__ import annotations

from assay.workbench.agents import documents, gold_sets, runs

TOOLS = (
    documents.list_corpora,
    documents.search,
    documents.get_document,
    documents.cite,
    documents.check_answer,
    gold_sets.get_metrics,
    gold_sets.list_waiting,
    gold_sets.list_gold_sets,
    gold_sets.list_queries,
    gold_sets.get_rubric,
    gold_sets.next_to_judge,
    gold_sets.suggest_judgment,
    runs.list_engines,
    runs.list_runs,
    runs.run_evaluation,
    runs.compare_runs,
    runs.explain_score,
    runs.list_failures,
    runs.tune_engine,
)
# the tools that change anything
WRITING = (gold_sets.suggest_judgment, runs.run_evaluation, runs.tune_engine)
