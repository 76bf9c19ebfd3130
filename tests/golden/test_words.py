from __future__ import annotations

import pytest

from assay.golden import contains_term
from assay.golden.words import fold

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
kattaa: katetaan kattavat
omistaa: omistama omistaman omistavat
jäsen: jäsenen jäsentä jäsenten
ääni: äänen ääntä äänten ääniä äänet
kattamaton: kattamattoman
"""

OTHER = """
gift: gifts
city: cities
levy: levies levied
penalty: penalties
disclosure: disclosures disclosed
disqualification: disqualified disqualify
tax: taxes
היטל: ההיטל
השבחה: בהשבחה וההשבחה
תכנית: תכניות
"""

DIFFERENT = [
    ("kunta", "kuntayhtymä"), ("kunta", "kunto"), ("laki", "laina"), ("laki", "lakko"), ("virka", "virta"),
    ("tulos", "tuloslaskelma"), ("johto", "johtaja"), ("tilinpäätös", "päätös"), ("tilinpäätös", "talousarvio"),
    ("tase", "tasa"), ("tax", "taxi"), ("gift", "give"), ("110", "1101"),
]  # fmt: skip


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
