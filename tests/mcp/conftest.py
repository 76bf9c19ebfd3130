from pathlib import Path

import pytest
from talking import home, talk

from kit.stores import migrated_file, postgres_server, postgres_url, store, url_for

__all__ = ["home", "migrated_file", "postgres_server", "postgres_url", "store", "talk"]


@pytest.fixture
def store_url(request: pytest.FixtureRequest, tmp_path: Path, migrated_file: Path) -> str:
    """SQLite, unless a test asks for both: what differs between the databases is tested below this
    layer."""
    return url_for(getattr(request, "param", "sqlite"), request, tmp_path, migrated_file)
