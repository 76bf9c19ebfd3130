"""Find the Finnish municipalities that a text names, in any inflected form.

A question on a town that has no report here must not be answered with the figures of another, so
that a town has to be known for one even where the collection has never heard of it. Names are
inflected by the rules of finnish.py, in the singular alone. Some are words as well (*lahti*, a
bay): those count where they are written with a capital."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache

from assay.language.finnish import is_form_of_name, without_dots

MUNICIPALITIES = (
    "Akaa Alajärvi Alavieska Alavus Asikkala Askola Aura Brändö Eckerö Enonkoski Enontekiö Espoo "
    "Eura Eurajoki Evijärvi Finström Forssa Föglö Geta Haapajärvi Haapavesi Hailuoto Halsua Hamina "
    "Hammarland Hankasalmi Hanko Harjavalta Hartola Hattula Hausjärvi Heinola Heinävesi Helsinki "
    "Hirvensalmi Hollola Huittinen Humppila Hyrynsalmi Hyvinkää Hämeenkyrö Hämeenlinna Ii Iisalmi "
    "Iitti Ikaalinen Ilmajoki Ilomantsi Imatra Inari Inkoo Isojoki Isokyrö Janakkala Joensuu "
    "Jokioinen Jomala Joroinen Joutsa Juuka Juupajoki Juva Jyväskylä Jämijärvi Jämsä Järvenpää "
    "Kaarina Kaavi Kajaani Kalajoki Kangasala Kangasniemi Kankaanpää Kannonkoski Kannus Karijoki "
    "Karkkila Karstula Karvia Kaskinen Kauhajoki Kauhava Kauniainen Kaustinen Keitele Kemi "
    "Kemijärvi Keminmaa Kemiönsaari Kempele Kerava Keuruu Kihniö Kinnula Kirkkonummi Kitee Kittilä "
    "Kiuruvesi Kivijärvi Kokemäki Kokkola Kolari Konnevesi Kontiolahti Korsnäs Koski Kotka Kouvola "
    "Kristiinankaupunki Kruunupyy Kuhmo Kuhmoinen Kumlinge Kuopio Kuortane Kurikka Kustavi Kuusamo "
    "Kyyjärvi Kärkölä Kärsämäki Kökar Lahti Laihia Laitila Lapinjärvi Lapinlahti Lappajärvi "
    "Lappeenranta Lapua Laukaa Lemi Lemland Lempäälä Leppävirta Lestijärvi Lieksa Lieto Liminka "
    "Liperi Lohja Loimaa Loppi Loviisa Luhanka Lumijoki Lumparland Luoto Luumäki Maalahti "
    "Maarianhamina Marttila Masku Merijärvi Merikarvia Miehikkälä Mikkeli Muhos Multia Muonio "
    "Mustasaari Muurame Mynämäki Myrskylä Mäntsälä Mänttä-Vilppula Mäntyharju Naantali Nakkila "
    "Nivala Nokia Nousiainen Nurmes Nurmijärvi Närpiö Orimattila Oripää Orivesi Oulainen Oulu "
    "Outokumpu Padasjoki Paimio Paltamo Parainen Parikkala Parkano Pedersöre Pelkosenniemi Pello "
    "Perho Pertunmaa Petäjävesi Pieksämäki Pielavesi Pietarsaari Pihtipudas Pirkkala Polvijärvi "
    "Pomarkku Pori Pornainen Porvoo Posio Pudasjärvi Pukkila Punkalaidun Puolanka Puumala Pyhtää "
    "Pyhäjoki Pyhäjärvi Pyhäntä Pyhäranta Pälkäne Pöytyä Raahe Raasepori Raisio Rantasalmi Ranua "
    "Rauma Rautalampi Rautavaara Rautjärvi Reisjärvi Riihimäki Ristijärvi Rovaniemi Ruokolahti "
    "Ruovesi Rusko Rääkkylä Saarijärvi Salla Salo Saltvik Sastamala Sauvo Savitaipale Savonlinna "
    "Savukoski Seinäjoki Sievi Siikainen Siikajoki Siikalatva Siilinjärvi Simo Sipoo Siuntio "
    "Sodankylä Soini Somero Sonkajärvi Sotkamo Sottunga Sulkava Sund Suomussalmi Suonenjoki Sysmä "
    "Säkylä Taipalsaari Taivalkoski Taivassalo Tammela Tampere Tervo Tervola Teuva Tohmajärvi "
    "Toholampi Toivakka Tornio Turku Tuusniemi Tuusula Tyrnävä Ulvila Urjala Utajärvi Utsjoki "
    "Uurainen Uusikaarlepyy Uusikaupunki Vaala Vaasa Valkeakoski Vantaa Varkaus Vehmaa Vesanto "
    "Vesilahti Veteli Vieremä Vihti Viitasaari Vimpeli Virolahti Virrat Vårdö Vöyri Ylitornio "
    "Ylivieska Ylöjärvi Ypäjä Ähtäri Äänekoski"
).split()
# municipalities of the past, whose names live on in schools and villages of those they joined
FORMER = (
    "Ahlainen Alahärmä Alastaro Alatornio Angelniemi Anjalankoski Anttola Artjärvi Askainen Bergö "
    "Björköby Bromarv Degerby Dragsfjärd Elimäki Eno Eräjärvi Haapasaari Halikko Hauho Haukipudas "
    "Haukivuori Himanka Hinnerjoki Honkajoki Honkilahti Houtskari Iniö Jaakkima Jaala Jalasjärvi "
    "Jepua Joutseno Jurva Jämsänkoski Kakskerta Kalanti Kalvola Kangaslampi Karhula Karinainen "
    "Karjaa Karjalohja Karkku Karttula Karuna Karunki Kauvatsa Keikyä Kemiö Kerimäki Kestilä "
    "Kiihtelysvaara Kiikala Kiikka Kiikoinen Kiiminki Kisko Kiukainen Kodisjoki Koijärvi "
    "Konginkangas Korpilahti Korppoo Kortesjärvi Koskenpää Kuhmalahti Kuivaniemi Kullaa "
    "Kuolemajärvi Kuorevesi Kuru Kuusankoski Kuusisto Kuusjoki Kylmäkoski Kymi Kälviä Köyliö "
    "Lammi Lappee Lauritsala Lavia Lehtimäki Leivonmäki Lemu Liljendal Lohtaja Lokalahti "
    "Luopioinen Luvia Längelmäki Maaninka Maaria Maksamaa Mellilä Merimasku Messukylä Metsämaa "
    "Mietoinen Mouhijärvi Munsala Muurla Mänttä Nastola Nauvo Nilsiä Noormarkku Nuijamaa "
    "Nummi-Pusula Nurmo Oravainen Oulujoki Oulunsalo Paattinen Paavola Pattijoki Pernaja Perniö "
    "Pertteli Peräseinäjoki Petolahti Pihlajavesi Piikkiö Piippola Pohjaslahti Pulkkila "
    "Punkaharju Purmo Pusula Pyhämaa Pyhäselkä Pylkönmäki Rantsila Rautio Renko Revonlahti "
    "Ristiina Ruotsinpyhtää Ruukki Rymättylä Sahalahti Saloinen Sammatti Savonranta Siipyy "
    "Sippola Snappertuna Somerniemi Sulva Sumiainen Suodenniemi Suojärvi Suolahti Suomenniemi "
    "Suomusjärvi Säkkijärvi Särkisalo Säräisniemi Säyneinen Säynätsalo Sääksmäki Sääminki "
    "Tammisaari Tarvasjoki Teisko Temmes Tenhola Toijala Tottijärvi Tuulos Tuupovaara Tyrväntö "
    "Tyrvää Töysä Ullava Uskela Uukuniemi Uusikirkko Vahto Valkeala Valtimo Vammala Vampula "
    "Vanaja Varpaisjärvi Vehkalahti Vehmersalmi Velkua Vihanti Viiala Viljakkala Vilppula "
    "Virtasalmi Vuolijoki Vähäkyrö Värtsilä Västanfjärd Yli-Ii Ylihärmä Ylikiiminki Ylimarkku "
    "Ylistaro Ylämaa Yläne Äetsä Öja"
).split()
# words or common names as well
WORDS_TOO = frozenset(
    "aura geta hamina hanko ii inari kaskinen kemi koski kotka lahti lemi lieto loppi luoto multia "
    "nokia nousiainen pello perho pori puumala rauma rusko salla salo sievi simo soini sund tervo "
    "vaala virrat".split()
)
_GOVERNED = re.compile(r"[^\W\d]*(?:kunta|kunna|kaupun[gk]i|konserni)[^\W\d]*", re.I)
_NAME = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


def towns_in(text: str, more: Iterable[str] = ()) -> list[str]:
    """The towns that a text names, each once, in order; `more` are further names."""
    others = tuple(more)
    found: dict[str, None] = {}
    for word in _NAME.findall(text):
        name = _town_of(word, others) or _town_of(word.partition("-")[0], others)
        if name:
            found.setdefault(name)
    return list(found)


def former_in(text: str) -> dict[str, bool]:
    """The former municipalities that a text names, and for each whether the municipality itself is
    meant (*Nurmon kunta*) and not a place (*Nurmon koulu*)."""
    found: dict[str, bool] = {}
    for word, after in _pairs(text):
        name = next((n for n in _former(word) if is_town(n, word.lower())), "")
        is_governed = bool(_GOVERNED.fullmatch(after))
        if name and (word[0].isupper() or is_governed):
            found[name] = found.get(name, False) or is_governed
    return found


def is_governed(town: str, text: str) -> bool:
    """Whether a text means the municipality itself (*Saarijärven kaupunki*), and not something of
    the same name (*Saarijärven ruoppaus*)."""
    return any(
        _GOVERNED.fullmatch(after) and is_town(town, word.lower()) for word, after in _pairs(text)
    )


def _pairs(text: str) -> list[tuple[str, str]]:
    """Each word with the one after it."""
    words = _NAME.findall(text)
    return list(zip(words, [*words[1:], ""], strict=True))


def _former(word: str) -> list[str]:
    start = without_dots(word.lower())[:2]
    return [name for name in FORMER if without_dots(name.lower())[:2] == start]


@lru_cache(maxsize=20_000)
def _town_of(word: str, more: tuple[str, ...]) -> str:
    lower = word.lower()
    is_name = word[0].isupper()
    names: list[str] = [*more, *_by_beginning().get(without_dots(lower)[:2], ())]
    for name in names:
        if not is_name and name.lower() in WORDS_TOO:
            continue
        if is_town(name, lower):
            return name
    return ""


def is_town(name: str, word: str) -> bool:
    """Whether a word in lower case is a form of the name, also where the dots are left out."""
    plain = name.lower()
    bare = without_dots(plain)
    return is_form_of_name(plain, word) or (bare != plain and is_form_of_name(bare, word))


@cache
def _by_beginning() -> dict[str, list[str]]:
    """A name keeps its first two letters in every form."""
    names: dict[str, list[str]] = {}
    for name in MUNICIPALITIES:
        names.setdefault(without_dots(name.lower())[:2], []).append(name)
    return names
