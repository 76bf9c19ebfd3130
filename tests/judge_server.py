"""Another name of `kit.judge_server`, for the folders that still use it."""

from kit.judge_server import *  # noqa: F403
