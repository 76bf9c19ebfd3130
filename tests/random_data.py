"""Another name of `kit.random_data`, for the folders that still use it."""

from kit.random_data import *  # noqa: F403
