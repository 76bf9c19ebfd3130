from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def home(sample_home: Path) -> Path:
    """A workspace with the three samples imported and indexed."""
    return sample_home
