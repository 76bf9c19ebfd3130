"""The PostgreSQL engine under the name that docs/engines-stores.md gives it."""

from assay.engines.stores.postgres import PostgresEngine, Settings

__all__ = ["PostgresEngine", "Settings"]
