"""The inflected forms of the Finnish thesaurus's words, from simplemma's dictionary. It comes from
Wiktionary, so what is written here is under CC BY-SA 4.0: see fi.forms.LICENSE.txt beside it.

python forms.py > src/assay/search/data/fi.forms.tsv
"""

from __future__ import annotations

import sys
from collections import defaultdict
from importlib import resources

from simplemma.strategies.dictionaries.dictionary_factory import DefaultDictionaryFactory

from assay.language.analysis import analyzer


def main() -> None:
    language = analyzer("fi")
    lines = (
        (resources.files("assay.search") / "data" / "fi.tsv")
        .read_text(encoding="utf-8")
        .splitlines()[1:]
    )
    said = [part for line in lines for column in line.split("\t")[1:] for part in column.split(";")]
    lemmas = {language.lemma(word) for phrase in said for word in language.words(phrase)}
    forms: dict[str, set[str]] = defaultdict(set)
    for form, lemma in DefaultDictionaryFactory().get_dictionary("fi").items():
        if lemma in lemmas and form.islower():
            forms[lemma].add(form)
    for phrase in said:
        for word in language.words(phrase):
            forms[language.lemma(word)].add(word)
    sys.stdout.writelines(
        "\t".join([lemma, *sorted(forms[lemma])]) + "\n" for lemma in sorted(forms)
    )


if __name__ == "__main__":
    main()
