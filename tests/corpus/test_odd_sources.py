"""Sources with something odd: opinions whose records contradict themselves, acts whose sections,
schedules and closing words stand in unusual places."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.corpus import Corpus, cite
from assay.corpus.quality import check
from kit.sources import letter, load, opinion, write_opinions


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"id": "", "file": "a"}, "no-id"),
        ({"id": "A 90 1?", "file": "a"}, "odd-id"),
        ({"id": "  ", "file": "a"}, "no-id"),
        ({"id": 90001, "file": "a"}, "odd-id"),
        ({"parsed": {"date": "31.5.1990"}}, "bad-date"),
        ({"parsed": {"date": 19900531}}, "bad-date"),
        ({"year": 2990, "folder": "new", "parsed": {}}, "future-date"),
        ({"parsed": {"date": "1890-05-01"}}, "bad-date"),
        ({"parsed": {"date": "2990-05-01"}}, "future-date"),
        ({"content": {"full_text": "<p>You may</p><br/> vote &amp; sign."}}, "html"),
        (
            {
                "content": {
                    "full_text": "<P>You may<SCRIPT>var a=1;</SCRIPT><!-- b --> vote & sign."
                }
            },
            "html",
        ),
    ],
)
def test_an_odd_opinion_is_read_and_reported(
    tmp_path: Path, changed: dict[str, object], code: str
) -> None:
    record = opinion("A-90-001") | changed
    corpus = load("fppc", write_opinions(tmp_path / "s", [record]), tmp_path)
    assert len(corpus) == 1
    assert [problem.code for problem in corpus.problems()] == [code]
    if code == "html":
        assert corpus.at(0).text.split() == "You may vote & sign.".split()


def test_one_tag_alone_is_left_and_reported(tmp_path: Path) -> None:
    record = opinion("A-90-001") | {"content": {"full_text": "You may <b>vote."}}
    corpus = load("fppc", write_opinions(tmp_path / "s", [record]), tmp_path)
    assert corpus.at(0).text == "You may <b>vote."
    (problem,) = corpus.problems()
    assert (problem.code, "'<b>'" in problem.reason) == ("html", True)


def test_signs_of_html_are_read_in_texts_and_names(tmp_path: Path) -> None:
    record = opinion("A-90-001") | {
        "content": {"full_text": "Tim O&#39;Brien &amp; Jones, &#167; 87103; if a < b & c > d"},
        "parsed": {"requestor_name": "Tim O&#39;Brien"},
    }
    corpus = load("fppc", write_opinions(tmp_path / "s", [record]), tmp_path)
    assert corpus.at(0).text == "Tim O'Brien & Jones, § 87103; if a < b & c > d"
    assert corpus.at(0).title.startswith("O'Brien Advice Letter")
    assert [problem.code for problem in corpus.problems()] == ["html"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"sections": ["What may I do?"]}, "sections"),
        ({"content": {"full_text": ["You may", "vote."]}}, "content.full_text"),
        ({"citations": {"government_code": [87103, {"section": 1}]}}, "1 of its citations"),
    ],
)
def test_a_field_of_another_kind_is_reported(
    tmp_path: Path, changed: dict[str, object], said: str
) -> None:
    corpus = load("fppc", write_opinions(tmp_path / "s", [opinion("A-90-001") | changed]), tmp_path)
    (problem,) = corpus.problems()
    assert problem.code == "bad-field"
    assert said in problem.reason


@pytest.mark.parametrize("listed", [[87103, "87100"], "87103, 87100"])
def test_citations_as_numbers_and_as_one_text_are_read(tmp_path: Path, listed: object) -> None:
    record = opinion("A-90-001") | {"citations": {"government_code": listed}}
    corpus = load("fppc", write_opinions(tmp_path / "s", [record]), tmp_path)
    cited = corpus.citations.collect()["normal"].to_list()
    assert {"Gov. Code § 87103", "Gov. Code § 87100"} <= set(cited)
    assert not list(corpus.problems())


def test_tags_are_taken_out_of_every_text(tmp_path: Path) -> None:
    record = opinion("A-90-001") | {"sections": {"conclusion": "<p>You <b>may</b> vote.</p>"}}
    corpus = load("fppc", write_opinions(tmp_path / "s", [record]), tmp_path)
    assert corpus.at(0).fields["conclusion"].split() == "You may vote.".split()
    assert [problem.code for problem in corpus.problems()] == ["html"]


@pytest.mark.parametrize("said", ["31.5.1990", "1990-02-31", "2990-05-01", 19900531])
def test_what_is_no_date_is_not_taken_for_one(tmp_path: Path, said: object) -> None:
    record = opinion("A-90-001") | {"parsed": {"date": said}}
    corpus = load("fppc", write_opinions(tmp_path / "s", [record]), tmp_path)
    assert corpus.at(0).valid_from == "1990"


def test_a_record_without_a_year_is_in_the_folder_of_its_date(tmp_path: Path) -> None:
    record = opinion("A-90-001") | {"year": None, "parsed": {"date": "1990-05-01"}}
    (tmp_path / "s" / "1985").mkdir(parents=True)
    (tmp_path / "s" / "1985" / "a.json").write_text(json.dumps(record))
    corpus = load("fppc", tmp_path / "s", tmp_path)
    assert [problem.code for problem in corpus.problems()] == ["wrong-folder"]


def test_a_folder_of_another_year_is_reported(tmp_path: Path) -> None:
    write_opinions(tmp_path / "s", [opinion("A-90-001")])
    (tmp_path / "s" / "1990").rename(tmp_path / "s" / "1985")
    corpus = load("fppc", tmp_path / "s", tmp_path)
    assert [problem.code for problem in corpus.problems()] == ["wrong-folder"]


def test_an_opinion_of_the_commission_is_no_letter(tmp_path: Path) -> None:
    text = (
        "BEFORE THE PUBLIC INTEGRITY COMMISSION\n\nIn the Matter of\nOpinion requested by: Tom Roe"
    )
    corpus = load("fppc", write_opinions(tmp_path / "s", [opinion("75-031", text)]), tmp_path)
    assert corpus.at(0).title.startswith("Smith Commission Opinion, No.")


def test_a_name_that_was_cut_is_whole_in_the_title(tmp_path: Path) -> None:
    record = opinion("A-90-001", letter("A-90-001", "Mr. McHugh"), name="Mc")
    corpus = load("fppc", write_opinions(tmp_path / "s", [record]), tmp_path)
    assert corpus.at(0).title == "McHugh Advice Letter, No. A-90-001"


@pytest.mark.parametrize(
    ("caption", "name"),
    [
        (")    October 1, 1975\nState Comptroller Kenneth Cory     )\n____)\n", "Cory"),
        ("\nThomas W. Oglesby\nCity Manager, City of Antioch\n\nNo. 75-083\n", "Oglesby"),
        ("Vincent P. Biondo, Jr.  )   July 2, 1975\nCity of Carlsbad", "Biondo"),
        ("Assemblyman Art Torres )      Feb. 4, 1976\n", "Torres"),
        (
            ")  No. 75-004\n  California Labor Federation,  )  June 18, 1975\n",
            "California Labor Federation",
        ),
        ("\nJANET ADAMS\nPresident", "Adams"),
    ],
)
def test_an_opinion_of_the_commission_is_called_by_who_asked(
    tmp_path: Path, caption: str, name: str
) -> None:
    text = (
        "BEFORE THE FAIR POLITICAL PRACTICES COMMISSION\n\nIn the Matter of:\nOpinion requested by"
        f" {caption}\n\nBY THE COMMISSION: We have been asked."
    )
    record = opinion("75134", text, title="Year: 1975 Advice Letter # 75134", name="")
    corpus = load("fppc", write_opinions(tmp_path / "s", [record]), tmp_path)
    assert corpus.at(0).title.startswith(f"{name} Commission Opinion, No. ")


def test_a_reference_to_a_later_year_is_refused_or_flagged(tmp_path: Path) -> None:
    later = opinion("A-98-123", letter("A-98-123", "Ms. Poe"), year=1998, parsed={})
    body = "Superseded by A-98-123. See No. 98-123."
    early = opinion("A-90-001", letter("A-90-001", "Ms. Roe", body), parsed={})
    corpus = load("fppc", write_opinions(tmp_path / "s", [early, later]), tmp_path)
    found = corpus.citations.collect().filter(row=0)
    statuses = dict(found.select("normal", "status").iter_rows())
    assert statuses["No. A-98-123"] == "resolved"
    assert statuses["No. 98-123"] == "missing"
    assert [found.code for found in check(corpus)].count("later-reference") == 1


ACT = """<akomaNtoso><act><meta><identification><FRBRWork><FRBRuri value="/akn/il/act/1/7"/>
</FRBRWork><FRBRExpression><FRBRlanguage language="hebrew"/></FRBRExpression></identification>
</meta>
<body><title eId="title"><content><p>חוק הדוגמה, תש"ך–1960</p></content></title>
<list>
<point eId="point_1"><num>1.</num><content><p>בחוק זה</p></content></point>
<point eId="point_מכירה"><content><p>מכירה – העברה</p></content></point>
<point eId="point_2"><num>2.</num><list><intro><p>אלה</p></intro>
<point eId="point_2__point_1"><num>(1)</num><content><p>ראשון</p></content></point>
<point eId="point_2__point_2"><num>(2)</num><content><p>אחרון</p></content></point>
<wrapup><content><p>ובלבד שיירשם</p></content></wrapup></list></point>
<point eId="point_3"><num>3.</num><content><p>(בוטל).</p></content></point>
</list>
<appendix eId="appendix_ג"><list><point eId="appendix_ג__point_1"><num>1.</num>
<content><p>של ג</p></content></point></list></appendix>
<appendix eId="appendix_ראשונה_א"><list><point eId="appendix_ראשונה_א__point_1"><num>1.</num>
<content><p>של א</p></content></point></list></appendix>
<appendix eId="appendix_ראשונה_ב"><list><point eId="appendix_ראשונה_ב__point_1"><num>1.</num>
<content><p>של ב</p></content></point></list></appendix>
</body></act></akomaNtoso>"""


@pytest.fixture(scope="module")
def act(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("act")
    (folder / "act.xml").write_text(ACT, encoding="utf-8")
    return load("akn", folder / "act.xml", folder)


def test_closing_words_end_the_last_point(act: Corpus) -> None:
    assert act.get("7:2:2").text.endswith("ובלבד שיירשם")


def test_a_definition_beside_its_section_belongs_to_it(act: Corpus) -> None:
    locator = act.get("7:1:מכירה").locator
    assert locator is not None
    assert (locator.section, locator.moment) == ("1", "מכירה")


def test_what_is_repealed_says_so(act: Corpus) -> None:
    gone = act.get("7:3")
    assert gone.metadata["status"] == "repealed"
    assert gone.title.endswith("(בוטל)")
    assert act.get("7:1").metadata["status"] == "in force"


def test_schedules_with_a_letter_are_two(act: Corpus) -> None:
    texts = [act.get(f"7:schedule-1{letter}:1").text for letter in "אב"]
    assert texts == ["של א", "של ב"]
    (answer,) = cite("סעיף 1 לתוספת הראשונה ב' לחוק הדוגמה", act)
    assert answer.targets == ("7:schedule-1ב:1",)
    (answer,) = cite("סעיף 1 לתוספת ג' לחוק הדוגמה", act)
    assert answer.targets == ("7:schedule-ג:1",)
    assert act.get("7:schedule-ג:1").title.endswith("סעיף 1 לתוספת ג'")
    (answer,) = cite("סעיף 1 לתוספת ד' לחוק הדוגמה", act)
    assert answer.status == "missing"


ENGLISH = """<akomaNtoso><act><meta><identification><FRBRWork>
<FRBRuri value="/akn/gb/act/2030/7"/></FRBRWork><FRBRExpression><FRBRlanguage language="eng"/>
</FRBRExpression></identification></meta><preface><docTitle>Ferries Act</docTitle></preface>
<body><section eId="sec_1"><num>1.</num><intro><p>In this Act</p></intro>
<subsection eId="sec_1__subsec_1"><num>(1)</num><content><p>a boat floats</p></content></subsection>
<subsection eId="sec_1__subsec_2"><num>(2)</num><content><p>a raft too</p></content></subsection>
<wrapUp><p>provided that it is dry.</p></wrapUp></section>
<hcontainer name="schedule" eId="sched_A"><paragraph eId="sched_A__para_1"><num>1</num>
<content><p>Of A.</p></content></paragraph></hcontainer>
<hcontainer name="schedule" eId="sched_B"><paragraph eId="sched_B__para_1"><num>1</num>
<content><p>Of B.</p></content></paragraph></hcontainer>
</body></act></akomaNtoso>"""


def test_an_english_act_keeps_its_closing_words_and_its_schedules(tmp_path: Path) -> None:
    (tmp_path / "act.xml").write_text(ENGLISH, encoding="utf-8")
    corpus = load("akn", tmp_path / "act.xml", tmp_path)
    last = corpus.get("7/2030:1:2")
    assert last.text.splitlines() == ["(2) a raft too", "provided that it is dry."]
    assert last.fields["intro"] == "In this Act"
    told = [(one.title, one.text) for one in corpus.iter() if "schedule" in one.id]
    assert told == [
        ("Ferries Act Sch. A para. 1", "Of A."),
        ("Ferries Act Sch. B para. 1", "Of B."),
    ]
