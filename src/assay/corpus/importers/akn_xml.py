"""XML as trees with local names. No DTD is read: a document type declaration is refused, and with
it every entity, inside or outside the file."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree
from xml.parsers import expat

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from assay.corpus.importers.foreign_json import unreadable
from assay.corpus.importers.kinds import Problem

MAX_BYTES = 256 * 2**20
MAX_DEPTH = 200


class _TooDeep(Exception):
    pass


class _LocalNames:
    """Builds the tree with names without their namespace; a very deep tree is refused."""

    def __init__(self) -> None:
        self._builder = ElementTree.TreeBuilder()
        self._depth = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _TooDeep(f"elements are nested deeper than {MAX_DEPTH}")
        local = {_local(key): value for key, value in attributes.items()}
        self._builder.start(_local(name), local)

    def end(self, name: str) -> None:
        self._depth -= 1
        self._builder.end(_local(name))

    def data(self, text: str) -> None:
        self._builder.data(text)

    def close(self) -> ElementTree.Element:
        return self._builder.close()


def parse_xml(data: bytes) -> ElementTree.Element:
    """The tree, with local names; a document type declaration or a very deep tree is refused."""
    parser = DefusedXMLParser(target=_LocalNames(), forbid_dtd=True)
    parser.feed(data)
    root = parser.close()
    assert isinstance(root, ElementTree.Element)
    return root


def root_of(path: Path) -> ElementTree.Element | Problem:
    try:
        if path.stat().st_size > MAX_BYTES:
            limit = MAX_BYTES // 2**20
            reason = f"the file is larger than {limit} MiB"
            return Problem(code="too-large", where=str(path), reason=reason)
        return parse_xml(path.read_bytes())
    except OSError as error:
        return unreadable(path, error)
    except DefusedXmlException:
        reason = "it has a document type declaration (DOCTYPE); entities are not read"
        return Problem(code="refused-xml", where=str(path), reason=reason)
    except _TooDeep as error:
        return Problem(code="refused-xml", where=str(path), reason=str(error))
    except ElementTree.ParseError as error:
        line, column = error.position
        said = expat.errors.messages.get(error.code, str(error))
        reason = f"not well-formed XML: {said}, column {column + 1}"
        return Problem(code="bad-xml", where=f"{path}:{line}", reason=reason)
    except (LookupError, UnicodeError, ValueError) as error:
        return Problem(code="bad-xml", where=str(path), reason=f"not readable XML: {error}")


def _local(name: str) -> str:
    local = name.rpartition("}")[2]
    return "wrapup" if local == "wrapUp" else local  # both are written
