"""The test table: how people write a section, and what every reader must make of it.

A row is (written, language of the corpus it is asked of, what it names). A field left out is empty.
Where several sections are named, `names` has several; a reader that wants one refuses them."""

from __future__ import annotations

from typing import NamedTuple

from assay.law.places import Cited


class Row(NamedTuple):
    written: str
    language: str
    names: tuple[Cited, ...]
    alone: bool = False  # read where it is all there is, and not in running text


def alone(row: Row) -> Row:
    return row._replace(alone=True)


def fi(written: str, *names: Cited) -> Row:
    return Row(written, "fi", names)


def he(written: str, *names: Cited) -> Row:
    return Row(written, "he", names)


def en(written: str, *names: Cited) -> Row:
    return Row(written, "en", names)


def sv(written: str, *names: Cited) -> Row:
    return Row(written, "sv", names)


KUNTALAKI, OYL, KPL = "kuntalaki", "osakeyhtiölaki", "kirjanpitolaki"
PL, RL = "perustuslaki", "rikoslaki"
PLANNING = "חוק התכנון והבנייה"

TABLE = [
    # Finnish: the sign or the word, before or after, with or without a space
    *(fi(written, Cited("110")) for written in ("110 §", "110§", "§110", "§ 110", "110 §:ssä")),
    *(fi(written, Cited("110a")) for written in ("110 a §", "110a §", "110 A §", "§ 110 a")),
    *(
        fi(written, Cited("148"))
        for written in ("148 pykälä", "pykälä 148", "148. pykälä", "148. §")
    ),
    *(fi(written, Cited("12")) for written in ("12 §", "§ 12", "12. §", "12.§")),
    # the moment: after a dot, in words, short
    *(
        fi(written, Cited("110", "3"))
        for written in (
            *("110.3 §", "110 §:n 3 momentti", "110 §:n 3 momentissa", "110 § 3 mom."),
            *("110 § 3 mom", "110 §, 3 mom."),
        )
    ),
    *(
        fi(written, Cited("110a", "3"))
        for written in ("110 a.3 §", "110 a §:n 3 momentti", "§ 110 a.3", "§ 110a.3")
    ),
    *(fi(written, Cited("12", "2")) for written in ("12.2 §", "12 § 2 mom.", "§ 12.2")),
    *(alone(fi(written, Cited("12", "2"))) for written in ("12 § 2", "12 § (2)", "12 §:n 2")),
    alone(fi("kuntalain 110 a § 3", Cited("110a", "3", law=KUNTALAKI))),
    fi("148 pykälän 2 momentti", Cited("148", "2")),
    fi("110 a §:n 3 momentin 2 kohta", Cited("110a", "3", item="2")),
    # the law: in any case, by number, short
    fi("kuntalain 129.1 §", Cited("129", "1", law=KUNTALAKI)),
    fi("kuntalain 129 §:n 1 momentti", Cited("129", "1", law=KUNTALAKI)),
    fi("Kuntalaki 110 a §", Cited("110a", law=KUNTALAKI)),
    fi("kuntalain § 110", Cited("110", law=KUNTALAKI)),
    fi("Kuntalaki (410/2015) 110 a §", Cited("110a", law=KUNTALAKI, law_id="410/2015")),
    fi("410/2015 110 §", Cited("110", law_id="410/2015")),
    *(
        fi(written, Cited("110", "3", law=KUNTALAKI))
        for written in ("KuntaL 110.3 §", "KuntaL 110.3")
    ),
    *(fi(written, Cited("12", law=KUNTALAKI)) for written in ("kuntalain 12. §", "Kuntalaki 12 §")),
    *(fi(written, Cited("21", law=PL)) for written in ("PL 21 §", "pl 21 §", "perustuslain 21 §")),
    *(alone(fi(written, Cited("21", law=PL))) for written in ("PL 21", "pl 21")),
    alone(fi("PL 21.2", Cited("21", "2", law=PL))),
    alone(fi("HL 5", Cited("5", law="hallintolaki"))),
    fi("KuntaL:n 110 §", Cited("110", law=KUNTALAKI)),
    fi("KuntaL 110:n", Cited("110", law=KUNTALAKI)),
    fi("KuntaL 110.3:ssa", Cited("110", "3", law=KUNTALAKI)),
    # the chapter: in words or by a colon
    fi("6 luku 21 §", Cited("21", chapter="6")),
    fi("6 luvun 21 §:n 1 momentti", Cited("21", "1", chapter="6")),
    fi("6:21 §", Cited("21", chapter="6")),
    *(fi(written, Cited("21", "1", "6", OYL)) for written in ("OYL 6:21.1", "OYL 6:21.1 §")),
    *(
        fi(written, Cited("21", "", "6", OYL))
        for written in ("OYL 6:21", "OYL 6:21:n", "OYL 6 luku 21 §")
    ),
    fi("osakeyhtiölain 6 luvun 21 §:n 1 momentti", Cited("21", "1", "6", OYL)),
    *(fi(written, Cited("1", "", "3", KPL)) for written in ("KPL 3:1", "kpl 3:1", "KPL 3:1 §")),
    *(
        fi(written, Cited("8", "", "30", RL))
        for written in ("RL 30:8", "RL 30:8 §", "RL 30 luku 8 §")
    ),
    alone(fi("rl 30:8", Cited("8", "", "30", RL))),
    fi("RL 30:8.1", Cited("8", "1", "30", RL)),
    # lists and ranges
    *(
        fi(written, Cited("12", to="14"))
        for written in (
            "12–14 §",
            "12-14 §",
            "12 – 14 §",
            "12—14 §",
            "12−14 §",
            "12‑14 §",
            "§§ 12-14",
        )
    ),
    fi("110 ja 111 §", Cited("110"), Cited("111")),
    fi("110 a ja 111 §", Cited("110a"), Cited("111")),
    fi("110.3 ja 111.1 §", Cited("110", "3"), Cited("111", "1")),
    fi("110–112 §", Cited("110", to="112")),
    fi("110 §:n 2 ja 3 momentti", Cited("110", "2"), Cited("110", "3")),
    fi("110 §:n 1–3 momentti", Cited("110", "1–3")),
    fi("kuntalain 113 ja 114 §", Cited("113", law=KUNTALAKI), Cited("114", law=KUNTALAKI)),
    fi("kuntalain 110–115 §", Cited("110", to="115", law=KUNTALAKI)),
    fi("110 §:n 2 momentin 1 ja 3 kohta", Cited("110", "2", item="1"), Cited("110", "2", item="3")),
    fi("OYL 5:2–4", Cited("2", to="4", chapter="5", law=OYL)),
    fi(
        "OYL 6:1, 6:2 ja 5:21",
        *(Cited(n, "", c, OYL) for c, n in (("6", "1"), ("6", "2"), ("5", "21"))),
    ),
    # the law in other words: short, by its number, by what it is about
    *(fi(written, Cited("110", law=KUNTALAKI)) for written in ("KL 110 §", "Kuntal. 110 §")),
    fi("kuntalaki 410/2015, 110 §", Cited("110", law=KUNTALAKI, law_id="410/2015")),
    fi("laki 410/2015 110 §", Cited("110", law_id="410/2015")),
    fi("osakeyhtiölain (624/2006, OYL) 6 luvun 1 §", Cited("1", "", "6", OYL, law_id="624/2006")),
    fi("osakeyhtiölain (OYL) 6 luv. 1 §", Cited("1", "", "6", OYL)),
    # what points back
    fi(
        "kuntalain 110 §, mainitun lain 111 § ja saman pykälän 2 momentti",
        *(Cited("110", law=KUNTALAKI), Cited("111", law=KUNTALAKI)),
        Cited("111", "2", law=KUNTALAKI),
    ),
    # Hebrew: short and long, any geresh, brackets, letters as numbers, schedules, laws
    *(he(written, Cited("12")) for written in ("סעיף 12", "ס' 12", "ס׳ 12", "ס’ 12", "סע' 12")),
    *(he(written, Cited("12", "א")) for written in ("סעיף 12(א)", "סעיף 12 (א)", "ס׳ 12(א)")),
    *(he(written, Cited("12")) for written in ('סעיף י"ב', "סעיף י״ב", "סעיף י”ב")),
    he("סעיף ה'", Cited("5")),
    he("סעיף 12א", Cited("12א")),
    he("סעיף 12א(ב)(1)", Cited("12א", "ב", item="1")),
    he("בסעיף 197", Cited("197")),
    he("תקנה 5", Cited("5")),
    he("סעיף 4(5) לתוספת השלישית", Cited("4", "5", schedule="3")),
    he("סעיף 197 לחוק התכנון והבנייה", Cited("197", law=PLANNING)),
    *(
        he(written, Cited("12", to="14"))
        for written in (
            "סעיפים 12-14",
            "סעיפים 12–14",
            "סעיפים 12−14",
            "סעיפים 12־14",
            "סעיפים 12 – 14",
        )
    ),
    he("סעיפים 4(5) ו-4(7)", Cited("4", "5"), Cited("4", "7")),
    he("סעיפים 12(א) ו-(ב)", Cited("12", "א"), Cited("12", "ב")),
    he("סעיפים 4(א)(1) ו-(5)", Cited("4", "א", item="1"), Cited("4", "א", item="5")),
    he("סעיף 12(א)-(ג)", Cited("12", "א–ג")),
    he("סעיפים 12או־12ב", Cited("12א"), Cited("12ב")),
    he("סעיפים 196א-197", Cited("196א", to="197")),
    *(he(written, Cited("12", "ב")) for written in ("סעיף קטן (ב) לסעיף 12", "סעיף 12, ס״ק (ב)")),
    he("סעיף 12 סיפה", Cited("12")),
    *(
        he(written, Cited("4", law=PLANNING, schedule="3"))
        for written in (
            "סעיף 4 לתוספת השלישית לחוק התכנון והבנייה",
            "התוספת השלישית לחוק התכנון והבנייה, סעיף 4",
        )
    ),
    he("חוק התכנון והבנייה, סעיף 197(א)", Cited("197", "א", law=PLANNING)),
    *(
        he(f"סעיף 12 לחוק {short}", Cited("12", law="חוק התכנון והבניה"))
        for short in ('התו"ב', "תו״ב")
    ),
    he('סעיף 12 לחוק ההוצל"פ', Cited("12", law="חוק ההוצאה לפועל")),
    # English: the dot is part of the number
    *(en(written, Cited("1090")) for written in ("Section 1090", "section 1090", "§ 1090")),
    *(en(written, Cited("87103", "a")) for written in ("Sec. 87103(a)", "Section 87103(a)")),
    en("Section 87103(a)(1)", Cited("87103", "a", item="1")),
    *(en(written, Cited("12a")) for written in ("Section 12A", "section 12a", "§ 12A", "Sec. 12A")),
    en("Section 12A(b)", Cited("12a", "b")),
    en("Sec 12", Cited("12")),
    *(alone(en(written, Cited("12"))) for written in ("s. 12", "S. 12", "s 12", "sec 12")),
    *(alone(en(written, Cited("5"))) for written in ("Article 5", "article 5", "Art. 5", "art 5")),
    alone(en("s. 12A", Cited("12a"))),
    alone(en("s. 12(1)", Cited("12", "1"))),
    en("Sections 12A–14B", Cited("12a", to="14b")),
    alone(en("ss. 12-14", Cited("12", to="14"))),
    *(
        en(written, Cited("18702.2"))
        for written in ("Reg. 18702.2", "Regulation 18702.2", "§ 18702.2", "Reg 18702.2")
    ),
    en("Regulation 18702.2(a)(1)", Cited("18702.2", "a", item="1")),
    en("Government Code section 87100", Cited("87100", law="Gov. Code")),
    en("Gov. Code § 87103(a)", Cited("87103", "a", law="Gov. Code")),
    en("Sections 87100 and 87103", Cited("87100"), Cited("87103")),
    en("Sections 87100 through 87105", Cited("87100", to="87105")),
    en("Section 87103(a) and (c)", Cited("87103", "a"), Cited("87103", "c")),
    en("Section 87103, subdivisions (a), (b) and (d)", *(Cited("87103", sub) for sub in "abd")),
    *(
        en(written, Cited("87103", "a–e"))
        for written in ("Section 87103(a)-(e)", "subdivisions (a) through (e) of Section 87103")
    ),
    en("Section 18702.2(g)(1)–(3)", Cited("18702.2", "g", item="1–3")),
    en(
        "Section 82030(b)(1) and (2), and 82031",
        *(Cited("82030", "b", item=n) for n in "12"),
        Cited("82031"),
    ),
    en("paragraph (1) of subdivision (a) of Section 82030", Cited("82030", "a", item="1")),
    en("11 CFR 110.20", Cited("110.20", law="11 C.F.R.")),
    en("G.C. 87103", Cited("87103", law="Gov. Code")),
    en("2 Cal. Adm. Code 18702", Cited("18702")),
    en("Title 14, California Code of Regulations, Section 15301", Cited("15301")),
    en("Stats. 1984, ch. 931, § 2", Cited("2", law="Stats. 1984, ch. 931")),
    en("Section 5 of the City Charter", Cited("5", law="City Charter")),
    # Swedish: stycke and mom., the law before or after
    *(
        sv(written, Cited("1a", "2", "2", "stiglag"))
        for written in (
            *("2 kap. 1 a § 2 st. stiglagen", "2 kap. 1 a § andra stycket stiglagen"),
            *("stiglagen 2 kap. 1 a § 2 mom.", "2 kap. 1a § 2 stycket i stiglagen"),
            "Stiglag 2:1 a § 2 st.",
        )
    ),
    sv("3 § lagen (2031:404)", Cited("3", law_id="2031:404")),
    sv("3 § första stycket 2 punkten stiglagen", Cited("3", "1", law="stiglag", item="2")),
    sv("1 och 2 §§ stiglagen", Cited("1", law="stiglag"), Cited("2", law="stiglag")),
    sv("1–3 §§ stiglagen", Cited("1", to="3", law="stiglag")),
]
ONE = [row for row in TABLE if len(row.names) == 1 and row.names[0].is_one]
SEVERAL = [row for row in TABLE if row not in ONE]


def ids(rows: list[Row]) -> list[str]:
    return [row.written for row in rows]
