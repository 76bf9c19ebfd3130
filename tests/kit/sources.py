"""Small sources to import (opinions, JSON lines, PDF files), and the import of one as a corpus."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from assay.corpus import Corpus, import_corpus, open_corpus

LETTERHEAD = "PUBLIC INTEGRITY COMMISSION\n18 Charter Plaza\n\n"


def load(kind: str, source: Path, home: Path, **options: Any) -> Corpus:
    """Import a source as the corpus `c` of a workspace, and open it."""
    import_corpus(kind, source, name="c", home=home, options=options)
    return open_corpus(home, "c")


def opinion(number: str, text: str = "", **parts: Any) -> dict[str, Any]:
    """A record with what the importer reads; `parts` replaces whole branches."""
    return {
        "id": number,
        "year": 1990,
        "source_metadata": {
            "title_raw": parts.pop("title", f"Smith, Jane Year: 1990 Advice Letter # {number}")
        },
        "content": {
            "full_text": text
            or f"{LETTERHEAD}Our File No. {number}\n\nDear Ms. Smith:\n\nYou may vote."
        },
        "parsed": {
            "date": "1990-05-01",
            "requestor_name": parts.pop("name", "Smith"),
            "document_type": "advice_letter",
        },
        "sections": {
            "question": "May she vote?",
            "conclusion": None,
            "facts": "",
            "analysis": None,
        },
        "citations": {
            "government_code": [],
            "regulations": [],
            "prior_opinions": parts.pop("cites", []),
            "external": [],
        },
        "classification": {"topic_primary": "conflicts_of_interest"},
        "embedding": {"qa_text": "May she vote?", "summary": None},
        "extraction": {"quality_score": 0.9},
        **parts,
    }


def write_opinions(folder: Path, records: Iterable[dict[str, Any]]) -> Path:
    for record in records:
        path = folder / str(record.get("year", 1990)) / f"{record.get('file') or record['id']}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(msgspec.json.encode(record))
    return folder


def letter(number: str, to: str, body: str = "You may vote.") -> str:
    return (
        f"{LETTERHEAD}May 1, 1990\n\n{to}\nCity Hall\n\nRe: Your Request\nOur File No. {number}\n"
        f"\nDear {to}:\n\n{body}"
    )


def write_lines(path: Path, records: Iterable[dict[str, Any]]) -> Path:
    path.write_bytes(b"".join(msgspec.json.encode(record) + b"\n" for record in records))
    return path


def pdf_with_text(lines: Iterable[tuple[float, float, str]], *, extra: bytes = b"") -> bytes:
    """One page with texts at places (x from the left, y from the bottom), in a font every reader
    has."""
    shown = b"".join(
        b"BT /F1 10 Tf %.1f %.1f Td (%s) Tj ET\n" % (x, y, text.encode("cp1252"))
        for x, y, text in lines
    )
    return _pdf(shown + extra)


def pdf_with_image() -> bytes:
    """One page that is an image and nothing else: a scan without a text layer."""
    pixel = zlib.compress(b"\xff\x00\x00")
    image = (
        b"<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceRGB "
        b"/BitsPerComponent 8"
        b" /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream" % (len(pixel), pixel)
    )
    return _pdf(b"q 500 0 0 700 50 50 cm /Im1 Do Q", image=image)


def encrypted_pdf() -> bytes:
    """A file that asks for a password: its keys fit none."""
    return _pdf(
        b"",
        trailer=b"/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <%s> /U <%s> >> /ID [<00> <00>]"
        % (b"41" * 32, b"42" * 32),
    )


def _pdf(content: bytes, *, image: bytes = b"", trailer: bytes = b"") -> bytes:
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources <<"
        b" /Font << /F1 5 0 R >> /XObject << /Im1 6 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        image or b"null",
    ]
    return pdf_file(objects, trailer)


def pdf_file(objects: Sequence[bytes], trailer: bytes = b"") -> bytes:
    """A PDF file of these objects, the first of which is the catalogue."""
    body = b"%PDF-1.4\n"
    places = []
    for number, item in enumerate(objects, start=1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, item)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    end = b"trailer << /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF" % (
        size,
        trailer,
        len(body),
    )
    return body + b"xref\n0 %d\n0000000000 65535 f \n" % size + table + end
