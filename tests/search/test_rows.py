"""Reports: rows of tables found by their label, town, year and accounts, and prose beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay.core.types import Document
from assay.corpus import import_corpus, open_corpus
from assay.engines.indexed import index_corpus, open_indexed
from assay.language.analysis import analyzer
from assay.language.finnish import irregular_forms, may_be_form
from assay.search.dense import named_encoder
from assay.search.engine import Engine
from assay.search.fuzzy_bm25 import SAME_ROOT, lookalikes
from assay.search.reports.cells import Cell, sentence
from assay.search.reports.question import _terms, question_of, readings, similar_words
from assay.workbench.searching.corpora import search


def _table(title: str, *rows: tuple[str, str, str], header: list[str] | None = None) -> Any:
    cells = [{"cells": list(row)} for row in rows]
    return {"title": title, "rows": cells, "header": header or []}


def _report(city: str, year: int, factor: int) -> Any:
    def money(number: int) -> str:
        return f"{number * factor:,}".replace(",", " ")

    income = _table(
        f"Tuloslaskelma {year} (1 000 €)",
        ("Toimintatuotot", money(1_200), money(1_100)),
        ("Toimintakulut", f"-{money(5_700)}", f"-{money(5_500)}"),
        ("Vuosikate", money(340), money(310)),
        ("Tilikauden tulos", f"-{money(110)}", money(120)),
    )
    group = _table(
        f"Konsernituloslaskelma {year}",
        ("Toimintatuotot", money(2_200), money(2_100)),
        ("Vuosikate", money(640), money(610)),
        ("Tilikauden tulos", money(210), money(220)),
    )
    balance = _table(
        "Tase",
        ("VASTAAVAA", "", ""),
        ("Pysyvät vastaavat", money(12_000), money(11_800)),
        ("Vastaavaa yhteensä", money(13_500), money(13_200)),
        header=["", f"31.12.{year}", f"31.12.{year - 1}"],
    )
    budget = _table(
        "Käyttötalouden toteutuminen",
        ("Perusopetus", money(900), money(950)),
        ("Kirjasto", money(90), money(85)),
        header=["", f"Talousarvio {year}", f"Toteuma {year}"],
    )
    compared = _table(
        "Verotulot, verrokkikaupungit",
        ("Kuopio", money(700), "2 %"),
        ("Vaasa", money(600), "3 %"),
        header=["", f"TP {year}", "Muutos"],
    )
    cash = _table(
        "Rahavarat",
        ("Rahavarat 1.1.", money(50), money(40)),
        ("Rahavarat 31.12.", money(60), money(50)),
    )
    companies = _table(
        "Osakkuusyhteisöt",
        ("Vaasan Vesi Oy", money(216), money(30)),
        ("Satama Oy", money(80), money(20)),
        header=["", "Osuus omasta pääomasta", "Osuus lainoista"],
    )
    sections = [
        (
            3,
            "Toimintakertomus",
            [
                "Vuosi oli vaikea. Merkittävimmät riskit ovat henkilöstö ja korot.",
                "Saarijärven ruoppaus valmistui syksyllä.",
            ],
        ),
        (
            4,
            "Talous",
            ["Menot olivat talousarviota suuremmat. Tilikauden tulos oli heikko."],
        ),
        (6, "Velka", ["Etelä-Pohjanmaan kunnilla oli velkaa. Hyvinvointialueet saivat lainaa."]),
        (7, "Tarkastuslautakunta", ["Takala Vesa, pj. Ekola Mika, vpj"]),
        (5, "Rahoitus", ["Kaupunki nosti lainaa kuntalain 113 §:n mukaisesti."]),
    ]
    pages = [
        {"page_num": page, "sections": [{"title": title, "paragraphs": text}]}
        for page, title, text in sections
    ]
    tables = [
        (15, "Tuloslaskelma", income),
        (55, "Konsernin laskelmat", group),
        (20, "Tase", balance),
        (30, "Talousarvion toteutuminen", budget),
        (60, "Vertailu", compared),
        (61, "Rahoituslaskelma", cash),
        (62, "Konserni", companies),
    ]
    pages += [
        {"page_num": page, "sections": [{"title": title, "tables": [table]}]}
        for page, title, table in tables
    ]
    title = f"{city} tilinpäätös {year}"
    return {"city": city.lower(), "year": year, "title": title, "pages": pages}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("reports")
    (home / "source").mkdir()
    for city, year, factor in (("Lapua", 2023, 1), ("Kauhava", 2024, 7)):
        path = home / "source" / f"{city.lower()}.json"
        path.write_text(json.dumps(_report(city, year, factor)))
    import_corpus("report", home / "source", name="reports", home=home)
    index_corpus("reports", home=home, dense=False)
    return home


@pytest.fixture(scope="module")
def engine(home: Path) -> Engine:
    return open_indexed("reports", home=home)


def test_a_row_is_a_document(home: Path) -> None:
    corpus = open_corpus(home, "reports")
    row = corpus.get("lapua:p15:t1:r3")
    assert row.locator is not None
    assert (row.locator.page, row.locator.table, row.locator.row) == (15, "p15-t1", "Vuosikate")
    assert row.text.startswith("Lapua 2023 | Tuloslaskelma | Tuloslaskelma 2023 (1 000 €) |")
    assert row.text.endswith("Vuosikate | 2023: 340 (1 000 €) | 2022: 310 (1 000 €)")
    assert row.metadata["figures"][0]["value"] == 340.0
    assert row.metadata["figures"][0]["unit"] == "1 000 €"
    balance = corpus.get("lapua:p20:t1:r2")
    assert balance.fields["parent"] == "VASTAAVAA"
    assert "lapua:p20:t1:r1" not in corpus  # a heading, kept in the table


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Mikä oli Lapuan kaupungin vuosikate vuonna 2023?", "lapua:p15:t1:r3"),
        ("Mikä oli Lapuan konsernin vuosikate vuonna 2023?", "lapua:p55:t1:r2"),
        ("kauhavan vuosikate", "kauhava:p15:t1:r3"),
        ("Kuinka suuri Lapuan taseen loppusumma oli?", "lapua:p20:t1:r3"),
        ("Paljonko Kauhava budjetoi perusopetukseen 2024?", "kauhava:p30:t1:r1"),
        ("Mitkä ovat Lapuan merkittävimmät riskit?", "lapua:p3:s1"),
        ("Mitä lainaa Lapua nosti kuntalain 113 §:n mukaan?", "lapua:p5:s1"),
        # of a town in a table that compares towns
        ("Mikä oli Kuopion verotulojen muutos 2023?", "lapua:p60:t1:r1"),
        ("Mitkä olivat Vaasan verotulot Lapuan vertailussa?", "lapua:p60:t1:r2"),
        ("Paljonko Lapualla oli rahavaroja vuoden lopussa?", "lapua:p61:t1:r2"),
        ("Paljonko Lapualla oli rahavaroja vuoden alussa?", "lapua:p61:t1:r1"),
        ("Lapuan konsernin osuus Vaasan Vesi Oy:n omasta pääomasta", "lapua:p62:t1:r1"),
        ("Osuus Vaasan veden omasta pääomasta", "kauhava:p62:t1:r1"),
    ],
)
def test_the_first_hit(engine: Engine, question: str, expected: str) -> None:
    hits = engine.search(question, 5)
    assert hits[0].doc_id == expected
    assert not hits.abstained
    assert hits[0].score is not None
    assert hits[0].score >= 0.6


@pytest.mark.parametrize(
    "question",
    [
        "Mikä oli Helsingin kaupungin vuosikate 2023?",  # a town that is not here
        "Mikä oli Lapuan vuosikate vuonna 2031?",  # a year that is not here
        "Kuka voitti jääkiekon maailmanmestaruuden?",  # another subject
        "Mikä oli Nurmon kunnan vuosikate 2024?",  # a town of the past
        "Mikä oli Kauhavan vuosikate talousarviossa 2026?",  # a budget that is not here
        "Paljonko Lapuan konsernin kirjastoon budjetoitiin?",  # not of the group
        "Mikä oli Kuopion vuosikate 2023?",  # compared here, but not by this
        "Mikä oli Lapuan tilikauden tulos talousarviossa 2023?",  # a sentence has the budget alone
        "Paljonko Pohjanmaan hyvinvointialueella oli kouluja?",  # here is Etelä-Pohjanmaa
        "Milloin Saarijärven kaupunki nosti lainaa?",  # a town, not the lake of that name
        "Paljonko oli Vaasan konsernin oma pääoma?",
        "Kuka valittiin Vaasan kaupunginjohtajaksi?",  # compared here, but not by this
        "Miten otan lainaa Lapualla?",  # for oneself
        "Miten haen lainaa Lapualta?",
        "Mikä on Lapuan kirjaston osoite?",  # a service
        "Onko Lapuan kirjasto auki?",
    ],
)
def test_what_the_reports_do_not_answer(engine: Engine, question: str) -> None:
    assert engine.search(question, 5).abstained


@pytest.mark.parametrize(
    ("question", "asks", "budget", "has"),
    [
        # a budget is a column where a figure is asked for, and a word like others where none is
        ("Mikä oli Lapuan kirjaston budjetti?", "figure", True, ""),
        ("Miksi Lapuan kirjaston budjetti ylittyi?", "text", False, "budjetti"),
        ("Montako asukasta tuli osallistuvaan budjetointiin?", "figure", False, "budjetointiin"),
        ("Montako hanketta asukasbudjetilla tehtiin?", "figure", False, "asukasbudjetilla"),
        ("Mistä Lapua hankki maata?", "text", False, "maata"),
        ("Kenellä on Lapualla oikeus nostaa lainaa?", "text", False, "lainaa"),
        ("Minkä kuntien kanssa Lapua toimii?", "text", False, "kuntien"),
        ("Minkä suuruinen oli Lapuan vuosikate?", "figure", False, "vuosikate"),
        # a list is of rows of accounts, or it is a text; euros are no elections
        ("Mitkä olivat Lapuan toimintakulut?", "figure", False, "toimintakulut"),
        ("Mitkä olivat Lapuan isoimmat tapahtumat?", "text", False, "tapahtumat"),
        ("Miten Lapualla sujuivat eurovaalit?", "text", False, "eurovaalit"),
        ("Miten monta euroa Lapua sai?", "figure", False, "monta"),
        # of two towns the one without a report is a word
        ("Miksi Lapua osti palveluja Saarijärveltä?", "text", False, "saarijärveltä"),
    ],
)
def test_what_a_question_asks_for(
    engine: Engine, question: str, asks: str, budget: bool, has: str
) -> None:
    asked = question_of(engine._index, question)
    assert (asked.asks, asked.budget) == (asks, budget)
    assert not has or has in asked.words


def test_a_lake_with_the_name_of_a_town(engine: Engine) -> None:
    hits = engine.search("Milloin Saarijärven ruoppaus valmistui?", 5)
    assert {hit.doc_id for hit in hits[:2]} == {"lapua:p3:s1", "kauhava:p3:s1"}
    assert not hits.abstained


def test_it_is_said_that_a_town_has_no_report(home: Path) -> None:
    answer = search("reports", "Mikä oli Kurikan vuosikate 2024?", home=home)
    assert answer.note == "There is no report of Kurikka here, only of Kauhava, Lapua."
    assert not search("reports", "Mikä oli Lapuan vuosikate vuonna 2031?", home=home).note
    assert not search("reports", "Mikä oli Lapuan vuosikate?", home=home).note


def test_every_hit_is_of_the_town_that_is_named(engine: Engine) -> None:
    hits = engine.search("Lapuan tulos ja toimintakulut", 20)
    assert {hit.doc_id.partition(":")[0] for hit in hits} == {"lapua"}


def test_a_hit_has_its_column_and_the_cell_is_told(home: Path) -> None:
    answer = search("reports", "Mikä oli Lapuan vuosikate vuonna 2022?", home=home, top_k=1)
    (hit,) = answer.hits
    assert hit.snippet == (
        "Vuosikate 2022: 310 (1 000 €), Lapua, tilinpäätös 2023, s. 15, "
        "Tuloslaskelma 2023 (1 000 €)"
    )
    assert hit.locator is not None
    assert (hit.locator.row, hit.locator.column) == ("Vuosikate", "2022")
    assert hit.cell is not None
    assert (hit.cell.value, hit.cell.amount) == (310.0, 310_000.0)


def test_the_cell_says_whose_it_is_where_its_table_does_not() -> None:
    row = Document(
        id="r",
        text="",
        fields={"entity": "660 Rakennusvalvonta", "statement": "Talousarvion toteutuminen"},
        metadata={"type": "row", "figures": [{"column": "Toteutuma", "text": "5"}]},
    )
    said = sentence(row, Cell(row="Netto", column="Toteutuma", text="5", table="Talous"))
    assert said.endswith("Rakennusvalvonta, Talous")
    named = sentence(row, Cell(row="Netto", column="", text="5", table="RAKENNUSVALVONTA"))
    assert named.lower().count("rakennusvalvonta") == 1


@pytest.mark.parametrize(("asked", "told"), [("unicef", "unicefin"), ("vedellä", "vesi")])
def test_a_word_is_found_in_its_other_forms(asked: str, told: str) -> None:
    words = lookalikes([told, "toiminta"], analyzer("fi"))
    numbers, shares = words.inflected(asked, may_be_form)
    assert (numbers.tolist(), shares.tolist()) == ([0], [1.0])


def test_a_form_that_no_rule_makes_is_looked_up() -> None:
    told = ["säästää", "sääsket"]
    forms = {"säästivät": "säästää"}
    assert irregular_forms({"säästää"}).items() >= forms.items()
    words = lookalikes(told, analyzer("fi"), str, lambda lemmas: forms if lemmas == {*told} else {})
    numbers, shares = words.inflected("säästivät", may_be_form)
    assert dict(zip(numbers.tolist(), shares.tolist(), strict=True))[0] == 1.0
    assert (words.knows("säästivät"), words.knows("säästitte")) == (True, False)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("Miksi Lapua ei enää saanut lainaa niin kuin ennen?", ("lainaa",)),
        ("Riittivätkö Lapuan rahat edes menoihin?", ("riittivät", "rahat", "menoihin")),
        ("Saiko Lapua lainaa?", ("lainaa",)),
        ("Paljonko oli tulos ennen veroja?", ("tulos", "ennen", "veroja")),  # which row
    ],
)
def test_what_only_fills_a_question_is_no_word_of_it(
    engine: Engine, asked: str, words: tuple[str, ...]
) -> None:
    assert question_of(engine._index, asked).words == words


def test_a_word_of_everyday_language_stands_for_what_reports_say(engine: Engine) -> None:
    index = engine._index
    asked = question_of(index, "Miten Lapuan uhkiin varaudutaan?")
    assert "riski" in asked.meant["uhkiin"]
    assert question_of(index, "Paljonko Lapuan uhat maksoivat?").meant == {}
    assert question_of(index, "Mitkä ovat uhat Vaasassa?").meant == {}
    plain, with_terms = similar_words(index, "uhkiin"), similar_words(index, "uhkiin", ["riski"])
    assert index.words is not None
    gained = {index.words.words[number] for number in {*with_terms[0]} - {*plain[0]}}
    assert gained == {"riskit"}
    hits = engine.search("Mitkä ovat Lapuan suurimmat uhat?", 3)
    assert hits[0].doc_id == "lapua:p3:s1"


@pytest.mark.parametrize(
    ("asked", "light"),
    [
        ("Miten riskeihin varauduttiin Lapualla?", {"varauduttiin"}),  # by rule
        ("Miksi Lapua tarvitsi lainaa?", {"tarvitsi"}),  # by the dictionary, and not here
        ("Mitä tarvittiin?", set()),  # there is nothing else
        ("Paljonko lainaa Lapua tarvitsi?", set()),  # a figure: verbs may tell the column
    ],
)
def test_a_verb_that_says_little_counts_less(engine: Engine, asked: str, light: set[str]) -> None:
    question = question_of(engine._index, asked)
    assert question.light == light
    (first, *_) = readings(question.words, question.light)
    assert {word for word, share in first.items() if share < 1.0} == light


def test_a_verb_that_is_not_here_makes_no_question_less_known(engine: Engine) -> None:
    bare, with_verb = (
        engine.search(f"Miksi Lapua {verb} lainaa kuntalain mukaisesti?", 1, explain=True)[0]
        for verb in ("", "tarvitsi")
    )
    assert with_verb.doc_id == bare.doc_id == "lapua:p5:s1"
    assert with_verb.explanation["least"] == bare.explanation["least"] == 1.0


def test_a_compound_that_is_not_here_is_read_as_its_parts(engine: Engine) -> None:
    asked = question_of(engine._index, "Montako korkoriskiä Lapualla oli?")
    assert (asked.asks, asked.parts) == ("figure", {})
    asked = question_of(engine._index, "Miksi Lapualla on vuosiriskit?")
    assert asked.parts == {"vuosiriskit": ("vuosi", "riskit")}
    every = list(readings(asked.words, asked.light, asked.parts))
    assert every == [{"vuosiriskit": 1.0}, {"vuosi": 0.5, "riskit": 0.5}]
    hits = engine.search("Miksi Lapualla on vuosiriskit?", 1)
    assert hits[0].doc_id == "lapua:p3:s1"


def test_more_words_that_are_said_together_prove_more(engine: Engine) -> None:
    """Two words of two may stand together by chance, four of four hardly."""
    few, many = (
        engine.search(question, 1, explain=True)[0]
        for question in (
            "Milloin ruoppaus valmistui?",
            "Milloin Saarijärven ruoppaus syksyllä valmistui?",
        )
    )
    assert few.explanation["close"] == pytest.approx(1.0)
    assert few.explanation["said"] < many.explanation["said"] <= 4.0
    assert few.score < many.score


@pytest.mark.parametrize("asked", ["puheenjohtaja", "varapuheenjohtajina"])
def test_offices_are_abbreviated_in_lists_of_people(engine: Engine, asked: str) -> None:
    hits = engine.search(f"Ketkä olivat {asked} Lapualla?", 3)
    assert [hit.doc_id for hit in hits][:1] == ["lapua:p7:s1"]


def test_everyday_words_are_single_words_and_no_term_of_their_own() -> None:
    for said, terms in _terms("lay"):
        assert len(said) == 1
        assert {*terms} - {*said}


def test_the_sentence_that_answers_is_shown(engine: Engine) -> None:
    """Not one that only says what the heading says already; what was asked for is marked."""
    text = "Velka oli suuri. Merkittävimmät riskit ovat korot. Ne nousivat. Lopuksi: Velka"
    fields = {"section_title": "Velka"}
    prose = Document(id="x", text=text, fields=fields, metadata={"type": "prose"})
    shown, words = engine.snippet("Miksi velka on uhka?", prose)
    assert shown.startswith("Merkittävimmät riskit ovat korot. Ne nousivat.")
    assert words == ["riskit", "velka"]  # uhka may mean riski


def test_the_budget_or_the_outcome(engine: Engine) -> None:
    for asked, column in (("budjetoi", "Talousarvio 2024"), ("käytti", "Toteuma 2024")):
        first = engine.search(f"Paljonko Kauhava {asked} kirjastoon 2024?", 1)[0]
        assert first.locator is not None
        assert (first.locator.row, first.locator.column) == ("Kirjasto", column)


def test_what_people_say_is_read_as_what_accounts_say() -> None:
    assert {"vastaavaa": 1.0, "yhteensä": 1.0} in list(readings(("taseen", "loppusumma")))
    assert list(readings(("vuosikate",))) == [{"vuosikate": 1.0}]


@pytest.mark.parametrize(
    ("told", "share"),
    [("ehkäiseminen", 0.6), ("ehkäistäänkin", 0.0), ("ehkäpä", 0.0), ("torjunta", 0.0)],
)
def test_a_word_of_the_same_root_counts_where_it_means_something_alike(
    told: str, share: float
) -> None:
    """No compound that begins with the word, nothing that only looks so, nothing that looks
    otherwise."""
    words = lookalikes([told], analyzer("fi"))
    alike = {"ehkäiseminen": 0.7, "ehkäistäänkin": 0.9, "ehkäpä": 0.1, "torjunta": 0.8}
    numbers, shares = words.inflected("ehkäistään", lambda *_: False, lambda _, word: alike[word])
    plain, before = words.similar("ehkäistään")
    gained = dict(zip(numbers.tolist(), shares.tolist(), strict=True))
    assert gained.get(0, 0.0) == (share or dict(zip(plain, before, strict=True)).get(0, 0.0))


@pytest.mark.parametrize(
    ("told", "is_same"),
    [
        ("hinnoittelu", True),
        ("hinnasto", False),  # too little in common
        ("hinnoitteleehan", False),  # begins with all of it
        ("hinnoitteluperusteet", False),  # a compound
    ],
)
def test_a_verb_and_the_noun_that_is_made_of_it_are_nearly_one_word(
    told: str, is_same: bool
) -> None:
    words = lookalikes([told, "toiminta"], analyzer("fi"))
    numbers, shares = words.inflected("hinnoittelee", lambda *_: False)
    found = dict(zip(numbers.tolist(), shares.tolist(), strict=True))
    assert (found.get(0, 0.0) >= SAME_ROOT) == is_same


def test_prose_is_as_close_to_a_question_as_its_closest_passage(tmp_path: Path) -> None:
    filler = "Kaupunginhallitus kokoontui syksyllä useita kertoja. Kirjastossa lainattiin kirjoja. "
    asked = "Vesitornin rakenteissa havaittiin vakavia vaurioita."
    pages = [
        {"page_num": page, "sections": [{"title": "Katsaus", "paragraphs": [text]}]}
        for page, text in ((3, f"{filler}{asked} {filler}"), (4, filler))
    ]
    report = _report("Lapua", 2023, 1)
    (tmp_path / "lapua.json").write_text(
        json.dumps(report | {"pages": report["pages"][6:] + pages})
    )
    import_corpus("report", tmp_path, name="long", home=tmp_path)
    index_corpus("long", home=tmp_path)
    hits = open_indexed("long", home=tmp_path).search("vesitornin vauriot", 5, explain=True)
    near = {hit.doc_id: hit.explanation["dense"] for hit in hits}
    assert hits[0].doc_id == "lapua:p3:s1"
    encoder = named_encoder("static-fi-1")
    whole, question = encoder.queries([f"Katsaus {filler}{asked}", "vesitornin vauriot"])
    assert near["lapua:p3:s1"] > float(whole @ question) + 0.05
