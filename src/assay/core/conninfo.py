"""Read PostgreSQL addresses, and print them without their secrets.

It is parsed by the driver, never by a pattern: a password may hold anything. Where the driver
cannot read an address nothing of it is shown, for its complaint repeats a part."""

from __future__ import annotations

import re
from urllib.parse import quote, urlencode

from assay.core.errors import AssayError, InputError
from assay.core.extras import imported
from assay.core.redaction import MASK, is_keywords, without_password

SCHEMES = ("postgresql:", "postgres:", "postgresql+psycopg:")
HINT = "Write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with @ / : ? # % in a password as %40."
# what may be shown and kept; everything else may be a secret
SHOWN_PARAMETERS = frozenset(
    "user host hostaddr port dbname sslmode sslrootcert service application_name "
    "connect_timeout target_session_attrs".split()
)
_PORTS = re.compile(r"[0-9,]*")
_HOST = re.compile(r"[\w.-]*|[/@].*|[0-9a-fA-F:.]*(?:%\w+)?")  # a name, a folder, an address
_NO_NAME = re.compile(r"(?i)://|:.*@|\b(?:password|passwd|pwd)\s*=")
# mysql:…, jdbc:…, Driver={…};Pwd=…, user:password@host; a drive (C:\) has one letter
_NO_PATH = re.compile(
    r"(?is)^[a-z][a-z0-9+.-]+:|:[^/\\]*@|;.*=|=.*;|\b(?:password|passwd|pwd|passphrase)\s*="
)


def is_postgres(text: str) -> bool:
    return text.lower().startswith(SCHEMES) or is_keywords(text)


def is_path(text: str) -> bool:
    """Whether this can be a file name. A text that can be the address of something else is not: it
    may hold a password."""
    return not is_keywords(text) and _NO_PATH.search(text) is None


def address_parts(address: str, where: str = "") -> dict[str, str]:
    """The parts of an address by the driver's names. `InputError` where it cannot be what was
    meant: an @ or a / in a password that is not written as %40 or %2F moves the rest of it to the
    host, the port or the database."""
    driver = imported("psycopg", "PostgreSQL", "postgres", where=where)
    read = imported("psycopg.conninfo", "PostgreSQL", "postgres", where=where).conninfo_to_dict
    try:
        given = re.sub(r"(?i)^postgresql\+psycopg:", "postgresql:", address)
        found = {key: str(value) for key, value in read(given).items()}
    except (driver.Error, UnicodeError, ValueError):
        found = {"port": "?"}
    hosts = found.get("host", "") + "," + found.get("hostaddr", "")
    moved = "@" in hosts + found.get("dbname", "") or any(
        not _HOST.fullmatch(host) for host in hosts.split(",")
    )
    named = found.get("user", "") + found.get("dbname", "") + found.get("service", "")
    if moved or _NO_NAME.search(named) or not _PORTS.fullmatch(found.get("port", "")):
        raise InputError("not an address of PostgreSQL", where=where, hint=HINT)
    return found


def without_secrets(address: str) -> str:
    """The address without its secrets, as it may be shown and stored."""
    if not is_postgres(address):
        return without_password(address)
    try:
        found = address_parts(address)
    except AssayError:
        return "postgresql://…"
    if found.keys() <= SHOWN_PARAMETERS:
        return address
    user = quote(found.get("user", ""), safe="") + (f":{MASK}" if "password" in found else "")
    host, port = found.get("host", ""), found.get("port", "")
    plain = re.fullmatch(r"[\w.-]*", host) is not None and "," not in port
    place = f"{host}{f':{port}' if port else ''}" if plain else ""
    used = {"user", "dbname"} | ({"host", "port"} if plain else set())
    rest = urlencode(
        {key: found[key] for key in sorted(SHOWN_PARAMETERS & found.keys() - used)}, safe="/"
    )
    at = f"{user}@" if user else ""
    name = quote(found.get("dbname", ""), safe="")
    return f"postgresql://{at}{place}/{name}{f'?{rest}' if rest else ''}"
