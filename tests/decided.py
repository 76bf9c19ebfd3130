"""Another name of `kit.runs`, for the folders that still use it."""

from kit.runs import *  # noqa: F403
