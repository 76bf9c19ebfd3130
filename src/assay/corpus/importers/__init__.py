"""One file per kind of source; `source` says what an importer is."""
