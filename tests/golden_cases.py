"""Another name of `kit.golden_cases`, for the folders that still use it."""

from kit.golden_cases import *  # noqa: F403
