"""Passwords: what is accepted, and how they are kept (argon2)."""

from __future__ import annotations

import hashlib
import secrets
import threading
from functools import cache
from typing import TYPE_CHECKING

from assay.core.errors import Declined
from assay.core.extras import imported
from assay.store.records import folded

if TYPE_CHECKING:
    from argon2 import PasswordHasher

MIN_PASSWORD, MAX_PASSWORD = 10, 1000


def proper_password(password: str, name: str) -> str:
    if len(password) < MIN_PASSWORD:
        raise Declined(
            "password_short", f"a password has at least {MIN_PASSWORD} letters", n=MIN_PASSWORD
        )
    if len(password) > MAX_PASSWORD:
        raise Declined(
            "password_long", f"a password has at most {MAX_PASSWORD} letters", n=MAX_PASSWORD
        )
    if folded(password) == folded(name) or len(set(password)) < 4:
        raise Declined("password_easy", "this password is too easy to guess")
    return password


# one takes 64 MiB for a moment: a crowd at the door waits in line
_at_once = threading.Semaphore(2)


@cache
def _hasher() -> PasswordHasher:
    hasher: PasswordHasher = imported("argon2", "an account", "serve").PasswordHasher()
    return hasher


def hashed(password: str) -> str:
    with _at_once:
        return _hasher().hash(password)


@cache
def nobodys() -> str:
    return hashed(secrets.token_urlsafe(16))


def verified(known: str, password: str) -> bool:
    from argon2.exceptions import InvalidHashError, VerificationError

    try:
        with _at_once:
            return _hasher().verify(known, password[: MAX_PASSWORD + 1])
    except (VerificationError, InvalidHashError):
        return False


def needs_rehash(known: str) -> bool:
    """Whether it was made with weaker settings than today's."""
    return _hasher().check_needs_rehash(known)


def digest(token: str) -> str:
    """What is kept of something that opens a door: it is long and random, so this is enough."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
