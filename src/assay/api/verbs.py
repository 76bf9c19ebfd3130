"""The verbs that make gold (`assay.init_gold`, `assay.pool_gold`, `assay.merge_files` …), what
joins Assay with other tools, and names of earlier versions."""

from __future__ import annotations

from assay.api.values import load_gold, load_run
from assay.core.types import ScoreSheet
from assay.workbench.judging.agreement import judges_agreement
from assay.workbench.judging.packets import draw_sample, spot_check, write_packet
from assay.workbench.judging.pool import PoolRequest, pool_gold
from assay.workbench.judging.rulings import disputes, rule
from assay.workbench.judging.set_edits import add_document, add_queries, init_gold
from assay.workbench.judging.set_edits import read_queries as listed
from assay.workbench.judging.votes_to_labels import merge_files, set_policy
from assay.workbench.scoring.in_memory import ask, parse_measure
from assay.workbench.scoring.notebook_input import (
    as_transformer,
    gold_to_frames,
    run_from_frame,
    run_to_frame,
)
from assay.workbench.scoring.report import log_to_mlflow

__all__ = [
    "PoolRequest",
    "ScoreSheet",
    "add_document",
    "add_queries",
    "as_transformer",
    "ask",
    "disputes",
    "draw_sample",
    "gold_to_frames",
    "init_gold",
    "judges_agreement",
    "listed",
    "log_to_mlflow",
    "merge_files",
    "parse_measure",
    "pool_gold",
    "read_gold",
    "read_run",
    "rule",
    "run_from_frame",
    "run_to_frame",
    "set_policy",
    "spot_check",
    "write_packet",
]

read_gold = load_gold  # names of earlier versions
read_run = load_run
