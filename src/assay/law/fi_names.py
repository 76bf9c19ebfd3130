"""Names of Finnish laws: their inflected forms, their base form, and mentions in text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.law.spellings import SHORT_NAMES

# The last word of a law's name bends; the table says to what base form each ending belongs.
ENDINGS = {
    base: tuple(forms.split())
    for base, forms in {
        "laki": "laki lain lakia laissa laista lakiin lailla lailta laille lakina laiksi",
        "asetus": "asetus asetuksen asetusta asetuksessa asetuksesta asetukseen asetuksella "
        "asetukselle asetukseksi",
        "kaari": "kaari kaaren kaarta kaaressa kaaresta kaareen kaarella",
        "sääntö": "sääntö säännön sääntöä säännössä säännöstä sääntöön",
    }.items()
}
BASE_FORMS = {form: base for base, forms in ENDINGS.items() for form in forms}
# What has sections and is no law, in the form in which it stands before one. A contract in general
# may as well be what an act speaks of: "hankintasopimuksen 130 §:n nojalla".
PAPERS = {
    "järjestyksen": "järjestys",
    "pöytäkirjan": "pöytäkirja",
    **{
        f"{kind}sopimuksen": f"{kind}sopimus"
        for kind in "vuokra osakas perus työehto virkaehto kauppa laina urakka".split()
    },
}
# Words for a kind of law, which name none.
KINDS = (
    "yleislaki erityislaki erillislaki puitelaki kehyslaki rinnakkaislaki muutoslaki kumoamislaki"
).split()
POINTERS = {
    **dict.fromkeys(("tämän", "tässä", "tätä", "tämä"), "tämä"),
    **dict.fromkeys(("mainitun", "mainitussa", "mainittu", "saman", "sanotun"), "mainittu"),
    **dict.fromkeys(("sanotussa", "samassa", "kyseisen", "kyseisessä", "ko.", "em."), "mainittu"),
}
# Words that say that a law is not the one in force.
FORMER = {
    **dict.fromkeys(("vanha", "vanhan", "vanhassa", "entinen", "entisen", "entisessä"), "vanha"),
    **dict.fromkeys(("kumottu", "kumotun", "kumotussa", "aiemman", "aiemmassa"), "vanha"),
    **dict.fromkeys(("aikaisemman", "aikaisemmassa", "edellisen"), "vanha"),
}
# Words that make of a law another one: a country's, a province's, that of certain sectors.
OTHER = (
    "ahvenanmaan ruotsin norjan tanskan islannin viron latvian liettuan saksan ranskan britannian "
    "englannin skotlannin venäjän puolan hollannin alankomaiden belgian espanjan italian sveitsin "
    "itävallan yhdysvaltojen kanadan erityisalojen"
).split()

BY_SHORT_NAME = {short.casefold(): name for short, name in SHORT_NAMES.items()}

ACT_NUMBER = r"\d{1,4}/\d{4}"
# a law named in passing, which what points back may mean
_ENDING = "|".join(sorted(BASE_FORMS, key=len, reverse=True))
_MENTION = re.compile(
    rf"(?<![\wåäö-])(?:[\wåäö-]{{2,}}(?:{_ENDING})|{'|'.join(SHORT_NAMES)})(?![\wåäö])"
    rf"(?:\s+\((?P<id>{ACT_NUMBER})\))?"
)
_MENTION_REACH = 400
# forms in which a law says something: by itself, its, in it
_AS_SOURCE = tuple(form for forms in ENDINGS.values() for form in (forms[0], forms[1], forms[3]))
_CASE = re.compile(r":(\w+)")
_SPOKEN_OF = re.compile(r"\s+(?:sovelta|soveltu|noudatta|mukaise|tarkoitt)")


def law_name(name: str) -> str:
    """A law's name in its base form, in lower case: 'Kuntalain' and 'KuntaL' are 'kuntalaki',
    'kuvista annetun lain' is 'laki kuvista'."""
    words = name.lower().split()
    if not words:
        return ""
    if len(words) == 1 and words[0].partition(":")[0] in BY_SHORT_NAME:
        return BY_SHORT_NAME[words[0].partition(":")[0]]
    forms = {**BASE_FORMS, **PAPERS}
    for form in sorted(forms, key=len, reverse=True):
        if words[-1].endswith(form):
            words[-1] = words[-1].removesuffix(form) + forms[form]
            break
    if len(words) > 2 and words[-2].startswith("annet") and words[-1] in ENDINGS:
        return " ".join((words[-1], *words[:-2]))
    return " ".join(POINTERS.get(word) or FORMER.get(word, word) for word in words)


def laws_named(text: str) -> Iterator[tuple[str, int, int]]:
    """Laws by which a text asks, and where they stand: "kuntalain mukaan", "OYL:ssä". One that is
    spoken about is not: "sovelletaanko hankintalakia"."""
    for match in _MENTION.finditer(text):
        name = match[0].partition("(")[0].strip()
        case = _CASE.match(text, match.end())
        if name in SHORT_NAMES:
            if case is None or case[1].startswith(("n", "s", "l")):
                yield law_name(name), match.start(), case.end() if case else match.end()
        elif name.casefold().endswith(_AS_SOURCE) and not _SPOKEN_OF.match(text, match.end()):
            yield law_name(name), match.start(), match.end()


def mentioned(text: str, at: int, after: int) -> dict[str, str]:
    """The law that is named last before a place, and after the citation before it."""
    found = {}
    for match in _MENTION.finditer(text, max(0, after, at - _MENTION_REACH), at):
        name = law_name(match[0].partition("(")[0].strip())
        if name not in KINDS:
            found = {"law": name} | ({"id": match["id"]} if match["id"] else {})
    return found
