"""Engines on databases and vector stores, and the loader that puts a corpus into one of them."""
