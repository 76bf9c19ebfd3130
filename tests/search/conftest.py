from __future__ import annotations

from pathlib import Path

import pytest

from assay.corpus import import_corpus
from assay.workbench import corpora

SAMPLES = Path(__file__).parents[2] / "samples"


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with the three samples imported and indexed."""
    home = tmp_path_factory.mktemp("home")
    import_corpus("fppc", SAMPLES / "en" / "opinions", name="opinions", home=home)
    import_corpus("finlex", SAMPLES / "fi" / "saaristokuntalaki.jsonl", name="act", home=home)
    import_corpus("jsonl", SAMPLES / "he" / "precedents.jsonl", name="precedents", home=home)
    for name in ("opinions", "act", "precedents"):
        corpora.index_corpus(name, home=home)
    return home
