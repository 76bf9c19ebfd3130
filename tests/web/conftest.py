from store.stores import postgres_server, postgres_url, store, store_url

__all__ = ["postgres_server", "postgres_url", "store", "store_url"]
