"""Whether a corpus was imported by an older version, which read its source in another way."""

from __future__ import annotations

from assay.core.errors import AssayError
from assay.corpus import resolve
from assay.corpus.disk import Manifest
from assay.corpus.importers.kinds import importer

OLDER = "the corpus was imported by an older version; import it again"


def imported_by_older(manifest: Manifest) -> bool:
    try:
        now = {"importer": importer(manifest.kind).VERSION, "resolve": resolve.VERSION}
    except AssayError:  # an importer that is not installed here
        return False
    return any(manifest.versions.get(name, version) < version for name, version in now.items())
