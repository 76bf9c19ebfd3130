"""Another name of `kit.commands`, for the folders that still use it."""

from kit.commands import *  # noqa: F403
