"""Numbered steps from an empty database to the schema in `assay.store.tables`, the same for both
databases."""
