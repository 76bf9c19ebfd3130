from __future__ import annotations

import pytest

from assay.language.finnish import lemma_of_all
from assay.language.terms import contains_term, fold

FINNISH = """
tilinpäätös: tilinpäätökseen tilinpäätöstä tilinpäätöksiä tilinpäätöksessään konsernitilinpäätöksen
alijäämä: alijäämän alijäämää alijäämiä alijäämäselvitys
kunta: kunnan kuntaa kuntaan kunnissa kuntien kuntia
laki: lain lakia laissa lakeja laeissa
asukas: asukkaan asukkaiden asukasta asukkaidensa
oikeus: oikeuden oikeutta oikeuksia oikeuteen
kieli: kieltä kielen kieliä
velvollisuus: velvollisuuden velvollisuutta velvollisuuksia
kattaminen: kattamisen kattamista
liite: liitteen liitteitä
hanke: hankkeen hankkeita
toimenpide: toimenpiteet toimenpiteitä
tunnusluku: tunnusluvut tunnuslukuja
määräaika: määräajan määräajassa
hallintosääntö: hallintosäännön hallintosääntöä
vuosi: vuoden vuotta vuosina vuonna
kaksi: kahden kahta
yksi: yhden yhtä
aika: ajan ajassa aikaa
kattaa: katetaan kattavat
omistaa: omistama omistaman omistavat
jäsen: jäsenen jäsentä jäsenten
ääni: äänen ääntä äänten ääniä äänet
kattamaton: kattamattoman
tulos: tuloksen tulosta tulokset tulokseen
tulo: tulon tulosta tulot tuloja tulojen
verotulot: verotuloja verotulojen
rakennusluvat: rakennuslupia rakennusluvan
kattavat: kattavaan
lailla: lailla
"""

OTHER = """
gift: gifts
city: cities
levy: levies levied
penalty: penalties
disclosure: disclosures
disqualify: disqualified disqualifies disqualifying
mailing: mailings
sell: sold
tax: taxes
היטל: ההיטל
השבחה: בהשבחה וההשבחה
תכנית: תכניות שבתכניות
היתר: ההיתר היתרים בהיתרו
רשות: הרשויות
פיצויים: הפיצוי פיצויי
ועדה: הוועדה ועדת
"""

DIFFERENT = [
    ("kunta", "kuntayhtymä"),
    ("kunta", "kunto"),
    ("laki", "laina"),
    ("laki", "lakko"),
    ("virka", "virta"),
    ("tulos", "tuloslaskelma"),
    ("johto", "johtaja"),
    ("tilinpäätös", "päätös"),
    ("tilinpäätös", "talousarvio"),
    ("tase", "tasa"),
    ("tax", "taxi"),
    ("gift", "give"),
    ("110", "1101"),
    ("tulos", "tulo"),
    ("tulos", "tulot"),
    ("tulos", "tulon"),
    ("tulo", "tulos"),
    ("tulo", "tuloksen"),
    ("tulo", "tulokseen"),
    ("laki", "lakka"),
    ("laina", "lain"),
    ("johtaa", "johtaja"),
    ("toimia", "toimivallan"),
    ("alijäämä", "alijäämäinen"),
    ("fact", "factor"),
    ("count", "county"),
    ("public", "publication"),
    ("conversation", "conversion"),
    ("disclosure", "disclosed"),
    ("law", "lawn"),
    ("השבחה", "שבח"),
    ("שבח", "השבחה"),
    ("היתר", "יתר"),
    ("ועדה", "המועד"),
    ("חוב", "חובה"),
]


def _pairs(table: str) -> list[tuple[str, str]]:
    lines = [line.partition(":") for line in table.strip().splitlines()]
    return [(term, form) for term, _, forms in lines for form in forms.split()]


@pytest.mark.parametrize(("term", "form"), _pairs(FINNISH) + _pairs(OTHER))
def test_an_inflected_form_counts(term: str, form: str) -> None:
    assert contains_term(f"… {form}, …", term)
    assert contains_term(form.upper(), term)


@pytest.mark.parametrize(("term", "word"), DIFFERENT)
def test_another_word_does_not_count(term: str, word: str) -> None:
    assert not contains_term(word, term)


def test_the_language_of_a_text_tells_whose_rules_hold() -> None:
    assert contains_term("The officeholder's filingz were late.", "filingz")
    assert contains_term("The quoxes of the county.", "quox"), (
        "a word that no dictionary has, in its regular plural"
    )
    assert not contains_term("Kunnan tulos ja menot.", "tulo"), (
        "an English plural is no Finnish form"
    )
    assert not contains_term("The basin of the river.", "base"), "nor a Finnish case an English one"


def test_every_word_of_a_term_is_needed_in_any_order() -> None:
    text = "Kattamaton alijäämä on katettava neljän vuoden kuluessa."
    assert contains_term(text, "alijäämän kattaminen vuosi") is False
    assert contains_term(text, "neljä vuosi")
    assert contains_term(text, "vuosi alijäämä")
    assert not contains_term(text, "alijäämä valtuusto")
    assert not contains_term("", "alijäämä")
    assert not contains_term(text, "!")


def test_a_term_may_be_written_inflected() -> None:
    assert contains_term("Tilinpäätös hyväksytään.", "tilinpäätöksen")


def test_folding_keeps_the_letters_of_finnish_and_drops_accents_and_niqqud() -> None:
    assert fold("Ääni, Örkki, Åbo, café, Žižek") == "ääni, örkki, åbo, cafe, zizek"
    assert fold("a\u0308") == "ä"
    assert fold("tilin\u00adpäätös") == "tilinpäätös"
    assert contains_term("הֶיטֵּל הַשְׁבָּחָה", "היטל השבחה")


@pytest.mark.parametrize(
    ("word", "lemma"),
    [("toimintakate", "toimintakate"), ("nettomenot", "nettomeno"), ("toiminnan", "toiminta")],
)
def test_the_lemma_of_a_compound_is_that_of_all_its_parts(word: str, lemma: str) -> None:
    assert lemma_of_all(word) == lemma
