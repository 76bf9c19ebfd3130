"""Spellings that are one query, and those that are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.law.queries import normal_query, row_key


@pytest.mark.parametrize(
    "spellings",
    [
        [
            "Section 18702.1, materiality?",
            "section 18702.1  MATERIALITY",
            "“Section” 18702.1 (materiality)",
        ],
        ['תב"ע', "תב״ע", "תב''ע", "תב׳׳ע", "תב“ע", "תב”ע", "תבע"],
        [
            "שָׁלוֹם עוֹלָם",
            "שלום עולם",
            "שלומ עולמ",
            "\ufb2a\u05b8לוֹם עולם",
            "שלום\u200f עולם",
            "שלום־עולם",
        ],
        ["צ'ק", "צ׳ק", "צ’ק", "צ´ק", "צ`ק"],
        ["היטל השבחה?", "היטל  השבחה", "«היטל השבחה»"],
        ["Tilinpäätös", "TILINPÄÄTÖS", "tilinpa\u0308a\u0308to\u0308s", "tilin\u00adpäätös"],
        ["110 a §", "110a §", "110 A §", "110a§"],
        ["§§ 12-14", "12-14 §", "12–14 §", "12 − 14 §", "Sections 12 through 14"],
        ["PL 21 §", "pl 21 §", "perustuslain 21 §", "PL 21"],
        ["110 § (410/2015)", "410/2015 110 §", "(410/2015) 110 §"],
        ["kuntalain 110 § (410/2015)", "Kuntalaki (410/2015) 110 §"],
        ["12 § 2", "12 § (2)", "12.2 §"],
        ["ﬁduciary", "fiduciary", "ＦＩＤＵＣＩＡＲＹ"],
        ["straße", "STRASSE"],
        ["don't", "don’t", "don`t"],
    ],
)
def test_one_query(spellings: list[str]) -> None:
    assert len({normal_query(text) for text in spellings}) == 1
    assert normal_query(spellings[0])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("tilinpäätös", "tilinpaatos"),
        ("näin", "nain"),
        ("110 §", "110"),
        ("5%", "5"),
        ("3.5", "35"),
        ("השבחה", "השבח"),
        ("110 a §", "110 b §"),
        ("€5", "$5"),
    ],
)
def test_two_queries(one: str, other: str) -> None:
    assert normal_query(one) != normal_query(other)


@pytest.mark.parametrize("text", ["", " \t\n", "?!…", "\u200f", "''", "\ud800"])
def test_nothing_to_search_for(text: str) -> None:
    assert normal_query(text) == ""


@given(st.text() | st.text(alphabet="אבםך\"'״׳ְּ aAäÄ§1´-"))
def test_normal_is_normal_already(text: str) -> None:
    once = normal_query(text)
    assert normal_query(once) == once
    assert "\t" not in once
    assert once == once.strip()


def test_the_same_query_on_two_corpora_is_two_rows() -> None:
    assert row_key("q", "a") != row_key("q", "b")
    assert row_key("Q!", "a") == row_key("q", " a ")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('תמ"א38', 'תמ"א 38'),
        ("תמ״א38/2", "תמ״א 38/2"),
        ("תמא38", 'תמ"א 38'),
        ("סעיף197", "סעיף 197"),
        ('עע"מ3781/95', 'עע"מ 3781/95'),
        ("ב1997", "ב-1997"),
    ],
)
def test_a_number_may_stand_close_to_a_hebrew_word(one: str, other: str) -> None:
    assert normal_query(one) == normal_query(other) == normal_query(normal_query(one))


def test_the_letter_of_a_section_stays_with_its_number() -> None:
    assert normal_query("סעיף 197א") != normal_query("סעיף 197")
