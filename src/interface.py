"""The interface that a search backend implements to be evaluated: `search`, and `name` if it wants
another name in reports than that of its class."""

from assay import SearchEngine

__all__ = ["SearchEngine"]
