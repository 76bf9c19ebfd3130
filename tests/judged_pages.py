"""Another name of `kit.sets`, for the folders that still use it."""

from kit.sets import *  # noqa: F403
