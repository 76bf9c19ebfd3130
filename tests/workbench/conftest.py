from kit.stores import migrated_file, postgres_server, postgres_url, store
from kit.stores import sqlite_store_url as store_url

__all__ = ["migrated_file", "postgres_server", "postgres_url", "store", "store_url"]
