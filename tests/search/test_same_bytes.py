"""The same inputs give the same bytes: nothing in an index follows the order of a set, which is
another in every process. The whole way, with other threads and hashes, is tried by
`benchmarks/reproducible.py`. And what is read in another way than before has another format."""

from __future__ import annotations

import hashlib

import msgspec

from assay.core.types import Document, Locator
from assay.language.analysis import analyzer
from assay.search import index, index_files, profile
from assay.search.fuzzy_bm25 import lookalikes, word_grams


def test_grams_stand_in_an_order_of_their_own() -> None:
    words = ["היטל", "השבחה", "תכנית"]
    made = lookalikes(words, analyzer("he"))
    lemmas = [analyzer("he").lemma(word) for word in words]
    in_order: dict[str, None] = {}
    for word, lemma in zip(words, lemmas, strict=True):
        in_order |= dict.fromkeys(sorted(word_grams(word, lemma)))
    assert made.grams == list(in_order)


def _statute(language: str, title: str, text: str) -> list[Document]:
    place = Locator(section="110", moment="1")
    return [Document(id="a", title=title, text=text, language=language, locator=place)]


def _report() -> list[Document]:
    fields = {"section_title": "Talous / Tase", "statement": "Tase", "label": "Rahavarat 31.12."}
    figure = {"column": "TP 2024", "text": "12", "value": 12.0, "year": 2024}
    row = Document(
        id="r",
        text="Tase | Rahavarat",
        language="fi",
        fields=fields,
        metadata={"type": "row", "town": "Lapua", "year": 2024, "figures": [figure]},
        locator=Locator(doc_id="lapua", page=2, table="p2-t1", row="Rahavarat"),
    )
    prose = Document(
        id="p",
        text="Koululaisten kuljetukset kilpailutettiin. Sopimus päättyy vuonna 2027.",
        language="fi",
        fields={"section_title": "Sivistys"},
        metadata={"type": "prose", "town": "Lapua", "year": 2024},
        locator=Locator(doc_id="lapua", page=2),
    )
    return [row, prose]


READ = {
    "stems": [
        Document(id="a", text="The council's members voted on Section 87100.", language="en")
    ],
    "fi": _statute("fi", "Talousarvio", "Kunnan alijäämän kattamisesta säädetään erikseen."),
    "he": _statute("he", "היטל השבחה", "הוועדה המקומית תגבה היטל בשיעורים שנקבעו."),
    "rows": _report(),
}
# the format that an index has since it was last read in another way, and what it held then
LAST = (20, "8bf1dc55e3c9a223")


def _held() -> str:
    """Of small indexes of each kind, all that a machine does not round in its own way; and the
    weights that an index keeps."""
    digest = hashlib.sha256()
    for documents in READ.values():
        made = index.build([(document, document.id) for document in documents], dense=False)
        for name, array in sorted(index_files._arrays_of(made).items()):
            if array.dtype.kind in "iub":
                digest.update(name.encode() + array.astype("<i8").tobytes())
        lists = index_files._lists_of(made)
        lists["forms"] = lists.get("forms", [])[:0]  # those of the dictionary that is installed
        digest.update(msgspec.json.encode(sorted(lists.items())))
    own = [profile.OPINIONS, profile.GENERIC, profile.SOFT, profile.FINNISH, profile.HEBREW]
    digest.update(b"".join(map(msgspec.json.encode, (*own, profile.REPORTS))))
    return digest.hexdigest()[:16]


def test_what_an_index_holds_changes_with_its_format() -> None:
    """Where this fails: texts are read into an index in another way, or weights that it keeps are
    others. Raise FORMAT in index_files.py, keep the number before in READABLE, and put both into
    LAST; whoever has an older index is then told to build it again."""
    assert (index_files.FORMAT, _held()) == LAST
