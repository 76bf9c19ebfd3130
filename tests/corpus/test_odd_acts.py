"""Acts as they are found: no word of one is dropped in silence, and none stands under another
number."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.corpus import Corpus, cite
from assay.corpus.quality import check
from kit.sources import load


def act(tmp_path: Path, body: str) -> Corpus:
    (tmp_path / "act.xml").write_text(
        '<akomaNtoso><act><meta><identification><FRBRWork><FRBRuri value="/akn/xx/act/2019/4"/>'
        '</FRBRWork><FRBRExpression><FRBRlanguage language="eng"/></FRBRExpression>'
        "</identification></meta><preface><docTitle>Pilots Act 2019</docTitle></preface>"
        f"<body>{body}</body></act></akomaNtoso>",
        encoding="utf-8",
    )
    return load("akn", tmp_path / "act.xml", tmp_path / "home")


def p(words: str) -> str:
    return f"<content><p>{words}</p></content>"


def one(tag: str, number: str, inner: str) -> str:
    return f"<{tag}><num>{number}</num>{inner}</{tag}>"


def schedule(inner: str, named: str = "") -> str:
    return f'<hcontainer name="schedule">{named}{inner}</hcontainer>'


BODY = one("section", "1", p("body"))
ROWS: list[tuple[str, list[tuple[str, str]]]] = [
    (  # words and a proviso beside the subsections
        one(
            "section",
            "1",
            p("before")
            + one("subsection", "(1)", p("one"))
            + one("subsection", "(1A)", p("more"))
            + one("subsection", "(2)", p("two"))
            + f"<proviso>{p('provided that')}</proviso>",
        ),
        [
            ("s. 1(1)", "before (1) one"),
            ("s. 1(1a)", "before (1A) more"),
            ("s. 1(2)", "before (2) two provided that"),
        ],
    ),
    (  # an article with numbered paragraphs, and points in one of them
        one(
            "article",
            "Article 3",
            one("paragraph", "1.", p("one"))
            + one("paragraph", "2.", f"<list>{one('point', '(a)', p('two'))}</list>"),
        ),
        [("s. 3(1)", "1. one"), ("s. 3(2)", "2. (a) two")],
    ),
    (  # schedules that only their headings tell apart
        BODY
        + schedule(one("paragraph", "1", p("of one")), "<num>First Schedule</num>")
        + schedule(one("paragraph", "1", p("of two")), "<num>Second Schedule</num>"),
        [("s. 1", "body"), ("Sch. 1 para. 1", "of one"), ("Sch. 2 para. 1", "of two")],
    ),
    (  # and that nothing does
        BODY
        + schedule(one("paragraph", "1", p("of one")))
        + schedule(one("paragraph", "1", p("of two"))),
        [("s. 1", "body"), ("Sch. 1 para. 1", "of one"), ("Sch. 2 para. 1", "of two")],
    ),
    (  # a schedule that is a table, and one whose paragraphs are divided
        BODY
        + schedule(p("a table"), "<num>Schedule A</num>")
        + schedule(
            one(
                "paragraph",
                "2",
                one("subparagraph", "(1)", p("one")) + one("subparagraph", "(2)", p("two")),
            ),
            "<num>Schedule B</num>",
        ),
        [
            ("s. 1", "body"),
            ("Sch. A", "a table"),
            ("Sch. B para. 2(1)", "(1) one"),
            ("Sch. B para. 2(2)", "(2) two"),
        ],
    ),
    (  # numbers that begin anew in each part
        "".join(
            one("part", f"Part {part}", one("chapter", "Chapter 1", one("section", "1", p(part))))
            for part in ("I", "II")
        ),
        [("Part I s. 1", "I"), ("Part II s. 1", "II")],
    ),
    (  # what is no more
        BODY
        + '<section status="removed"><num>2</num><content><p/></content></section>'
        + one("section", "3", p("[Repealed by Act 5 of 2020]")),
        [
            ("s. 1", "body"),
            ("s. 2 (repealed)", "(repealed)"),
            ("s. 3 (repealed)", "[Repealed by Act 5 of 2020]"),
        ],
    ),
    (  # rules, clauses and paragraphs as sections
        one("rule", "1", p("one"))
        + one("clause", "2", p("two"))
        + one("paragraph", "3", p("three")),
        [("s. 1", "one"), ("s. 2", "two"), ("s. 3", "three")],
    ),
]


@pytest.mark.parametrize(("body", "told"), ROWS)
def test_every_word_stands_under_its_number(
    tmp_path: Path, body: str, told: list[tuple[str, str]]
) -> None:
    corpus = act(tmp_path, body)
    read = [
        (
            document.title.removeprefix("Pilots Act 2019 "),
            " ".join(f"{document.fields.get('intro', '')} {document.text}".split()),
        )
        for document in corpus.iter()
    ]
    assert read == told
    assert not list(corpus.problems())


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        (f"<preamble>{p('Whereas ships')}</preamble>{BODY}", "left-out", "'Whereas ships'"),
        (
            one("chapter", "Chapter 1", f"<intro><p>In this chapter</p></intro>{BODY}"),
            "left-out",
            "3 words",
        ),
        (BODY + one("section", "2", "<heading>Only this</heading>"), "empty-section", ": 2"),
        (BODY + BODY, "twice", "Pilots Act 2019 s. 1"),
    ],
)
def test_what_is_not_in_a_document_is_told(tmp_path: Path, body: str, code: str, said: str) -> None:
    corpus = act(tmp_path, body)
    (problem,) = corpus.problems()
    assert problem.code == code
    assert said in problem.reason
    assert [found.level for found in check(corpus) if found.code == code] == ["flag"]


def test_a_subsection_is_cited_by_the_number_it_prints(tmp_path: Path) -> None:
    corpus = act(tmp_path, ROWS[0][0])
    (found,) = cite("section 1(2) of the Pilots Act 2019", corpus)
    assert [corpus.get(target).text[:7] for target in found.targets] == ["(2) two"]
