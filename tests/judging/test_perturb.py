from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import UsageError
from assay.core.types import GoldSet, Query, judgment_frame
from assay.judging.perturb import (
    FAMILIES,
    LANGUAGES,
    PERTURBATIONS,
    language_of,
    material_of,
    perturb,
)

FI = "Mitä tarkoitetaan kriisikunnalla ja missä ajassa alijäämä on katettava?"
HE = "מתי חלה חובת תשלום היטל השבחה על בעלים של מקרקעין?"
EN = "When must a taxpayer report a gift from the council?"


def _gold(*texts: str, language: str = "") -> GoldSet:
    queries = tuple(
        Query(
            id=f"q{n}",
            text=text,
            must=True,
            language=language,
            checks={"expected_any": [{"section": "1"}]},
        )
        for n, text in enumerate(texts)
    )
    return GoldSet(name="g", queries=queries)


def _variants(text: str, seed: int = 0) -> dict[str, str]:
    return {
        q.extra["perturbation"]: q.text
        for q in perturb(_gold(text), seed=seed, parents=False).queries
    }


def test_each_perturbation_does_what_its_name_says() -> None:
    variants = _variants(FI)
    assert variants["typo-umlaut"] == FI.replace("ä", "a")
    assert len(variants["typo-dropped"]) == len(FI) - 1
    assert len(variants["typo-doubled"]) == len(FI) + 1
    assert len(variants["typo-keyboard"]) == len(FI)
    assert sorted(variants["typo-transposed"]) == sorted(FI)
    assert "kriisi kunnalla" in variants["compound-split"]
    assert variants["compound-joined"].count(" ") == FI.count(" ") - 1
    assert (
        "deficit" in variants["mixed-language"]
        or "crisis municipality" in variants["mixed-language"]
    )
    assert "meinataan" in variants["colloquial"]
    assert variants["case"].casefold() == FI.casefold()
    assert "he-prefix" not in variants


def test_hebrew_has_its_own() -> None:
    variants = _variants(HE)
    assert {"he-prefix", "he-niqqud", "he-finals", "mixed-language"} <= set(variants)
    assert "ם" not in variants["he-finals"]
    assert any("\u05b0" <= char <= "\u05bc" for char in variants["he-niqqud"])
    assert _variants("הֶיטֵּל הַשְׁבָּחָה")["he-niqqud"] == "היטל השבחה"
    assert "compound-split" not in variants


def test_a_hebrew_word_keeps_its_own_first_letter() -> None:
    texts = {_variants("היטל השבחה", seed)["he-prefix"] for seed in range(30)}
    assert all("היטל" in text and "השבחה" in text for text in texts), (
        "a prefix is added, ה is no prefix here"
    )
    assert len(texts) > 5


def test_what_has_no_words_is_not_said_aloud_and_capitals_stay() -> None:
    assert "colloquial" not in {
        q.extra.get("perturbation") for q in perturb(_gold("?", FI)).queries if "q0" in q.id
    }
    assert "KUNTA" in _variants("KUNTA")["colloquial"]


@pytest.mark.parametrize(("text", "language"), [(FI, "fi"), (HE, "he"), (EN, "en")])
def test_the_language_is_told_by_the_text(text: str, language: str) -> None:
    assert language_of(text) == language


def test_variants_know_their_parent_and_are_never_must() -> None:
    perturbed = perturb(_gold(FI, "Kuka päättää lainanotosta?"), kinds=["typo"], seed=3)
    assert [query.id for query in perturbed.queries[:2]] == ["q0", "q1"]
    variant = perturbed.queries[2]
    assert (variant.extra["parent"], variant.id) == ("q0", f"q0~{variant.extra['perturbation']}")
    assert variant.checks == perturbed.queries[0].checks
    assert variant.must is False
    assert {PERTURBATIONS[q.extra["perturbation"]].family for q in perturbed.queries[2:]} == {
        "typo"
    }


def test_a_perturbed_set_is_perturbed_further_and_never_twice_the_same() -> None:
    gold = _gold(FI, "Kuka päättää lainanotosta?")
    typos = perturb(gold, kinds=["typo"], seed=3)
    again = perturb(typos)
    assert sorted(query.id for query in again.queries) == sorted(
        query.id for query in perturb(gold).queries
    )
    assert again.queries[: len(typos.queries)] == typos.queries, "what is there stays as it is"


def test_a_question_in_hebrew_is_varied_as_hebrew_in_any_set() -> None:
    perturbed = perturb(_gold(EN, EN + "?", EN + "!", HE), parents=False)
    kinds = {
        query.extra["perturbation"] for query in perturbed.queries if query.extra["parent"] == "q3"
    }
    assert {"he-prefix", "he-finals"} <= kinds
    assert not {"case", "compound-split"} & kinds
    mixed = perturb(_gold(HE, HE + "?", HE + "!", EN), kinds=["case"], parents=False)
    assert [query.extra["parent"] for query in mixed.queries] == ["q3"]


def test_graded_judgments_follow_the_variants() -> None:
    gold = GoldSet(
        name="g", queries=_gold(EN).queries, judgments=judgment_frame(["q0"], ["d1"], [2])
    )
    perturbed = perturb(gold, kinds=["case"])
    assert [(j.query_id, j.doc_id, j.grade) for j in perturbed.iter_judgments()] == [
        ("q0", "d1", 2),
        ("q0~case", "d1", 2),
    ]


TEXTS = st.text(st.sampled_from("aeiokltnsmräöAK ?.-"), min_size=1, max_size=80) | st.sampled_from(
    [FI, HE, EN]
)


@given(st.lists(TEXTS, min_size=1, max_size=4), st.integers(0, 99), st.sampled_from(LANGUAGES))
def test_the_same_seed_gives_the_same_variants(texts: list[str], seed: int, language: str) -> None:
    gold = _gold(*texts)
    every = perturb(gold, seed=seed, language=language)
    assert every.queries == perturb(gold, seed=seed, language=language).queries
    one = perturb(gold, seed=seed, language=language, kinds=["typo-dropped"], parents=False)
    assert all(query in every.queries for query in one.queries)
    ids = [query.id for query in every.queries]
    assert len(ids) == len(set(ids))
    parents = {query.id: query.text for query in gold.queries}
    assert all(
        q.text.strip() and q.text != parents[q.extra["parent"]] for q in every.queries[len(texts) :]
    )


def test_another_seed_gives_other_variants() -> None:
    assert _variants(FI, seed=1) != _variants(FI, seed=2)


def test_unknown_kinds_and_languages_are_refused() -> None:
    with pytest.raises(UsageError, match="unknown perturbation 'tyop'"):
        perturb(_gold(FI), kinds=["tyop"])
    with pytest.raises(UsageError, match="no perturbations"):
        perturb(_gold(FI), language="sv")


def test_the_material_is_sound() -> None:
    for language in LANGUAGES:
        material = material_of(language)
        assert all("{q}" in template for template in material.colloquial["templates"])
        assert all(key == key.casefold() for key in material.glossary)
    assert set(FAMILIES) == {kind.family for kind in PERTURBATIONS.values()}
