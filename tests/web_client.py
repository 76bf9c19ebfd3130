"""Another name of `kit.server`, for the folders that still use it."""

from kit.server import *  # noqa: F403
