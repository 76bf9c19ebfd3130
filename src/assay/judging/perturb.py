"""Adversarial variants of a gold set: the same question as a hurried, confused or bilingual person
would type it.

**Idea.** A good engine gives the same answer to the same question however it is typed. So each
question is changed in one small way that leaves its meaning, and the variant keeps the expectations
of its parent: the drop from parents to variants, family by family, is what a team learns
(behavioural testing with invariance tests; Ribeiro et al. 2020, "Beyond Accuracy: CheckList"; for
retrieval Penha et al. 2022, "Evaluating the Robustness of Retrieval Pipelines with Query Variation
Generators").

**What is changed** follows what people do: a neighbouring key, two letters swapped, one dropped or
doubled (the four edits of Damerau 1964), in one of the three longest words, where it hurts the
search most, and never in its first letter, which people seldom get wrong; compounds written apart
and words written together; a term in the other language; speech in place of officialese; case and
punctuation; in Hebrew prefixes, vowel points and final letters. Word lists are
data/perturb-*.toml.

**Reproducible.** The random numbers of a variant depend on the seed, the question and the kind
alone, so that the same seed gives the same variants, whichever kinds are asked for and whatever
else is in the set. A change that leaves a text as it was makes no variant.
"""

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

from assay.core import cluster
from assay.core.decoding import thread_safe
from assay.core.errors import UsageError
from assay.core.types import GoldSet, Query
from assay.language import hebrew
from assay.language.detect import detect
from assay.language.keyboards import neighbours

LANGUAGES = ("fi", "en", "he")
HEBREW = re.compile(hebrew.LETTER)
WORD = re.compile(r"[^\W\d_]+")
MIN_WORD = 5  # letters: a typo in a shorter word often makes another word; taste
MISTYPED_QUESTION_WORDS = 3  # words of a question of which one is mistyped; taste
LONGEST_ENDING = 8  # letters after a stem of the glossary: more is another word; taste
MIN_HEBREW = 3  # letters of a word that takes or loses a prefix; taste
# What can begin the second part of a compound: four letters or more, not two consonants and not a
# plural ending.
HEAD = re.compile(r"(?!i[aädhkltsn])(?:[aeiouyäö]|[^\W\d_aeiouyäö](?=[aeiouyäö]))\w{3}")


class PlainWording(msgspec.Struct, frozen=True):
    formal: str
    plain: str


class Material(msgspec.Struct, frozen=True, kw_only=True):
    """The word lists of one language."""

    language: str
    modifiers: tuple[str, ...] = ()
    spoken: tuple[PlainWording, ...] = ()
    colloquial: dict[str, tuple[str, ...]] = {}
    glossary: dict[str, str] = {}
    prefixes: tuple[str, ...] = ()
    points: tuple[str, ...] = ()


TextChange = Callable[[str, random.Random, Material], str]


@dataclass(frozen=True, kw_only=True)
class Perturbation:
    """One way to change a question. `languages` are those it makes sense in."""

    name: str
    family: str
    change: TextChange
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
    _chosen(kinds)  # an unknown one is refused before the work begins
    default = language or language_of(" ".join(query.text for query in gold.queries))
    if default not in LANGUAGES:
        known = ", ".join(LANGUAGES)
        raise UsageError(f"no perturbations for language {default!r}", hint=f"Known: {known}.")
    there = set(gold.query_ids) if parents else set()
    varied = cluster.map_on_cluster(
        variants_of,
        enumerate(cluster.even_parts(gold.queries)),
        tuple(kinds),
        seed,
        language,
        default,
    )
    variants = [variant for _, made in varied for variant in made if variant.id not in there]
    return replace(
        gold,
        name=f"{gold.name}-perturbed",
        queries=(*gold.queries, *variants) if parents else tuple(variants),
        judgments=_judgments_of_variants(gold, variants, parents),
    )


def variants_of(
    queries: Sequence[Query], kinds: Sequence[str], seed: int, language: str | None, default: str
) -> list[Query]:
    """The variants of one part of the questions, here or on a worker."""
    variants: list[Query] = []
    for query in queries:
        if "perturbation" not in query.extra:
            spoken = language or _language_of_query(query, default)
            made = (variant_of(query, kind, seed, spoken) for kind in _chosen(kinds))
            variants += (variant for variant in made if variant)
    return variants


def _language_of_query(query: Query, default: str) -> str:
    """The language a question states; else Hebrew by its letters, else that of the set."""
    if query.language in LANGUAGES:
        return query.language
    own = language_of(query.text)
    return own if "he" in (own, default) else default


def variant_of(query: Query, kind: Perturbation, seed: int, language: str) -> Query | None:
    if language not in kind.languages:
        return None
    rng = random.Random(f"{seed}:{query.id}:{kind.name}")
    text = kind.change(query.text, rng, material_of(language))
    if text == query.text or not text.strip():
        return None
    return msgspec.structs.replace(
        query,
        id=f"{query.id}~{kind.name}",
        text=text,
        must=False,
        extra={**query.extra, "parent": query.id, "perturbation": kind.name},
    )


def _judgments_of_variants(gold: GoldSet, variants: Sequence[Query], parents: bool) -> pl.DataFrame:
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
    joined = plain.join(links, on="query_id")
    copied = joined.with_columns(query_id=pl.col("variant")).drop("variant")
    both = pl.concat([plain, copied]) if parents else copied
    return both.with_columns(pl.col("query_id").cast(pl.Categorical))


def _chosen(kinds: Sequence[str]) -> list[Perturbation]:
    unknown = [kind for kind in kinds if kind not in {*PERTURBATIONS, *FAMILIES}]
    if unknown:
        known = ", ".join((*FAMILIES, *PERTURBATIONS))
        raise UsageError(f"unknown perturbation {unknown[0]!r}", hint=f"Known: {known}.")
    if not kinds:
        return list(PERTURBATIONS.values())
    wanted = set(kinds)
    return [kind for kind in PERTURBATIONS.values() if {kind.name, kind.family} & wanted]


def language_of(text: str) -> str:
    """The language of a text; English if it cannot be told."""
    return detect(text) or "en"


@cache
def material_of(language: str) -> Material:
    source = resources.files("assay.judging").joinpath("data", f"perturb-{language}.toml")
    return msgspec.convert(tomllib.loads(source.read_text(encoding="utf-8")), thread_safe(Material))


# ── typos ─────────────────────────────────────────────────────────────────────────────────────────


def _in_a_word(text: str, rng: random.Random, edit: Callable[[str], str]) -> str:
    """The text with one of its longest words changed: there a typo hurts the search most."""
    words = [word for word in WORD.finditer(text) if len(word[0]) >= MIN_WORD]
    words.sort(key=lambda word: (-len(word[0]), word.start()))
    return _edit_word(text, rng.choice(words[:MISTYPED_QUESTION_WORDS]), edit) if words else text


def _edit_word(text: str, word: re.Match[str], edit: Callable[[str], str]) -> str:
    return text[: word.start()] + edit(word[0]) + text[word.end() :]


def _typo(edit: TextChange) -> TextChange:
    """The change of a text that mistypes one of its words."""

    def change(text: str, rng: random.Random, material: Material) -> str:
        return _in_a_word(text, rng, lambda word: edit(word, rng, material))

    return change


@_typo
def _keyboard(word: str, rng: random.Random, material: Material) -> str:
    near = neighbours(material.language)
    places = [at for at in range(1, len(word)) if near.get(word[at].lower())]
    if not places:
        return word
    at = rng.choice(places)
    return word[:at] + rng.choice(near[word[at].lower()]) + word[at + 1 :]


@_typo
def _transposed(word: str, rng: random.Random, material: Material) -> str:
    places = [at for at in range(1, len(word) - 1) if word[at] != word[at + 1]]
    if not places:
        return word
    at = rng.choice(places)
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


@_typo
def _dropped(word: str, rng: random.Random, material: Material) -> str:
    at = rng.randrange(1, len(word))
    return word[:at] + word[at + 1 :]


@_typo
def _doubled(word: str, rng: random.Random, material: Material) -> str:
    at = rng.randrange(1, len(word))
    return word[: at + 1] + word[at] + word[at + 1 :]


def _umlauts(text: str, rng: random.Random, material: Material) -> str:
    """A keyboard without ä and ö."""
    return text.translate(str.maketrans("äöåÄÖÅ", "aoaAOA"))


# ── words ─────────────────────────────────────────────────────────────────────────────────────────


def _split(text: str, rng: random.Random, material: Material) -> str:
    """Write one compound apart."""
    seams = []
    for word in WORD.finditer(text):
        folded = word[0].casefold()
        modifiers = [modifier for modifier in material.modifiers if folded.startswith(modifier)]
        length = max(map(len, modifiers), default=0)
        if length and HEAD.match(word[0][length:].casefold()):
            seams.append(word.start() + length)
    if not seams:
        return text
    seam = rng.choice(seams)
    return f"{text[:seam]} {text[seam:]}"


def _joined(text: str, rng: random.Random, material: Material) -> str:
    """Write two words as one."""
    gaps = [gap.start() for gap in re.finditer(r"(?<=[^\W\d_]{4}) (?=[^\W\d_]{4})", text)]
    if not gaps:
        return text
    gap = rng.choice(gaps)
    return text[:gap] + text[gap + 1 :]


def _mixed(text: str, rng: random.Random, material: Material) -> str:
    """Up to two terms in the other language."""
    terms = []
    for word in WORD.finditer(text):
        if (term := _foreign(word[0], material)) is not None:
            terms.append((word, term))
    chosen = rng.sample(terms, min(2, len(terms)))
    for word, term in sorted(chosen, key=lambda pair: -pair[0].start()):
        text = text[: word.start()] + term + text[word.end() :]
    return text


def _foreign(word: str, material: Material) -> str | None:
    """The word in the other language, if the glossary has its stem. Hebrew writes its prefixes onto
    the foreign word: ה-levy."""
    stems = sorted(material.glossary, key=len, reverse=True)
    for prefix in ("", *material.prefixes):
        rest = word.casefold().removeprefix(prefix)
        stem = next((stem for stem in stems if rest.startswith(stem)), None)
        if stem and word.startswith(prefix) and len(rest) - len(stem) <= LONGEST_ENDING:
            term = material.glossary[stem]
            return f"{prefix}-{term}" if prefix else term
    return None


def _colloquial(text: str, rng: random.Random, material: Material) -> str:
    """Word the question as it would be said aloud: plain words, then one of the templates."""
    plain = text.strip().rstrip("?.! ")
    for pair in material.spoken:
        plain, changed = re.subn(rf"(?i)\b{re.escape(pair.formal)}\b", pair.plain, plain, count=1)
        if changed:
            break
    templates = material.colloquial.get("templates", ())
    if not templates or not WORD.search(plain):
        return text
    is_capitals = plain[1:2].isupper()  # KUNTA stays so
    begun = plain if is_capitals else plain[:1].lower() + plain[1:]
    return rng.choice(templates).format(q=begun)


# ── noise ─────────────────────────────────────────────────────────────────────────────────────────


def _case(text: str, rng: random.Random, material: Material) -> str:
    changed = [form for form in (text.upper(), text.lower(), text.title()) if form != text]
    return rng.choice(changed) if changed else text


def _punctuation(text: str, rng: random.Random, material: Material) -> str:
    bare = " ".join(re.sub(r"[^\w\s§/]", " ", text).split())
    return rng.choice([bare, f"{bare}???", f"{bare}...", f"- {bare}", bare.replace(" ", "  ")])


# ── Hebrew ────────────────────────────────────────────────────────────────────────────────────────


def _prefix(text: str, rng: random.Random, material: Material) -> str:
    """A prefix letter written onto a word, or taken off before the article: any other first letter
    may be the word's own, as in השבחה."""

    def edit(word: str) -> str:
        has_prefix = word[0] in material.prefixes and word[1] == "ה"
        if has_prefix and len(word) > MIN_HEBREW + 1 and rng.random() < 0.5:
            return word[1:]
        return rng.choice([prefix for prefix in material.prefixes if prefix != word[0]]) + word

    hebrew_words = (word for word in WORD.finditer(text) if HEBREW.match(word[0]))
    words = [word for word in hebrew_words if len(word[0]) >= MIN_HEBREW]
    return _edit_word(text, rng.choice(words), edit) if words else text


def _niqqud(text: str, rng: random.Random, material: Material) -> str:
    """Vowel points: taken off where there are some, else put on."""
    bare = "".join(letter for letter in text if unicodedata.category(letter) != "Mn")
    if bare != text:
        return bare
    return HEBREW.sub(lambda letter: letter[0] + rng.choice(material.points), text)


def _finals(text: str, rng: random.Random, material: Material) -> str:
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
