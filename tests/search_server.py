"""Another name of `kit.search_server`, for the folders that still use it."""

from kit.search_server import *  # noqa: F403
