"""One file per kind of source; `kinds` lists them and says what an importer is."""
