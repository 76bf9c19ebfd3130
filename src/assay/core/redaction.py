"""Remove passwords and keys from messages before they are shown or stored. The address of our own
database is read by its driver instead: `conninfo.without_secrets`."""

from __future__ import annotations

import re

MASK = "***"
_WHOLE = r"(?:ssl)?password|passwd|pwd|passphrase|passfile"
_LAST = r"token|secret|api[_-]?key|credentials?"  # or the end of a longer name
_SECRET = rf"{_WHOLE}|[\w.-]{{0,64}}(?:{_LAST})"
# in an address also words that mean something else in a sentence
_IN_LINKS = rf"{_SECRET}|[\w.-]{{0,64}}(?:pass|key|auth|authorization|sig|signature|sas|jwt)"
# postgresql://user:password@host: a password may have anything in it but a space, also an @; as the
# name of a file an address has one slash
_IN_ADDRESS = re.compile(
    r"((?:://|\b[\w+.-]{2,20}:/|^//|(?<=\s)//)[^\s:/@?#]*):[^\s@]{0,1024}+@(?:[^\s/?#@]*@)*"
)
_KEY_ALONE = re.compile(r"(?i)(\bhttps?://)[^\s:/@?#]+@")  # https://KEY@host
# a key with a percent sign in it may be any key
_IN_QUERY = re.compile(rf"(?i)([?&;](?:{_IN_LINKS}|[\w%]{{0,64}}%[\w%]{{0,64}})=)[^&\s]*")
_IN_HEADER = re.compile(r"(?i)(\bauthorization[\"']?\s*[:=]\s*[\"']?(?:[a-z]+\s+)?)[^\s\"',]+")
# host=db password='two words' (libpq): a quoted value ends at a quote without a backslash before it
_IN_KEYWORDS = re.compile(
    rf"(?i)((?:\b(?:{_WHOLE})|{_LAST})\s*=\s*)('(?:[^'\\]|\\.)*'?|(?:[^\s'\\]|\\.)(?:[^\s\\]|\\.)*)"
)
_KEYWORDS = re.compile(
    r"(?i)(?:^|\s)(?:host|hostaddr|port|dbname|user|password|service|sslmode)\s*=\s*\S"
)


def without_password(text: str) -> str:
    """A message that may repeat an address, as it may be shown and kept."""
    text = _IN_ADDRESS.sub(rf"\1:{MASK}@", text)
    text = _KEY_ALONE.sub(rf"\1{MASK}@", text)
    text = _IN_HEADER.sub(rf"\1{MASK}", text)
    text = _IN_QUERY.sub(rf"\1{MASK}", text)
    return _IN_KEYWORDS.sub(rf"\1{MASK}", text)


def is_keywords(text: str) -> bool:
    """Whether this is a connection string of keywords: host=db dbname=law."""
    return "://" not in text and _KEYWORDS.search(text) is not None
