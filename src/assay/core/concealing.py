"""What may be shown of a text from elsewhere: an address without its password, and a line that
cannot drive a terminal. (Cells that a spreadsheet would compute: `formats/spreadsheet.py`.)"""

from __future__ import annotations

import re

MASK = "***"
_SECRET = r"(?:ssl)?password|passwd|pwd|passphrase|secret|token|api_?key"
# postgresql://user:password@host: a password may have anything in it but a space, also an @
_IN_ADDRESS = re.compile(r"(://[^\s:/@?#]*):[^\s@]*@(?:[^\s/?#@]*@)*")
_IN_QUERY = re.compile(rf"(?i)([?&;](?:{_SECRET})=)[^&;#\s]*")
# host=db password='two words' (libpq): a quoted value ends at a quote without a backslash before it
_IN_KEYWORDS = re.compile(rf"(?i)(\b(?:{_SECRET})\s*=\s*)('(?:[^'\\]|\\.)*'?|[^\s'&;#]+)")
_KEYWORDS = re.compile(
    r"(?i)(?:^|\s)(?:host|hostaddr|port|dbname|user|password|service|sslmode)\s*=\s*\S"
)


def without_password(text: str) -> str:
    """An address of a database, or a message that repeats one, as it may be shown and kept."""
    text = _IN_ADDRESS.sub(rf"\1:{MASK}@", text)
    text = _IN_QUERY.sub(rf"\1{MASK}", text)
    return _IN_KEYWORDS.sub(rf"\1{MASK}", text)


def is_keywords(text: str) -> bool:
    """Whether this is a connection string of keywords: host=db dbname=law."""
    return "://" not in text and _KEYWORDS.search(text) is not None


# Letters that move a cursor, colour a terminal, retitle its window or turn a line around.
_CONTROLS = re.compile(
    "\x1b(?:\\[[0-?]*[ -/]*[@-~]|[\\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\\\|\x9c)|[ -/]*[0-~])?"
    "|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
)


def printable(text: str) -> str:
    """A text for a terminal: escapes and other controls are taken out, lines and tabs stay."""
    return text if text.isascii() and text.isprintable() else _CONTROLS.sub("", text)
