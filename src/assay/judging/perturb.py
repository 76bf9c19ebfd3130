"""Adversarial variants of a gold set: the same question as a hurried, confused or bilingual person
would type it.

Each variant keeps its parent's expectations and names the parent and the perturbation in `extra`.
The same seed gives the same variants, whichever perturbations are asked for. A perturbation that
leaves a text as it was makes no variant."""

from __future__ import annotations

import random
import re
import tomllib
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources

import msgspec
import polars as pl

from assay.core.errors import UsageError
from assay.core.types import GoldSet, Query
from assay.language import hebrew
from assay.language.detect import detect

LANGUAGES = ("fi", "en", "he")
HEBREW = re.compile(hebrew.LETTER)
WORD = re.compile(r"[^\W\d_]+")
MIN_WORD = 5  # a typo in a shorter word often makes another word
MIN_PART = 3
# What can begin the second part of a compound: four letters or more, not two consonants and not a
# plural ending.
HEAD = re.compile(r"(?!i[aädhkltsn])(?:[aeiouyäö]|[^\W\d_aeiouyäö](?=[aeiouyäö]))\w{3}")


class Spoken(msgspec.Struct, frozen=True):
    formal: str
    plain: str


class Material(msgspec.Struct, frozen=True, kw_only=True):
    """What the perturbations of one language are made from."""

    keyboard: tuple[str, ...]
    modifiers: tuple[str, ...] = ()
    spoken: tuple[Spoken, ...] = ()
    colloquial: dict[str, tuple[str, ...]] = {}
    glossary: dict[str, str] = {}
    prefixes: tuple[str, ...] = ()
    points: tuple[str, ...] = ()


Change = Callable[[str, random.Random, Material], str]


@dataclass(frozen=True, kw_only=True)
class Perturbation:
    """One way to change a question. `languages` are those it makes sense in."""

    name: str
    family: str
    change: Change
    languages: tuple[str, ...] = LANGUAGES


# ── one gold set ──────────────────────────────────────────────────────────────────────────────────


def perturb(
    gold: GoldSet,
    *,
    kinds: Sequence[str] = (),
    seed: int = 0,
    language: str | None = None,
    parents: bool = True,
) -> GoldSet:
    """The set with a variant of every question for every kind of perturbation (all that fit the
    language by default).

    `kinds` are perturbations or families. A variant is never MUST: a typo must not fail the MUST
    gate. With `parents` the questions themselves come first, so that one run gives the drop from
    parent to variant. Variants that the set has already stay as they are."""
    chosen = _chosen(kinds)
    default = language or language_of(" ".join(query.text for query in gold.queries))
    if default not in LANGUAGES:
        raise UsageError(
            f"no perturbations for language {default!r}", hint=f"Known: {', '.join(LANGUAGES)}."
        )
    there = set(gold.query_ids) if parents else set()
    variants: list[Query] = []
    for query in gold.queries:
        if "perturbation" not in query.extra:
            made = (
                variant_of(query, kind, seed, language or _spoken(query, default))
                for kind in chosen
            )
            variants += (variant for variant in made if variant and variant.id not in there)
    queries = (*gold.queries, *variants) if parents else tuple(variants)
    return replace(
        gold,
        name=f"{gold.name}-perturbed",
        queries=queries,
        judgments=_judged(gold, variants, parents),
    )


def _spoken(query: Query, default: str) -> str:
    """The language a question states; else Hebrew by its letters, else that of the set."""
    if query.language in LANGUAGES:
        return query.language
    own = language_of(query.text)
    return own if "he" in (own, default) else default


def variant_of(query: Query, kind: Perturbation, seed: int, language: str) -> Query | None:
    if language not in kind.languages:
        return None
    rng = random.Random(f"{seed}:{query.id}:{kind.name}")
    text = kind.change(query.text, rng, material(language))
    if text == query.text or not text.strip():
        return None
    link = {"parent": query.id, "perturbation": kind.name}
    return msgspec.structs.replace(
        query, id=f"{query.id}~{kind.name}", text=text, must=False, extra={**query.extra, **link}
    )


def _judged(gold: GoldSet, variants: Sequence[Query], parents: bool) -> pl.DataFrame:
    """The parents' judgments, and the same for each variant."""
    if not gold.judgments.height:
        return gold.judgments
    links = pl.DataFrame(
        {
            "query_id": [query.extra["parent"] for query in variants],
            "variant": [query.id for query in variants],
        },
        schema={"query_id": pl.String, "variant": pl.String},
    )
    plain = gold.judgments.with_columns(pl.col("query_id").cast(pl.String))
    copied = (
        plain.join(links, on="query_id").with_columns(query_id=pl.col("variant")).drop("variant")
    )
    both = pl.concat([plain, copied]) if parents else copied
    return both.with_columns(pl.col("query_id").cast(pl.Categorical))


def _chosen(kinds: Sequence[str]) -> list[Perturbation]:
    unknown = [kind for kind in kinds if kind not in {*PERTURBATIONS, *FAMILIES}]
    if unknown:
        known = ", ".join((*FAMILIES, *PERTURBATIONS))
        raise UsageError(f"unknown perturbation {unknown[0]!r}", hint=f"Known: {known}.")
    return [
        kind
        for kind in PERTURBATIONS.values()
        if not kinds or {kind.name, kind.family} & set(kinds)
    ]


def language_of(text: str) -> str:
    """That of the text, or English where it does not say."""
    return detect(text) or "en"


@cache
def material(language: str) -> Material:
    source = resources.files("assay.judging").joinpath("data", f"perturb-{language}.toml")
    return msgspec.convert(tomllib.loads(source.read_text(encoding="utf-8")), Material)


# ── typos ─────────────────────────────────────────────────────────────────────────────────────────


def _in_a_word(text: str, rng: random.Random, edit: Callable[[str], str]) -> str:
    """The text with one of its longest words changed: there a typo hurts the search most."""
    words = [found for found in WORD.finditer(text) if len(found[0]) >= MIN_WORD]
    words.sort(key=lambda found: (-len(found[0]), found.start()))
    if not words:
        return text
    chosen = rng.choice(words[:3])
    return text[: chosen.start()] + edit(chosen[0]) + text[chosen.end() :]


def _keyboard(text: str, rng: random.Random, data: Material) -> str:
    near = _neighbours(data.keyboard)

    def edit(word: str) -> str:
        places = [at for at in range(1, len(word)) if near.get(word[at].lower())]
        if not places:
            return word
        at = rng.choice(places)
        return word[:at] + rng.choice(near[word[at].lower()]) + word[at + 1 :]

    return _in_a_word(text, rng, edit)


@cache
def _neighbours(rows: tuple[str, ...]) -> dict[str, str]:
    """The keys beside, above and below each key."""
    at = {key: (row, column) for row, keys in enumerate(rows) for column, key in enumerate(keys)}
    return {
        key: "".join(
            other
            for other, (line, place) in at.items()
            if (line == row and abs(place - column) == 1)
            or (abs(line - row) == 1 and place in (column, column - 1))
        )
        for key, (row, column) in at.items()
    }


def _transposed(text: str, rng: random.Random, data: Material) -> str:
    def edit(word: str) -> str:
        places = [at for at in range(1, len(word) - 1) if word[at] != word[at + 1]]
        at = rng.choice(places) if places else 0
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :] if places else word

    return _in_a_word(text, rng, edit)


def _dropped(text: str, rng: random.Random, data: Material) -> str:
    def edit(word: str) -> str:
        at = rng.randrange(1, len(word))
        return word[:at] + word[at + 1 :]

    return _in_a_word(text, rng, edit)


def _doubled(text: str, rng: random.Random, data: Material) -> str:
    def edit(word: str) -> str:
        at = rng.randrange(1, len(word))
        return word[: at + 1] + word[at] + word[at + 1 :]

    return _in_a_word(text, rng, edit)


def _umlauts(text: str, rng: random.Random, data: Material) -> str:
    """A keyboard without ä and ö."""
    return text.translate(str.maketrans("äöåÄÖÅ", "aoaAOA"))


# ── words ─────────────────────────────────────────────────────────────────────────────────────────


def _split(text: str, rng: random.Random, data: Material) -> str:
    """One compound written apart."""
    found = []
    for word in WORD.finditer(text):
        parts = [part for part in data.modifiers if word[0].casefold().startswith(part)]
        length = max(map(len, parts), default=0)
        if length and HEAD.match(word[0][length:].casefold()):
            found.append(word.start() + length)
    if not found:
        return text
    at = rng.choice(found)
    return f"{text[:at]} {text[at:]}"


def _joined(text: str, rng: random.Random, data: Material) -> str:
    """Two words written as one."""
    gaps = [found.start(1) for found in re.finditer(r"(?<=[^\W\d_]{4})( )(?=[^\W\d_]{4})", text)]
    if not gaps:
        return text
    at = rng.choice(gaps)
    return text[:at] + text[at + 1 :]


def _mixed(text: str, rng: random.Random, data: Material) -> str:
    """Up to two terms in the other language."""
    stems = sorted(data.glossary, key=len, reverse=True)
    found = []
    for word in WORD.finditer(text):
        for prefix in (
            "",
            *data.prefixes,
        ):  # Hebrew writes its prefixes onto the foreign word: ה-levy
            rest = word[0].casefold().removeprefix(prefix)
            stem = next((stem for stem in stems if rest.startswith(stem)), None)
            if stem and word[0].startswith(prefix) and len(rest) - len(stem) <= 8:
                found.append(
                    (word, f"{prefix}-{data.glossary[stem]}" if prefix else data.glossary[stem])
                )
                break
    for word, term in sorted(
        rng.sample(found, min(2, len(found))), key=lambda pair: -pair[0].start()
    ):
        text = text[: word.start()] + term + text[word.end() :]
    return text


def _colloquial(text: str, rng: random.Random, data: Material) -> str:
    """As it would be said aloud: plain words, then one of the templates."""
    plain = text.strip().rstrip("?.! ")
    for pair in data.spoken:
        plain, changed = re.subn(rf"(?i)\b{re.escape(pair.formal)}\b", pair.plain, plain, count=1)
        if changed:
            break
    templates = data.colloquial.get("templates", ())
    begun = plain if plain[1:2].isupper() else plain[:1].lower() + plain[1:]  # KUNTA stays so
    return rng.choice(templates).format(q=begun) if templates and WORD.search(plain) else text


# ── noise ─────────────────────────────────────────────────────────────────────────────────────────


def _case(text: str, rng: random.Random, data: Material) -> str:
    changed = [form for form in (text.upper(), text.lower(), text.title()) if form != text]
    return rng.choice(changed) if changed else text


def _punctuation(text: str, rng: random.Random, data: Material) -> str:
    bare = " ".join(re.sub(r"[^\w\s§/]", " ", text).split())
    return rng.choice([bare, f"{bare}???", f"{bare}...", f"- {bare}", bare.replace(" ", "  ")])


# ── Hebrew ────────────────────────────────────────────────────────────────────────────────────────


def _prefix(text: str, rng: random.Random, data: Material) -> str:
    """A prefix letter written onto a word, or taken off before the article: any other first letter
    may be the word's own, as in השבחה."""

    def edit(word: str) -> str:
        if (
            word[0] in data.prefixes
            and word[1] == "ה"
            and len(word) > MIN_PART + 1
            and rng.random() < 0.5
        ):
            return word[1:]
        return rng.choice([prefix for prefix in data.prefixes if prefix != word[0]]) + word

    words = [
        found
        for found in WORD.finditer(text)
        if HEBREW.match(found[0]) and len(found[0]) >= MIN_PART
    ]
    if not words:
        return text
    chosen = rng.choice(words)
    return text[: chosen.start()] + edit(chosen[0]) + text[chosen.end() :]


def _niqqud(text: str, rng: random.Random, data: Material) -> str:
    """Vowel points: taken off where there are some, else put on."""
    bare = "".join(char for char in text if unicodedata.category(char) != "Mn")
    return (
        bare if bare != text else HEBREW.sub(lambda found: found[0] + rng.choice(data.points), text)
    )


def _finals(text: str, rng: random.Random, data: Material) -> str:
    """Final letters typed in their ordinary form."""
    return text.translate(hebrew.FINALS)


PERTURBATIONS: dict[str, Perturbation] = {
    kind.name: kind
    for kind in (
        Perturbation(name="typo-keyboard", family="typo", change=_keyboard),
        Perturbation(name="typo-transposed", family="typo", change=_transposed),
        Perturbation(name="typo-dropped", family="typo", change=_dropped),
        Perturbation(name="typo-doubled", family="typo", change=_doubled),
        Perturbation(name="typo-umlaut", family="typo", change=_umlauts, languages=("fi",)),
        Perturbation(
            name="compound-split", family="compound", change=_split, languages=("fi", "en")
        ),
        Perturbation(name="compound-joined", family="compound", change=_joined),
        Perturbation(name="mixed-language", family="mixed", change=_mixed),
        Perturbation(name="colloquial", family="colloquial", change=_colloquial),
        Perturbation(name="case", family="noise", change=_case, languages=("fi", "en")),
        Perturbation(name="punctuation", family="noise", change=_punctuation),
        Perturbation(name="he-prefix", family="hebrew", change=_prefix, languages=("he",)),
        Perturbation(name="he-niqqud", family="hebrew", change=_niqqud, languages=("he",)),
        Perturbation(name="he-finals", family="hebrew", change=_finals, languages=("he",)),
    )
}
FAMILIES: tuple[str, ...] = tuple(dict.fromkeys(kind.family for kind in PERTURBATIONS.values()))
