"""Another name of `kit.stores`, for the folders that still use it."""

from kit.stores import *  # noqa: F403
