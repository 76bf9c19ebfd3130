"""Find authorities that few corpora hold and that all languages write alike: court cases by neutral
citation, reporter or ECLI, preparatory works, treaties and the law of the European Union.

    [2010] UKSC 12 · [1932] AC 562 · 410 U.S. 113 · C-26/03 · ECLI:FI:KHO:2019:25
    KHO 2019:25 · KKO:2016:12 · MAO 123/18 · HE 268/2014 vp · PeVL 63/2014 vp
    Article 8 ECHR · Article 6(1) of the GDPR · 6 artiklan 1 kohta · סעיף 8 לאמנה האירופית
    Regulation (EU) 2016/679 · Directive 2000/78/EC · direktiivi 2014/24/EU · asetus (EU) 2016/679

`acts_named` finds acts and instruments by name and year. Both read from an anchor that is quickly
found (a year in brackets, a number with its reporter, the last word of a title) and walk back over
at most a few words, so that their time grows with the length of the text alone.

`short_forms` finds citations that only their context completes, `numbered_acts` acts by number or
year. Answers are full of both; in a corpus the readers of each language would find too much.

    (5:27.4)                     the act that was cited before by chapters
    סעיף קטן (ב) · ס"ק (ג)(1)      the section that was cited before
    ERA s. 104 · ss 139-141 ERA 1996 · reg 12(1)(b) · section 98ZA
    kuntalaki (410/2015) · חוק המקרקעין, תשכ"ט-1969
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.law.citation import Citation, Kind

_COURT = (
    r"(?:UK(?:SC|HL|PC|UT|FTT|EAT|IAT|AIT|SIAC)|EW(?:CA|HC|FC|COP|CC|MC)|EAT|ET|CSIH|CSOH|HCJAC"
    r"|SC|SLT|NI(?:CA|QB|KB|Ch|Fam|CC)|IE(?:SC|CA|HC)|HCA|FCA(?:FC)?|NSW(?:CA|SC)|VSCA?|QCA|NZ"
    r"(?:SC|CA|HC)|SCC|ONCA|BCCA|SGCA|SGHC|HKCFA|ZASCA|ZACC|ECHR|EUECJ|AC|QB|KB|Ch|Fam|WLR|All\s?ER"
    r"|ICR|IRLR|Cr\s?App\s?R|Lloyd(?:'|’)s\s?Rep|BCLC|EMLR|FLR|HLR|LGR|PIQR|STC|Imm\s?AR)"
)
_PINPOINT = (
    r"(?:\s*(?:,\s*)?(?:at\s+)?(?:\[\d{1,4}\](?:\s?[-–]\s?\[\d{1,4}\])?"
    r"|para(?:graph)?s?\.?\s\d{1,4}))?"
)
_NEUTRAL = (
    rf"[\[(](?:1[89]|20)\d\d[\])]\s(?:\d{{1,2}}\s)?{_COURT}(?:\s(?:Civ|Crim|Admin|Ch|Fam|Comm|TCC"
    rf"|Pat|QB|KB|IPEC|AAC|LC|TCC|IAC))?\s\d{{1,5}}(?:\s\([A-Z][A-Za-z]{{1,8}}\))?{_PINPOINT}"
)
_INSTRUMENT = r"(?<![\w./])S\.?\s?I\.?\s(?:No\.?\s)?(?:19|20)\d\d/\d{1,5}(?![\d/])"
_OLD_REPORT = (
    r"[(\[]1[6-9]\d\d[)\]]\s(?:LR\s)?\d{1,3}\s(?:Exch|Ex|ER|App\s?Cas|Ch\s?D|QBD|CB|HL|KB|Ch|"
    r"TLR|LT|QB|Eq|CPD|B\s?&\s?S|H\s?&\s?[CN]|M\s?&\s?W|Ch\s?App)\s\d{1,4}(?![\d/])"
)
_US = (
    r"(?<![\w.$])\d{1,4}\s(?:U\.\s?S\.|S\.\s?Ct\.|L\.\s?Ed\.(?:\s?2d)?|F\.(?:\s?(?:2d|3d|4th))?"
    r"|F\.\s?Supp\.(?:\s?[23]d)?|F\.\s?App(?:'|’)x\.?|B\.R\.|Fed\.\s?Cl\."
    r"|(?:A|P|N\.\s?E|N\.\s?W|S\.\s?E|S\.\s?W|So|Cal|Ill|N\.\s?Y|Ohio|Wis|Mass|Pa|Tex|Wash|Or|Ga"
    r"|Mich|Minn|Va|Md|N\.\s?J|N\.\s?C|Colo|Conn|Ind|Kan|Ky|La|Mo|Neb|Okla|Tenn|Utah)\."
    r"\s?(?:2d|3d|4th|5th|App\.?\s?(?:2d|3d|4th|5th|Div\.)?|Super\.|Rptr\.?\s?(?:2d|3d)?)?)"
    r"\s?\d{1,5}(?:,\s\d{1,5}(?:[-–]\d{1,5})?(?![\d/]))?"
    r"(?:\s\((?:[^()\d]{1,24}\s)?(?:1[789]|20)\d\d\))?"
)
_FINNISH_CASE = (
    r"(?<![\w:])(?:KKO|KHO|MAO|TT|VakO|(?:Hel|Tur|Vaa|I-S|It|Rov|Kou)HO|[A-ZÅÄÖ][a-zåäö]{2,10}HAO)"
    r"(?:[:\s]\s?[A-Z]?\d{1,4}[:/]\d{1,4}(?:[:/]\d{1,4})?|\s\d{1,2}\.\d{1,2}\.\d{4}(?:/\d{1,5}|\s"
    r"(?:taltio|t\.)\s\d{1,5})?)(?![\d/])"
)
_PREPARATORY = (
    r"(?<![\w:])(?:HE|LA|VN[KS]|KM|[A-ZÅÄÖ][a-zåäö]{1,2}V[MLK])\s\d{1,3}/(?:19|20)\d\d"
    r"(?:\svp)?(?![\d/])"
)
_EU_NUMBER = r"(?:\d{4}/\d{1,4}|\d{1,4}/\d{2,4})"
_BODY = r"(?:EU|EC|EEC|EY|ETY|EUR?atom|האיחוד האירופי)"
_ARTICLE_EN = (
    r"(?:Art(?:icles?|s?\.?)\s\d{1,3}[a-z]?(?:\(\w{1,4}\)){0,3}"
    r"(?:\s(?:and|to|–|-)\s\d{1,3}(?:\(\w{1,4}\)){0,3})?)"
)
_ARTICLE_FI = (
    r"\d{1,3}(?:\s?[a-z])?\sartikla\w*(?:\s\d{1,2}\skohda\w*|\s\d{1,2}\skohta\w*)?"
    r"(?:\s[a-z]\salakoh[td]a\w*)?"
)
_EU_ACT = (
    rf"(?:(?:Council|Commission|European)\s)?(?:[Rr]egulation|[Dd]irective|[Dd]ecision)\s"
    rf"(?:\({_BODY}(?:,\sEuratom)?\)\s(?:No\.?\s)?{_EU_NUMBER}|(?:No\.?\s)?{_EU_NUMBER}/{_BODY})"
    rf"|[\w-]{{0,60}}(?:asetu(?:s|ks\w{{1,4}})|direktiivi\w{{0,4}}|päätö(?:s|ks\w{{1,4}}))\s"
    rf"(?:\({_BODY}(?:,\s\w+)?\)\s(?:N:o\s)?{_EU_NUMBER}|(?:N:o\s)?{_EU_NUMBER}/{_BODY})"
    rf"|[הבלמוש]{{0,2}}(?:תקנה|תקנת|תקנות|דירקטיבה|דירקטיבת|רגולציה|רגולציית)\s"
    rf"(?:\({_BODY}\)\s)?{_EU_NUMBER}(?:/{_BODY})?"
)
_NAMED_TREATY = (
    r"(?:ECHR|GDPR|UK\sGDPR|TFEU|TEU|ICCPR|UNCRC|CRC|CEDAW"
    r"|European\sConvention\s(?:on|for\sthe\sProtection\sof)\sHuman\sRights(?:\sand\sFundamental\s"
    r"Freedoms)?|Charter\sof\sFundamental\sRights(?:\sof\sthe\sE(?:U|uropean\sUnion))?"
    r"|General\sData\sProtection\sRegulation)"
)
_TREATY_FI = (
    r"(?:yleisen\s+tietosuoja-asetuksen|tietosuoja-asetuksen|GDPR:n|SEUT(?::n)?|SEU(?::n)?"
    r"|Euroopan\s+ihmisoikeussopimuksen|(?:EU:n|Euroopan\s+unionin)\s+perusoikeuskirjan"
    r"|(?:EIS|EIOS)(?::n)?)"
)
# Each kind with signs of which a text that has one holds at least one; of overlapping readings the
# longest is kept.
_PATTERNS: tuple[tuple[Kind, tuple[str, ...], re.Pattern[str]], ...] = (
    ("case", ("[1", "[2", "(1", "(2"), re.compile(_NEUTRAL)),
    ("case", (".",), re.compile(_US)),
    ("case", ("ECLI",), re.compile(r"(?<![\w-])ECLI:[A-Z]{2}:[A-Z]{2,8}:\d{4}:[\w.:]*\w")),
    ("case", ("C-", "T-", "F-"), re.compile(r"(?<![\w-])[CTF]-\d{1,4}/\d{2}(?:\sP)?(?![\d/])")),
    ("case", ("KO", "HO", "AO", "TT", "VakO"), re.compile(_FINNISH_CASE)),
    ("case", ("(1", "[1"), re.compile(_OLD_REPORT)),
    ("statute", ("/19", "/20"), re.compile(_PREPARATORY)),
    ("statute", ("SI", "S.I", "S. I"), re.compile(_INSTRUMENT)),
    ("statute", ("/E",), re.compile(rf"(?<![\w/]){_EU_NUMBER}/(?:EU|EC|EEC|EY|ETY)(?!\w)")),
    (
        "statute",
        ("/",),
        re.compile(
            rf"(?:(?<!\w){_ARTICLE_EN}\s(?:of\s)?(?:the\s)?)?(?<!\w)(?:{_EU_ACT})"
            rf"(?:,?\s(?:{_ARTICLE_EN}|{_ARTICLE_FI}))?"
        ),
    ),
    (
        "statute",
        ("Art",),
        re.compile(rf"(?<!\w){_ARTICLE_EN}\s(?:of\s)?(?:the\s)?{_NAMED_TREATY}(?!\w)"),
    ),
    ("statute", ("Art",), re.compile(rf"(?<!\w){_NAMED_TREATY},?\s{_ARTICLE_EN}")),
    ("statute", ("artikla",), re.compile(rf"(?<!\w){_TREATY_FI}\s{_ARTICLE_FI}")),
)


def authorities(text: str, language: str) -> Iterator[Citation]:
    """Every authority of these kinds in a text; of overlapping readings the longest."""
    found = [
        (match.start(), match.end(), kind)
        for kind, signs, pattern in _PATTERNS
        if any(sign in text for sign in signs)
        for match in pattern.finditer(text)
    ]
    end_before = 0
    for start, end, kind in sorted(found, key=lambda one: (one[0], -one[1])):
        if start < end_before:
            continue
        if kind == "case":
            start = case_start(text, start, end_before)
        end_before = end
        written = text[start:end]
        yield Citation(
            text=written,
            start=start,
            end=end,
            kind=kind,
            language=language or "en",
            normal=" ".join(written.split()),
            parts={"authority": written},
        )


# ── names of cases ────────────────────────────────────────────────────────────────────────────────

_SMALL = frozenset("of the and for de la du von van & ex parte on behalf in re re".split())
_STOPS = frozenset(
    "In See Under The Per Cf Following Citing Compare Also But As And Unlike From Both Applying"
    " Case Decision Held Since While When Where That This Although".split()
)
_LONGEST_NAME = 14  # words of the parties (taste)
_VERSUS = ("v", "v.", "vs", "vs.", "V", "V.")


def case_start(text: str, at: int, after: int = 0) -> int:
    """Where the names of the parties before a reporter begin ("Thomson v. Call (1985) 38 …"); the
    place itself where there are none."""
    head = text[max(after, at - 160) : at]
    dated = re.search(r"\s*\((?:1[789]|20)\d\d\)\s*$", head)
    line = head[: dated.start()] if dated else head
    words = [(match.start(), match[0]) for match in re.finditer(r"\S+", line)]
    begin, versus, first = None, None, at - len(head)
    for count, (start, word) in enumerate(reversed(words)):
        plain = word.strip('*_,()“”"‘’')
        if plain in _VERSUS:
            versus = count
            continue
        is_name = plain[:1].isupper() or plain in _SMALL
        ends = word[-1] in ".;:!?”" and word[-2:-1].islower() and len(word) > 4 and count > 0
        if not is_name or ends or count > _LONGEST_NAME or (versus is not None and plain in _STOPS):
            break
        if plain not in _SMALL:
            begin = start + (len(word) - len(word.lstrip('*_“"‘' if ")" in word else '*_(“"‘')))
    if versus is None or begin is None or begin > len(line):
        return at - len(dated[0].lstrip()) if dated and versus is not None else at
    return first + begin


# ── acts by name and year ─────────────────────────────────────────────────────────────────────────

_TITLE_END = re.compile(
    r"(?<!\w)(?P<last>Acts?|Regulations|Order|Rules|Ordinance|Measure|Law|Code|Decree|Scheme)"
    r"(?P<bracket>(?:\s\([A-Z][\w ,.&'’-]{1,40}\)){0,2})"
    r"(?:,?\s(?:of\s)?|\s\()(?P<year>1[6-9]\d\d|20\d\d)(?![\d/–-]|\.\d)"
    r"(?P<place>\s\((?:Cth|NSW|Vic|Qld|WA|SA|Tas|ACT|NT|NZ|UK|Ont|BC|Alta|Can|Ireland|Scotland"
    r"|Wales|NI|Northern Ireland)\))?"
)
_LINKS = frozenset("of for on in to with by from against and or the at etc etc. &".split())
_NOT_TITLE = frozenset(
    "The Under See In And Of This That Both From Also Former Thus By If When Since As To While"
    " Section Sections Unlike Although Where Parliament Congress Whereas Per Pursuant Regulation"
    " Regulations Article Schedule Part Both Within However Additionally Moreover Furthermore"
    " Similarly Specifically Relevant Key UK English British Scottish Welsh Does Is Are"
    " Would Should Must May Can According Overall".split()
)
_LONGEST_TITLE = 18  # words (taste)
_PIECE = re.compile(r"\([^()\n]{1,60}\)|[^\s()]+")


def acts_named(text: str) -> Iterator[tuple[str, str, int, int]]:
    """The title, the year and the place of every act or instrument that a text names by both:
    "the Equality Act 2010", "Stalking Act (Northern Ireland) 2022"."""
    end_before = 0
    for match in _TITLE_END.finditer(text):
        at = match.start("last")
        pieces = list(_PIECE.finditer(text, max(end_before, at - 200), at))
        begin = following = at
        for count, piece in enumerate(reversed(pieces)):
            word = piece[0]
            between, following = text[piece.end() : following], piece.start()
            plain = word.strip('*_“”"‘’,')
            if "\n" in between or count > _LONGEST_TITLE:
                break
            if word[0] in ".;:!?" or (word[-1] in ".;:!?" and plain.lower() not in _LINKS):
                break
            is_bracket = word[0] == "(" and word[-1] == ")"
            if not (is_bracket or plain[:1].isupper() or plain in _LINKS):
                break
            if plain in _NOT_TITLE:
                break
            if plain == "the" and not _after_link(text, piece.start()):
                break  # "Overall, the Public Health (Wales) Act 2018"
            if is_bracket or plain not in _LINKS:
                begin = piece.start() + (len(word) - len(word.lstrip('*_“"‘,')))
            if word.startswith(("*", "“", '"', "‘")):
                break
        end = match.end()
        if text[match.end() - 4 - len(match["place"] or "") - 1] == "(":
            end += 1 if text[end : end + 1] == ")" else 0
        begin = _from_first_word(text, begin, at)
        if begin < at:
            yield text[begin : match.end("bracket")], match["year"], begin, end
            end_before = end


def _after_link(text: str, at: int) -> bool:
    return text[max(0, at - 9) : at].rstrip().rpartition(" ")[2] in ("of", "for", "to", "in", "on")


def _from_first_word(text: str, begin: int, at: int) -> int:
    """The start of a title without the words that no title begins with."""
    for piece in _PIECE.finditer(text, begin, at):
        plain = piece[0].strip('*_“”"‘’,')
        if plain not in _LINKS and plain not in _NOT_TITLE and piece[0][0] != "(":
            return max(begin, piece.start() + (len(piece[0]) - len(piece[0].lstrip('*_“"‘'))))
    return at


# ── short forms ───────────────────────────────────────────────────────────────────────────────────

_NUMBER = r"\d{1,4}[A-Z]{0,3}(?![\w/]|[.:]\d)(?:\(\w{1,4}\))*"
_ACT = r"[A-Z][A-Za-z&]{0,10}[A-Z]{1,6}(?:\s(?:19|20)\d\d)?(?!\w)"
# "TMA, s 12A(3)"; "(4:5.2)"; ס״ק (ב)
_FORMS = {
    "en": re.compile(
        rf"(?<![\w.§-])(?:(?P<act>{_ACT}),?\s)?(?:[Ss]s?\.?|[Ss]ections?|[Rr]egs?\.?|[Rr]egulations?)"
        rf"\s?(?P<section>{_NUMBER})"
        rf"(?:(?:,\s|\s?[-–]\s?|\s(?:and|or|to)\s)(?:{_NUMBER}|(?:\(\w{{1,4}}\))+))*"
        rf"(?:\s(?:of\s(?:the\s)?)?(?P<code>{_ACT}))?"
    ),
    "fi": re.compile(
        r"(?<=\()(?P<chapter>\d{1,2}):(?P<section>\d{1,2}(?:\s?[a-z])?)\.(?P<moment>\d{1,2})"
        r"(?=[,;)])"
    ),
    "he": re.compile(
        r"(?<![א-ת])[בלמשהכ]{0,2}(?:סעיף\s+קטן|סעיפים\s+קטנים|ס\"ק|ס״ק)\s+"
        r"(?P<sub>\(\w{1,3}\)(?:\(\w{1,3}\))*)"
    ),
}


def short_forms(text: str, language: str) -> Iterator[Citation]:
    """Every citation of a text in the short forms of a language."""
    for match in _FORMS[language].finditer(text) if language in _FORMS else ():
        parts = {key: "".join(value.split()) for key, value in match.groupdict("").items()}
        if language == "en":
            parts["section"], _, sub = parts["section"].partition("(")
            parts["sub"] = sub and f"({sub}"
            parts["code"] = match["code"] or parts.pop("act")
        yield Citation(
            text=match[0],
            start=match.start(),
            end=match.end(),
            kind="statute",
            language=language,
            normal=" ".join(match[0].split()),
            parts={key: value for key, value in parts.items() if value and key != "act"},
        )


_FINNISH_ACT = re.compile(
    r"(?<![\w-])[\w-]*(?:lak[i]\w{0,3}|lai\w{1,4}|asetu\w{1,6}|kaar\w{1,4})"
    r"\s\((?P<id>\d{1,4}/\d{4})\)",
    re.IGNORECASE,
)
_HEBREW_ACT = re.compile(
    r"(?<![א-ת\"'])(?P<prefix>[ובלמשהכ]{0,2})(?P<name>(?:חוק|פקודת|תקנות|צו)(?:-יסוד:?)?\s"
    r"(?:(?!\s[ובלמשהכ]{0,2}(?:חוק|פקודת|תקנות)\s)[^\n.;:?!\[\]·]){2,110}?"
    r"(?:\s\[נוסח\s[א-ת]{3,5}\])?),?\s"
    r"(?P<year>ה?תש[א-ת]{0,2}[\"״'׳]{1,2}[א-ת]\s?[-–־]\s?(?:19|20)\d\d)"
)


def numbered_acts(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Acts that Finnish names with their number, and Hebrew with their year."""
    for match in _FINNISH_ACT.finditer(text):
        yield match[0].partition(" (")[0], match["id"], match.start(), match.end()
    for match in _HEBREW_ACT.finditer(text):
        start = match.start() + match["prefix"].startswith("ו")
        yield match["name"].rstrip(" ,"), match["year"], start, match.end()
