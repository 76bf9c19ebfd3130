"""Visitors of the server in tests. The code is in `kit.server`."""

from __future__ import annotations

from kit.server import Access, call_me, local_client, take_token

__all__ = ["Access", "call_me", "local_client", "take_token"]
