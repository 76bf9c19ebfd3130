"""The expert's gate: promote, correct, reject. What was decided is taken back in `taking_back`, and
one document alone is decided on in `pairs`.

The idea: the gold set is a file in git and the record of who, when and why is in the store, and
neither may say what the other does not. So a ruling is one step over both. The file is locked, the
changed lines are worked out and written down beside it, the store records the ruling, and then the
file is replaced. If the process dies after the commit, the next one finds what was intended and
finishes it (intents.py). A second expert who saw an older state is refused by the store, and then
the file was never touched.

What is decided is a `Change`, a function from a line to a new line, or to nothing where the row
goes; all three verbs differ in that alone. A ruling is a vote on each document of the row, in the
votes beside the set and, as a copy, in the store."""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from assay.core.errors import InputError
from assay.core.types import Query, Vote
from assay.formats import gold_jsonl
from assay.formats.gold_jsonl import Approval, GoldRow, Line
from assay.formats.votes_jsonl import RULING
from assay.review.identity import name_of
from assay.review.intents import heal
from assay.review.one_step import record, refuse_overtaken
from assay.review.queue import item_of, sync_review
from assay.store import Store
from assay.store.records import EVERYTHING, ReviewFilter, ReviewItem, ReviewState, Ruling
from assay.telemetry.recorder import new_id


class Word(msgspec.Struct, frozen=True, kw_only=True):
    """An expert's word: who gives it, why, and when. `rationale` is what they wrote themselves,
    where `why` is said for them; `note_seen` the note of the row, where they were shown one."""

    by: str
    why: str = ""
    rationale: str | None = None
    note_seen: str | None = None
    at: datetime = msgspec.field(default_factory=lambda: datetime.now(UTC))


class Ruled(msgspec.Struct, frozen=True, kw_only=True):
    """What a ruling did: the rows it changed, those that were so already, and where the set stands
    now."""

    state: str
    ids: tuple[str, ...]
    already: tuple[str, ...]
    approval: Approval


class Correction(msgspec.Struct, frozen=True, kw_only=True):
    """What an expert changes on a row. None leaves a value as it is; `add` and `remove` change the
    documents."""

    query: str | None = None
    practice_area: str | None = None
    note: str | None = None
    relevant: tuple[str, ...] | None = None
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


class Stale(InputError):
    """What a person saw of a row is not what the file has now."""

    def __init__(self, refs: Sequence[str]) -> None:
        self.refs = refs
        super().__init__(
            "the row changed since you saw it",
            where=", ".join(refs),
            hint="Nothing was decided. The queue has it as it is now: look at it and say it again.",
        )


Change = Callable[[Line], Line | None]
Meant = Sequence[ReviewItem]  # what a person decides on, where they were shown items of the queue


def promote(store: Store, path: Path, ids: Sequence[str], word: Word, meant: Meant = ()) -> Ruled:
    """Make bootstrap rows the chair's own. A row that is the chair's already stays as it is. Where
    items of the queue are `meant`, each of them is decided, or nothing is."""
    given = (
        word
        if word.why
        else msgspec.structs.replace(word, why="approved, no reason given", rationale="")
    )
    return _rule(store, path, ids, _promoted, "approved", given, meant)


def correct(
    store: Store,
    path: Path,
    id: str,
    correction: Correction,
    word: Word,
    meant: Meant = (),
) -> Ruled:
    """Change a row and make it the chair's own. A chair's row can be corrected again."""
    _say_why(word, "correct")

    def change(line: Line) -> Line:
        return _corrected(line, correction)

    return _rule(store, path, [id], change, "approved", word, meant)


def reject(store: Store, path: Path, ids: Sequence[str], word: Word, meant: Meant = ()) -> Ruled:
    """Take rows out of the gold set. The bootstrap does not bring a rejected query back."""
    _say_why(word, "reject")
    return _rule(store, path, ids, lambda line: None, "rejected", word, meant)


@contextlib.contextmanager
def locked_set(store: Store, path: Path) -> Iterator[None]:
    """Only a file that is there has rows to decide on; a mistyped one leaves nothing behind. What
    was interrupted is healed first."""
    if not path.exists():
        raise InputError(
            "no such gold set", where=str(path), hint="Make one with `assay gold bootstrap`."
        )
    with gold_jsonl.locked(path):
        heal(store, path)
        yield


def say_who(word: Word) -> None:
    if not word.by.strip():
        raise InputError("say who decides", hint="Give the name with --by.")


def _say_why(word: Word, what: str) -> None:
    if not word.why.strip():
        raise InputError(f"to {what} a row, say why", hint="Give the reason with --why.")


# ── changes ───────────────────────────────────────────────────────────────────────────────────────


def _promoted(line: Line) -> Line:
    return gold_jsonl.edited_line(line, source="chair")


def _corrected(line: Line, correction: Correction) -> Line:
    assert line.row is not None
    texts = {
        name: value
        for name in ("query", "practice_area", "note")
        if (value := getattr(correction, name)) is not None
    }
    if not texts.get("query", "x").strip():
        raise InputError("a gold row needs a query", where=line.row.id)
    ids = _corrected_ids(line.row, correction)
    return gold_jsonl.edited_line(line, **texts, relevant_case_law_ids=ids, source="chair")


def _corrected_ids(row: GoldRow, correction: Correction) -> tuple[str, ...]:
    unknown = [id for id in correction.remove if id not in row.relevant_case_law_ids]
    if unknown:
        raise InputError(
            f"the row has no document {unknown[0]!r} to remove",
            where=row.id,
            hint=f"It has {', '.join(row.relevant_case_law_ids)}.",
        )
    before = row.relevant_case_law_ids if correction.relevant is None else correction.relevant
    wanted = dict.fromkeys((*before, *correction.add))
    ids = tuple(id for id in wanted if id.strip() and id not in correction.remove)
    if not ids:
        raise InputError("no document would be left", where=row.id, hint="Reject the row instead.")
    return ids


# ── file and record ───────────────────────────────────────────────────────────────────────────────


def _rule(
    store: Store,
    path: Path,
    ids: Sequence[str],
    change: Change,
    state: ReviewState,
    word: Word,
    meant: Meant,
) -> Ruled:
    """Change the rows with these ids, and record it. A row that would stay the same keeps its bytes
    and is named as `already` so."""
    say_who(word)
    with locked_set(store, path):
        refuse_overtaken(store, meant)
        lines = gold_jsonl.read_lines(path)
        places = {id: place_of(lines, path, id) for id in dict.fromkeys(ids)}
        changed = {place: change(lines[place]) for place in places.values()}
        already = tuple(id for id, place in places.items() if _same(lines[place], changed[place]))
        changed |= {places[id]: lines[places[id]] for id in already}  # byte for byte
        new = [changed.get(place, line) for place, line in enumerate(lines)]
        kept = [line for line in new if line is not None]
        gold = name_of(store, path)
        rows = [lines[place].row for place in places.values()]
        queued = _queued(store, gold, rows) | {item.ref: item for item in meant}
        # who gives ids alone may say of a row what its source in the file says by now
        stale = _stale_rows(queued, rows, already if not meant else ())
        if stale := stale or _other_notes(rows, word):
            sync_review(store, gold, lines, now=word.at)
            raise Stale(stale)
        waiting = _waiting_for_others(queued, lines) if already else set()
        rulings = []
        for id, place in places.items():
            item = _item(queued, lines[place], gold, word.at)
            # a row that was made the chair's by hand may still wait in the queue
            if id not in already or item.id in waiting:
                ruling = _ruling(item, lines[place], changed[place], state, word)
                before = msgspec.to_builtins(kept_row(lines, place))
                rulings.append(msgspec.structs.replace(ruling, before=before))
        _refuse_others(meant, rulings)
        if rulings:
            record(store, path, rulings, lines, kept)
    done = tuple(id for id in places if id not in already)
    approval = gold_jsonl.approval(gold_jsonl.rows(kept))
    return Ruled(state=state, ids=done, already=already, approval=approval)


def _refuse_others(meant: Meant, rulings: Sequence[Ruling]) -> None:
    """What was meant is what is decided."""
    ruled = {ruling.item.id for ruling in rulings}
    left = next((item for item in meant if item.id not in ruled), None)
    if left is not None:
        raise InputError(
            "the file has another row under this id than the one that waits",
            where=left.ref,
            hint="Nothing was changed. `assay gold bootstrap` brings the queue up to date.",
        )


def _stale_rows(
    queued: Mapping[str, ReviewItem], rows: Iterable[GoldRow | None], so: Sequence[str]
) -> list[str]:
    """Those that wait in the queue and read otherwise there: a person decides on what it shows. A
    row that waits is the bootstrap's, but for those that are `so` already."""
    return [
        row.id
        for row in rows
        if row is not None
        and (item := queued.get(row.id)) is not None
        and item.state == "pending_review"
        and not (_is_shown(row, item) and (row.source == "bootstrap" or row.id in so))
    ]


def _other_notes(rows: Iterable[GoldRow | None], word: Word) -> list[str]:
    """A note is in the file alone."""
    seen = word.note_seen
    return [row.id for row in rows if row is not None and seen is not None and row.note != seen]


def _is_shown(row: GoldRow, item: ReviewItem) -> bool:
    now = row.query, row.corpus, row.practice_area, row.relevant_case_law_ids
    return now == (item.query, item.corpus, item.practice_area, item.doc_ids)


def refuse_reworded(store: Store, item: ReviewItem, now: Query) -> None:
    """A suggestion on a question that reads otherwise by now is not decided on as it was shown."""
    if item.query != now.text:
        new = msgspec.structs.replace(
            item, query=now.text, corpus=now.corpus, practice_area=now.topic
        )
        at = datetime.now(UTC)
        store.withdraw([item], by="file", at=at, reason="its question reads otherwise now")
        store.add_review_items([new])
        raise Stale([item.ref])


def _waiting_for_others(queued: Mapping[str, ReviewItem], lines: Sequence[Line]) -> set[str]:
    """What waits, but for a row that the bootstrap still has: that waits for itself."""
    bootstrapped = {row.key for row in gold_jsonl.rows(lines) if row.source == "bootstrap"}
    return {
        item.id
        for item in queued.values()
        if item.state == "pending_review" and item.key not in bootstrapped
    }


def _same(before: Line, after: Line | None) -> bool:
    """Nothing but spacing would change."""
    return after is not None and after.row == before.row


def place_of(lines: Sequence[Line], path: Path, id: str) -> int:
    places = [
        place for place, line in enumerate(lines) if line.row is not None and line.row.id == id
    ]
    if len(places) == 1:
        return places[0]
    if places:
        on = ", ".join(str(place + 1) for place in places[1:])
        hint = "Give each row its own id first; `assay gold bootstrap` renumbers its own rows."
        raise InputError(
            f"id {id!r} is also on line {on}", where=f"{path}:{places[0] + 1}", hint=hint
        )
    near = difflib.get_close_matches(
        id, [row.id for row in gold_jsonl.rows(lines)], n=3, cutoff=0.4
    )
    raise InputError(
        f"no row {id!r}", where=str(path), hint=f"Did you mean {', '.join(near)}?" if near else ""
    )


def _queued(store: Store, gold: str, rows: Sequence[GoldRow | None]) -> dict[str, ReviewItem]:
    """What the queue has of these rows, by key and, but for what was rejected, by id."""
    named = tuple(name for row in rows if row is not None for name in (row.id, row.key))
    items = store.find_items(
        ReviewFilter(gold=gold, kind="gold_row", named=named), limit=EVERYTHING
    )
    return {item.key: item for item in items} | {
        item.ref: item for item in items if item.state != "rejected"
    }


def _item(queued: Mapping[str, ReviewItem], line: Line, gold: str, at: datetime) -> ReviewItem:
    assert line.row is not None
    return queued.get(line.row.id) or queued.get(line.row.key) or item_of(line.row, gold, at)


def _ruling(
    item: ReviewItem,
    before: Line,
    after: Line | None,
    state: ReviewState,
    word: Word,
) -> Ruling:
    assert before.row is not None
    new_row = after.row if after is not None else None
    grades = _grades(before.row, new_row)
    return Ruling(
        item=item,
        state=state,
        by=word.by,
        at=word.at,
        reason=word.why,
        votes=votes_on(before.row.id, grades, word),
        after=msgspec.to_builtins(new_row) if new_row is not None else None,
    )


def _grades(before: GoldRow, after: GoldRow | None) -> dict[str, int | None]:
    """What a ruling says of each document that the row has or had; none is right in a row that is
    turned down."""
    right = after.relevant_case_law_ids if after is not None else ()
    return {
        doc_id: int(doc_id in right)
        for doc_id in dict.fromkeys((*before.relevant_case_law_ids, *right))
    }


def votes_on(query_id: str, grades: Mapping[str, int | None], word: Word) -> tuple[Vote, ...]:
    wrote = word.why if word.rationale is None else word.rationale
    return tuple(
        Vote(
            id=new_id(),
            query_id=query_id,
            doc_id=doc_id,
            grade=grade,
            judge=word.by,
            kind="human",
            at=word.at.astimezone(UTC).isoformat(),
            rationale=wrote,
            source=RULING,
        )
        for doc_id, grade in grades.items()
    )


# ── what the record keeps of a row ────────────────────────────────────────────────────────────────


class _Place(msgspec.Struct, frozen=True, kw_only=True):
    """A line as it was, with its line end, and between which two."""

    text: str
    number: int
    above: str
    below: str


class KeptRow(GoldRow, frozen=True, kw_only=True):
    """A row in the record, with what brings back its line; older records have none."""

    line: _Place | None = None


def kept_row(lines: Sequence[Line], number: int) -> KeptRow:
    line, names = lines[number], names_of(lines)
    assert line.row is not None
    place = _Place(
        text=line.raw.decode(), number=number, above=names[number], below=names[number + 2]
    )
    return KeptRow(**msgspec.structs.asdict(line.row), line=place)


def names_of(lines: Sequence[Line]) -> list[str]:
    """What each line is known by while others change, and what is above the first and below the
    last. A database takes no null character."""
    return ["", *(x.row.id if x.row else x.raw.decode().replace("\0", "") for x in lines), ""]
