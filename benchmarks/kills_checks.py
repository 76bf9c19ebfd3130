"""What is left of judging and review after a kill, for kills.py."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from killing import command

from assay import formats
from assay.formats import gold_jsonl
from assay.gold.acts import (
    APPROVE,
    BEGIN,
    BOOTSTRAP,
    CORRECT,
    EDIT,
    REJECT,
    RULE,
    UNDO,
    VOTE,
    WITHDRAW,
    Act,
)
from assay.gold.log import open_log, read_acts
from assay.gold.projection import state_of_file
from assay.gold.rows import digest_of, has_rows, log_path
from assay.gold.votes import role_of
from assay.workbench.project.health import examine

ROWS, GRADED = "gold-set.jsonl", "dataset.json"
MERGED = 30  # votes of a file that is merged


def together(refs: Iterable[str]) -> str:
    """Rows as one word of a step."""
    return ",".join(sorted(refs))


def pending(home: Path) -> list[str]:
    rows = gold_jsonl.rows(gold_jsonl.read_lines(home / ROWS))
    return [row.id for row in rows if row.source == "bootstrap"]


def steps_in(lines: Sequence[Act], names: dict[str, str]) -> Counter[str]:
    """The steps that a log has, written as the acts report them. A merge is whole or is none."""
    found: Counter[str] = Counter({"bootstrap": -1})  # the first made the set
    votes: Counter[str] = Counter(names.get(x.who, x.who) for x in lines if x.action == VOTE)
    for judge, count in votes.items():
        if judge.startswith("m"):
            found[f"merge {judge}" if count == MERGED else f"part of merge {judge}"] += 1
    for act in lines:
        refs = together(change.row for change in act.rows)
        if act.action in (VOTE, WITHDRAW):
            found[f"vote {act.id}"] += 1
        elif act.action == RULE:
            found[f"rule {act.rationale}"] += 1
        elif act.action in (APPROVE, CORRECT, REJECT, UNDO):
            found[f"{act.action} {refs}"] += 1
        elif act.action == BOOTSTRAP:
            found["bootstrap"] += 1
        elif act.action == EDIT:
            for change in act.rows:
                note = json.loads(change.after or "{}").get("note", "")
                found[f"edit {change.row} {note}"] += 1
    return found


def _plain(token: str) -> str:
    return " ".join(token.split()[:2]) if token.startswith("vote ") else token


def wrong_log(dataset: Path, told: Sequence[str]) -> list[str]:
    """What a log lacks, or has too often, of the steps that were told of."""
    log = open_log(dataset)
    lines = list(read_acts(log.path))
    names = {act.who: log.who(act) for act in lines}
    found = steps_in(lines, names)
    mine = [t for t in told if _is_of(t[2:], dataset)]
    tried = Counter(_plain(t[2:]) for t in mine if t.startswith("? "))
    acked = Counter(_plain(t[2:]) for t in mine if t.startswith("! "))
    said = [f"lost: {token}" for token in acked if found[token] < _once(token, acked)]
    said += [f"doubled: {token}" for token in tried if found[token] > _once(token, tried)]
    said += [f"half of it: {token}" for token in found if token.startswith("part")]
    ids = Counter(id for act in lines for id in (act.id, *(vote.id for vote in act.votes)))
    return said + [f"the id {id} is there {n} times" for id, n in ids.items() if n > 1]


def _once(token: str, counted: Counter[str]) -> int:
    return 1 if token.startswith("vote ") else counted[token]  # its id is the same when sent again


def _is_of(token: str, dataset: Path) -> bool:
    return has_rows(dataset) != token.startswith(("vote", "rule", "merge"))


def wrong_file(dataset: Path, told: Sequence[str]) -> list[str]:
    content = dataset.read_bytes()
    formats.read_gold(dataset)
    by_hand = {one.split()[1] for one in told if one.startswith("hand ")}
    digest = digest_of(content)
    known = digest in open_log(dataset).files or digest in by_hand
    return [] if known else [f"{dataset.name} is as nobody left it"]


def wrong_rows(dataset: Path) -> list[str]:
    """Each row as the last decision on it: its source in the file, and the votes on its
    documents."""
    log = open_log(dataset)
    last: dict[str, str] = {}
    for act in read_acts(log.path):
        if act.action in (APPROVE, CORRECT, REJECT, UNDO):
            last |= dict.fromkeys((change.row for change in act.rows), act.action)
    sources = {row.id: row.source for row in gold_jsonl.rows(gold_jsonl.read_lines(dataset))}
    grades: dict[str, set[int | None]] = {}
    for vote in log.book.all_current_votes():
        grades.setdefault(vote.query_id, set()).add(vote.grade)
    wanted = {APPROVE: ("chair", {1}), CORRECT: ("chair", {1}), REJECT: (None, {0})}
    refs = [*sources, *(ref for ref in last if ref not in sources)]
    now = {ref: (sources.get(ref), grades.get(ref, set())) for ref in refs}
    return [
        f"{ref}: {now[ref]} after {last.get(ref, 'nothing')}"
        for ref in refs
        if now[ref] != wanted.get(last.get(ref, ""), ("bootstrap", set()))
    ]


def wrong_labels(dataset: Path) -> list[str]:
    """The votes that hold are the last of each judge, line by line; a label is the last ruling, or
    what all judges say."""
    log = open_log(dataset)
    held: dict[tuple[str, str], dict[str, int | None]] = {}
    ruled: dict[tuple[str, str], int | None] = {}
    for act in read_acts(log.path):
        if act.action not in (VOTE, WITHDRAW, RULE):
            continue
        pair = act.subject["query"], act.subject["doc"]
        if act.action == RULE:
            ruled[pair] = act.grade
        elif act.action == VOTE:
            held.setdefault(pair, {})[log.who(act)] = act.grade
        else:
            held[pair].pop(log.who(act))
    holds = {(v.query_id, v.doc_id, v.judge, v.grade) for v in log.book.all_current_votes()
             if not role_of(v.source)}  # fmt: skip
    wanted = {(*pair, judge, g) for pair, said in held.items() for judge, g in said.items()}
    labels = {pair: most for pair, said in held.items() if (most := _majority(said)) is not None}
    labels |= ruled
    found = {
        (row.query_id, row.doc_id): row.grade for row in formats.read_gold(dataset).iter_judgments()
    }
    said = [f"a vote holds that should not, or does not: {x}" for x in holds ^ wanted]
    return said + [f"another label: {x}" for x in found.items() ^ labels.items()]


def _majority(said: dict[str, int | None]) -> int | None:
    first, second, *_ = [*Counter(said.values()).most_common(2), (None, 0), (None, 0)]
    return first[0] if first[1] > second[1] else None


def _next_command(home: Path, name: str) -> tuple[object, ...]:
    if name == ROWS:
        return "promote", pending(home)[-1], "--by", "Noa"
    return "adjudicate", name, "q39", "d11", "--grade", 1, "--rationale", "next", "--by", "Noa"


def wrong_set(home: Path, told: Sequence[str], name: str) -> list[str]:
    """Before and after the next command that writes."""
    dataset = home / name
    if not log_path(dataset).exists():
        return []
    said = wrong_log(dataset, told) + wrong_file(dataset, told)
    command("gold", *_next_command(home, name) if len(told) % 2 else ("rebuild", name))
    said += wrong_log(dataset, told)
    if stands := state_of_file(dataset):
        said.append(stands)
    return said + (wrong_rows(dataset) if name == ROWS else wrong_labels(dataset))


def wrong_project(home: Path, told: Sequence[str]) -> list[str]:
    """What is wrong with either set, and what the doctor says."""
    said = []
    for name in (ROWS, GRADED):
        if (home / name).exists():
            said += [f"{name}: {one}" for one in wrong_set(home, told, name)]
    checkup = examine()
    return said if checkup.status == "ok" else [*said, f"doctor: {checkup.gold}"]


def wrong_restored(home: Path, told: Sequence[str]) -> list[str]:
    """What was acknowledged before a backup began is in what it restores."""
    said = wrong_project(home, told)
    for place, line in enumerate(told):
        if not line.startswith("restored "):
            continue
        to = Path(line.split()[1])
        if to.exists():
            os.chdir(to)
            began = max(n for n in range(place) if told[n].startswith("backup "))
            tried = [one for one in told if one.startswith("? ")]
            sure = [one for one in told[:began] if one.startswith("! ")]
            said += [f"restored: {one}" for one in wrong_project(to, [*tried, *sure])]
            os.chdir(home)
            to.rename(to.with_name(f"seen-{to.name}"))
    return said


def wrong_begun(home: Path, told: Sequence[str]) -> list[str]:
    """A log that was begun has all votes of the earlier version once, and its first line; the next
    command that writes begins one that was not."""
    said = wrong_project(home, told)
    for dataset in sorted(home.glob("begun-*.json")):
        step = dataset.stem.rpartition("-")[2]
        if dataset.stem.endswith(".pool") or not dataset.stat().st_size:
            continue
        before = list(home.glob(f"{dataset.stem}.votes.jsonl*"))
        if step != "0" and not before:
            continue  # killed before its votes were there
        votes = {json.loads(x)["id"] for file in before for x in file.read_text().splitlines()}
        acked = f"! begin {dataset.stem}" in told
        given = ("--grade", 2, "--rationale", "the next act", "--by", "Noa")
        if acked and not log_path(dataset).exists():
            said.append(f"{dataset.stem}: no log")
        command("gold", "adjudicate", dataset.name, "q0", "d1", *given)
        lines = list(read_acts(log_path(dataset)))
        ids = Counter(act.id for act in lines)
        first = sum(act.rationale == "the first act" for act in lines)
        checks = {
            "its first line": lines[0].action == BEGIN,
            "each vote once": votes <= ids.keys() and max(ids.values()) == 1,
            "the first act once": first == 1 if acked else first <= 1,
            "a file that agrees": not state_of_file(dataset),
        }
        said += [f"{dataset.stem}: not {what}" for what, holds in checks.items() if not holds]
        for file in home.glob(f"{dataset.stem}.*"):
            file.unlink()  # looked at
    return said
