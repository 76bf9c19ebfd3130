"""The votes of a gold set as judges give them: reading them from the log, whether their document
has changed since, and whether the reason that a judge wrote is one.

`gold.votes` decides which votes hold; `judging.labels` makes labels of them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from assay.core.errors import Declined
from assay.core.types import Document, GoldSet, Judgment, Vote
from assay.gold.log import open_log
from assay.gold.people import IMPORTED
from assay.gold.rows import has_log
from assay.gold.votes import VoteBook, current_votes

# A named part of a document that a judge reads, and its machine-made stand-in.
READ_FIELDS = {"question": "question_synthetic", "conclusion": "conclusion_synthetic"}


def read_votes(dataset: Path) -> list[Vote]:
    """Every vote ever given on a set, in the order of its log; none where nobody has voted."""
    return open_log(dataset).votes() if has_log(dataset) else []


def stale(votes: Iterable[Vote], documents: Mapping[str, Document]) -> dict[str, tuple[str, ...]]:
    """The votes whose document reads otherwise now than when it was judged, by their ids, with the
    parts that changed."""
    changed = {
        vote.id: changed_parts(vote.document, documents[vote.doc_id])
        for vote in votes
        if vote.doc_id in documents
    }
    return {vote_id: parts for vote_id, parts in changed.items() if parts}


def stale_in(votes: Iterable[Vote], documents: Iterable[Document]) -> list[Vote]:
    """The votes that hold now, and whose document the corpus has otherwise than it was read."""
    holding = [vote for vote in current_votes(votes) if vote.document]
    read = {vote.doc_id for vote in holding}
    changed = stale(holding, {each.id: each for each in documents if each.id in read})
    return [vote for vote in holding if vote.id in changed]


def document_fingerprint(document: Document) -> str:
    """The hashes of a document's text, question and conclusion, which a judge reads. The title is
    left out, since importers compute it."""
    parts = [document.text]
    for own, made in READ_FIELDS.items():
        parts.append(document.fields.get(own, "").strip() or document.fields.get(made, "").strip())
    return ":".join(hashlib.sha256(part.encode()).hexdigest()[:12] for part in parts)


def changed_parts(fingerprint: str, document: Document) -> tuple[str, ...]:
    """The parts of a document that changed since a judge read it; `fingerprint` is kept in the
    vote. Votes of earlier versions have one hash, which does not say which part."""
    if not fingerprint:
        return ()
    if ":" not in fingerprint:
        whole = [document.title, document.text, sorted(document.fields.items())]
        unchanged = hashlib.sha256(msgspec.json.encode(whole)).hexdigest()[:16] == fingerprint
        return () if unchanged else ("title, text or fields",)
    hashes = zip(fingerprint.split(":"), document_fingerprint(document).split(":"), strict=False)
    names = ("text", *READ_FIELDS)
    return tuple(name for name, (then, now) in zip(names, hashes, strict=False) if then != now)


def label_votes_of(gold: GoldSet, book: VoteBook) -> list[Vote]:
    """The labels on which nobody has voted, as votes, so that computing labels anew loses none. A
    label that does not say when it was made is older than every vote."""
    return [
        Vote(
            id=_label_id(judgment),
            query_id=judgment.query_id,
            doc_id=judgment.doc_id,
            grade=judgment.grade,
            judge=judgment.judge or IMPORTED,
            kind="human",
            at=judgment.at,
            rationale=judgment.rationale,
            rubric=judgment.rubric,
            source=judgment.source or ("" if judgment.rationale or judgment.judge else IMPORTED),
        )
        for judgment in gold.iter_judgments()
        if not book.has((judgment.query_id, judgment.doc_id))
    ]


def _label_id(judgment: Judgment) -> str:
    """An id that is the same for the same label, so that importing labels twice adds nothing."""
    parts = [judgment.query_id, judgment.doc_id, judgment.grade, judgment.judge, judgment.at]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:24]


# ── reasons ───────────────────────────────────────────────────────────────────────────────────────

LONGEST_REASON = 4_000  # characters of a reason; taste
# what makes a text a reason; taste
MIN_WORDS, MIN_LETTERS = 3, 10
MIN_LETTERS_OF_TWO = 20  # of two words, in languages that write words together; taste
MIN_ADDED = 3  # letters after a start that the rubric offers: "Another area of the law: tax"
MIN_ADDED_WITHOUT_COLON = 5  # "Another area of the law entirely"
EXPECTED_REASON = (
    f"at least {MIN_WORDS} words that name the rule or the fact; after a sentence that the rubric "
    "offers, what it means here"
)
_WORD = re.compile(r"[^\W_][\w'’׳״-]*")


def too_long(text: str, what: str = "the reason") -> str:
    """The problem with a reason that is too long; empty for others."""
    if len(text) <= LONGEST_REASON:
        return ""
    return f"{what} has {len(text):,} characters, and at most {LONGEST_REASON:,} are kept"


def refuse_long(text: str, what: str = "the reason") -> None:
    """Refuse a reason that is too long; it is never cut."""
    if problem := too_long(text, what):
        raise Declined(
            "text_long", problem, hint="Please shorten it.", n=len(text), most=LONGEST_REASON
        )


def is_reason(text: str, starts: Iterable[str] = ()) -> bool:
    """Whether a text is a reason; `starts` are the starts of sentences that the page offers."""
    reason = " ".join(text.split())
    if reason.endswith(":"):
        return False
    for start in starts:
        bare = start.strip().rstrip(":")
        if bare and reason.startswith(bare):
            added = reason[len(bare) :]
            least = MIN_ADDED if added.startswith(":") else MIN_ADDED_WITHOUT_COLON
            return _words_and_letters(added)[1] >= least
    words, letters = _words_and_letters(reason)
    return words > 1 and letters >= (MIN_LETTERS if words >= MIN_WORDS else MIN_LETTERS_OF_TWO)


def _words_and_letters(text: str) -> tuple[int, int]:
    words = _WORD.findall(text)
    return len(words), sum(map(len, words))
