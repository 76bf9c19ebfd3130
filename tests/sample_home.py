"""Another name of `kit.corpora`, for the folders that still use it."""

from kit.corpora import *  # noqa: F403
