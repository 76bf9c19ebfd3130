"""Files as people keep them: formats, sections, acts, archives, what cannot be read, changes."""

from __future__ import annotations

import os
import re
import zipfile
from email.message import EmailMessage
from io import BytesIO
from pathlib import Path

import docx
import pytest

from assay.core.types import Document
from assay.corpus import cite, import_corpus, open_corpus
from assay.corpus.build import ImportReport, Limits
from assay.corpus.importers.blocks import READERS
from assay.corpus.importers.kinds import Problem, guess_kind
from assay.corpus.importers.sections import Block, find_sections
from kit.commands import Assay
from kit.drawn_reports import Sheet, drawn

MARKED = Path(__file__).parent / "data" / "marked"


def imported(
    folder: Path, **options: object
) -> tuple[ImportReport, dict[str, Document], list[Problem]]:
    home = folder.parent / "home"
    report = import_corpus("documents", folder, name="c", home=home, options=options)  # type: ignore[arg-type]
    corpus = open_corpus(home, "c")
    return report, {document.id: document for document in corpus.iter()}, corpus.problems()


# ── sections that were marked by hand ─────────────────────────────────────────────────────────────

Marked = list[tuple[str, str]]  # title and text


def unmarked(path: Path) -> tuple[str, Marked]:
    """A document without its marks, and the sections that they state."""
    source: list[str] = []
    stated: list[tuple[str, list[str]]] = []
    heading_lines = 0
    for line in path.read_text(encoding="utf-8").split("\n"):
        if mark := re.fullmatch(r"⟦(\d)\|(.*)⟧", line):
            heading_lines = int(mark[1])
            stated.append((mark[2], []))
            continue
        heading, bar, text = line.partition("¦")
        source.append(heading + text)
        if heading_lines:
            heading_lines -= 1
        elif stated:
            stated[-1][1].append(text if bar else line)
    return "\n".join(source), [(title, "\n".join(lines)) for title, lines in stated]


def words(text: str) -> str:
    """The words of a text, without markup, front matter and the foot of a page."""
    text = re.sub(r"\A\s*---\n.*?\n---\n|<footer.*|<div class=\"footer\".*", "", text, flags=re.S)
    return " ".join(re.findall(r"\w+", re.sub(r"<[^>]+>|&nbsp;", " ", text)))


def test_the_sections_of_marked_documents_have_their_titles_and_texts() -> None:
    right, wrong = 0, []
    for path in sorted(MARKED.glob("*-*.*")):
        source, stated = unmarked(path)
        sections = find_sections(READERS[path.suffix](source.encode()).blocks)
        found = {(one.heading.text if one.heading else "", words(one.text)) for one in sections}
        for title, text in stated:
            if words(text) and not title.startswith("^"):
                is_right = (title, words(text)) in found
                right += is_right
                wrong += [] if is_right else [f"{path.name}: {title}"]
    assert right + len(wrong) == 57
    assert right / (right + len(wrong)) >= 0.95, wrong


# ── formats ───────────────────────────────────────────────────────────────────────────────────────


def word_file(path: Path) -> None:
    document = docx.Document()
    document.core_properties.title = "Ferry memo"
    document.add_paragraph("To the harbour board.")
    document.add_heading("Facts", 1)
    document.add_paragraph("The ferry sank in May.")
    table = document.add_table(rows=2, cols=2)
    for cell, text in zip(table._cells, ("Ship", "Year", "Aura", "2031"), strict=True):
        cell.text = text
    bold = document.add_paragraph()
    bold.add_run("Advice").bold = True
    document.add_heading("Advice", 1)
    document.add_paragraph("Buy another.")
    document.save(path)


def test_a_word_file_gives_its_sections_with_readable_tables(tmp_path: Path) -> None:
    folder = tmp_path / "memos"
    folder.mkdir()
    word_file(folder / "Ferry memo (final).docx")
    _, found, problems = imported(folder)
    assert problems == []
    assert list(found) == ["Ferry-memo-final:facts", "Ferry-memo-final:advice"]
    facts = found["Ferry-memo-final:facts"]
    assert facts.title == "Ferry memo – Facts"
    assert facts.text.startswith("To the harbour board.\n\nThe ferry sank")
    assert "The ferry sank in May.\n\nShip | Year\nAura | 2031" in facts.text
    assert facts.metadata["path"] == "Ferry memo (final).docx"
    assert facts.language == "en"
    assert facts.valid_from == ""  # the day of python-docx's template is nobody's


def test_a_letterhead_is_neither_a_document_nor_the_title_of_a_memo(tmp_path: Path) -> None:
    folder = tmp_path / "memos"
    folder.mkdir()
    document = docx.Document()
    document.core_properties.title = "Memo template v3"
    document.add_paragraph("Marlow & Reeve LLP – MEMORANDUM")
    document.add_heading("Break clause", 1)
    document.add_paragraph("The tenant may end the lease.")
    document.save(folder / "one heading.docx")
    document.add_heading("Advice", 2)
    document.add_paragraph("Pay the rent first.")
    document.save(folder / "two headings.docx")
    _, found, _ = imported(folder)
    assert {id: document.title for id, document in found.items()} == {
        "one-heading": "Break clause",
        "two-headings:break-clause": "Break clause",
        "two-headings:advice": "Break clause – Advice",
    }


def mail(**attachments: bytes) -> bytes:
    message = EmailMessage()
    message["Subject"] = "Laituri"
    message["From"] = "a@example.com"
    message["To"] = "b@example.com"
    message["Date"] = "Fri, 02 May 2031 10:00:00 +0300"
    message.set_content("Hei,\n\nlaituri on korjattu ja lasku on liitteenä.\n")
    for name, data in attachments.items():
        message.add_attachment(
            data, maintype="application", subtype="octet-stream", filename=name.replace("_", ".")
        )
    return message.as_bytes()


def test_a_numbered_memo_in_an_email_gives_its_sections(tmp_path: Path) -> None:
    (folder := tmp_path / "in").mkdir()
    text = "Hello,\n\n1. Background\n\nThe town owns it.\n\n2. Options\n\nA fence, or hours.\n"
    (folder / "memo.eml").write_text(f"From: a@example.org\nSubject: Dog park\n\n{text}")
    (folder / "note.eml").write_text("From: a@example.org\nSubject: Note\n\nFacts\n\nNone.\n")

    _, documents, _ = imported(folder)

    sections = {one.fields.get("section_title", ""): one.text for one in documents.values()}
    assert sections == {
        "": "Facts\n\nNone.",
        "1. Background": "Hello,\n\nThe town owns it.",
        "2. Options": "A fence, or hours.",
    }


def test_all_of_the_main_content_of_a_page_is_read_without_its_navigation(tmp_path: Path) -> None:
    (folder := tmp_path / "in").mkdir()
    deep = "<h4>1.1.1. Names</h4><p>Deep text.</p><h4>Aside</h4><p>A line of it.</p>"
    (folder / "a.html").write_text(
        "<body class='sidebar'><div id='navigation'>Home</div><div role='main'><h1>Policy</h1>"
        f"<div>One.</div><h2>1. Second</h2><p>Two.</p>{deep}</div><div>Elsewhere</div>"
        "<div class='page footer'>Imprint</div></body>"
    )
    (folder / "b.html").write_text(
        "<div class='toc'>1. One</div><h1>One</h1><p>Text.</p><h1>Two</h1><p>More.</p>"
        "<div id='fusszeile'>Imprint</div>"
    )

    _, documents, _ = imported(folder)

    assert {one.fields["section_title"]: one.text for one in documents.values()} == {
        "Policy": "One.",
        "1. Second": "Two.",
        "1.1.1. Names": "Deep text.\n\nAside\n\nA line of it.",
        "One": "Text.",
        "Two": "More.",
    }


def test_a_line_that_goes_on_in_the_next_is_no_heading_on_a_page() -> None:
    lines = ("1. Hire", "1.1 The Tents are let for the days from delivery", "to collection.")
    lines = (*lines, "2. Charges", "2.1 They are paid in a month of the date of the", "invoice.")

    sections = find_sections([Block(line, page=1) for line in lines])

    assert [(one.heading.text, one.text) for one in sections if one.heading] == [
        ("1. Hire", "\n".join(lines[1:3])),
        ("2. Charges", "\n".join(lines[4:])),
    ]


def test_the_title_above_an_act_is_no_text_and_its_last_heading_is_found(tmp_path: Path) -> None:
    (folder := tmp_path / "in").mkdir()
    (folder / "stig.txt").write_text(
        "Stiglag\n\n1 § Denna lag gäller stigar.\n\n2 § Stigen ska hållas öppen.\n\n"
        "Ikraftträdande\n\nDenna lag träder i kraft den 1 januari 2032.\n"
    )

    _, documents, _ = imported(folder)

    assert {one.locator.section: one.text for one in documents.values() if one.locator} == {
        "1": "Denna lag gäller stigar.",
        "2": "Stigen ska hållas öppen.",
        "Ikraftträdande": "Denna lag träder i kraft den 1 januari 2032.",
    }


def test_places_of_a_swedish_act_resolve(tmp_path: Path) -> None:
    (folder := tmp_path / "in").mkdir()
    (folder / "stig.txt").write_text(
        "Stiglag (2031:404)\n\n1 kap. Inledning\n\n1 § Lagen gäller stigar.\n\nDen gäller broar."
        "\n\n2 § Andra vägar omfattas inte.\n\n2 kap. Ansvar\n\n1 § Kommunen ansvarar.\n"
    )
    imported(folder)
    corpus = open_corpus(tmp_path / "home", "c")

    for written, target in (
        ("1 kap. 1 § 2 st. stiglagen", "2031-404:1l:1:2"),
        ("1 kap. 1 § första stycket lagen (2031:404)", "2031-404:1l:1:1"),
        ("stiglagen 2 kap. 1 §", "2031-404:2l:1:1"),
    ):
        (found,) = cite(written, corpus)
        assert found.targets == (target,), written


def test_an_email_has_its_subject_date_people_and_attachments(tmp_path: Path) -> None:
    folder = tmp_path / "mail"
    folder.mkdir()
    (folder / "one.eml").write_bytes(mail(bill_txt=b"Lasku: 40 euroa on maksettu."))
    _, found, problems = imported(folder)
    assert problems == []
    letter = found["one"]
    assert (letter.title, letter.valid_from, letter.language) == ("Laituri", "2031-05-02", "fi")
    assert letter.metadata["from"] == "a@example.com"
    assert found["one/bill"].text == "Lasku: 40 euroa on maksettu."


def test_archives_and_folders_are_read_to_their_ends(tmp_path: Path) -> None:
    folder = tmp_path / "all"
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "note.txt").write_text("A note on ferries.")
    (folder / ".hidden.txt").write_text("hidden")
    inner = BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("b/one.html", "<h1>One</h1><p>First.</p>")
    with zipfile.ZipFile(folder / "old.zip", "w") as archive:
        archive.writestr("inner.zip", inner.getvalue())
        archive.writestr("readme.md", "# Two\n\nSecond.")
    _, found, problems = imported(folder)
    assert problems == []
    assert set(found) == {"deep/er/note", "old/inner/b/one", "old/readme"}
    assert found["old/inner/b/one"].metadata["path"] == "old.zip/inner.zip/b/one.html"


def test_what_an_archive_hides_is_listed(tmp_path: Path) -> None:
    folder = tmp_path / "all"
    folder.mkdir()
    with zipfile.ZipFile(folder / "old.zip", "w") as archive:
        archive.writestr("../evil.txt", "Out.")
        archive.writestr(".hidden", "Hidden.")
        archive.writestr("good.txt", "This one can be read.")
    _, found, problems = imported(folder)
    assert list(found) == ["old/good"]
    assert {problem.where: problem.reason for problem in problems} == {
        "old.zip/../evil.txt": "its path leads out of the archive",
        "old.zip/.hidden": "hidden files are not read",
    }


def test_texts_state_their_date_and_title(tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "dated.txt").write_text("Berths\n\nDate: 12 March 2024\n\nA berth costs 40 euros.")
    (folder / "page.html").write_text("<h1>Quay</h1><p>Published 3 May 2023</p><p>Closed.</p>")
    (folder / "told.txt").write_text("Berths\n\nThe fee rose on 12 March 2024.")
    (folder / "long.txt").write_text("The berth fee of the harbour is paid " * 9 + ".")
    (folder / "memo.txt").write_text("FACTS\n\nThe ferry sank.\n\nADVICE\n\nBuy another one.")
    _, found, _ = imported(folder)
    dates = {id: document.valid_from for id, document in found.items()}
    assert (dates["dated"], dates["page"], dates["told"]) == ("2024-03-12", "2023-05-03", "")
    assert len(found["long"].title) <= 82
    assert {one.title.split(" – ")[0] for id, one in found.items() if id[:4] == "memo"} == {"memo"}


def test_a_decision_is_called_by_its_subject_and_not_by_its_court(
    tmp_path: Path, assay_cli: Assay
) -> None:
    (folder := tmp_path / "in").mkdir()
    head = "TENANCY TRIBUNAL\nCase 7 of 2021\nOakes v Byrne\nDecided on 3 May 2021\n"
    text = "\nThe landlord kept the deposit.\n\nORDER\n\nHe repays it.\n"
    (folder / "a.txt").write_text(f"{head}Subject: The deposit\n{text}")
    (folder / "b.txt").write_text(f"{head}{text}")

    _, documents, _ = imported(folder, by="file")

    assert [documents[key].title for key in "ab"] == [
        "The deposit",
        "TENANCY TRIBUNAL, Case 7 of 2021, Oakes v Byrne, Decided on 3 May 2021",
    ]
    assert {one.valid_from for one in documents.values()} == {"2021-05-03"}
    (folder / "c.txt").write_text("A preface that is long enough to stand alone. " * 9 + text)
    said = " ".join(assay_cli("corpus", "import", folder / "c.txt", "--name", "c").err.split())
    assert "1 file became 2 documents" in said


def test_lines_that_a_browser_prints_at_the_edges_of_a_page_are_left_out() -> None:
    sheet = Sheet()
    lines = (
        "5/3/21, 9:15 AM Oakes v Byrne",
        "The deposit",
        "He repays it.",
        "https://a.example 1/1",
    )
    for place, line in enumerate(lines):
        sheet.text(60, 60 + 40 * place, line)

    assert [one.text for one in READERS[".pdf"](drawn([sheet])).blocks] == list(lines[1:3])


def test_a_table_of_markdown_may_have_empty_cells() -> None:
    table = "| Berth | Fee |\n|---|---|\n| C1 | |\n| | 85 |\n"

    (block,) = READERS[".md"](table.encode()).blocks

    assert block.text == "Berth | Fee\nC1 | \n | 85"


def test_encodings_are_told_apart(tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    texts = {
        "utf-8": "Säännös",
        "utf-16": "Säännös koskee lauttoja.",
        "cp1252": "Säännös koskee myös öljyä.",
        "cp1255": "חוק המעבורות חל על כל אגם",
    }
    for encoding, text in texts.items():
        (folder / f"{encoding}.txt").write_bytes(text.encode(encoding))
    assert {name: document.text for name, document in imported(folder)[1].items()} == texts


# ── what cannot be read ───────────────────────────────────────────────────────────────────────────


def test_what_cannot_be_read_is_listed_with_the_reason_and_the_rest_goes_on(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "odd"
    folder.mkdir()
    (folder / "empty.txt").write_bytes(b"")
    (folder / "broken.docx").write_bytes(b"PK\x03\x04 no")
    (folder / "old.docx").write_bytes(b"\xd0\xcf\x11\xe0 locked")
    (folder / "binary.txt").write_bytes(bytes(range(32)) * 100)
    (folder / "picture.png").write_bytes(b"\x89PNG")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 nothing")
    with zipfile.ZipFile(folder / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros.txt", b"\0" * 8 * 2**20)
    with zipfile.ZipFile(folder / "strange.docx", "w") as archive:
        archive.writestr("[Content_Types].xml", "<w:types>")
    os.mkfifo(folder / "pipe.txt")
    (folder / "good.txt").write_text("This one can be read.")
    _, found, problems = imported(folder)
    assert list(found) == ["good"]
    reasons = {problem.where: (problem.code, problem.reason) for problem in problems}
    assert reasons["empty.txt"] == ("unreadable", "the file is empty")
    assert "password" in reasons["old.docx"][1]
    assert reasons["binary.txt"][1] == "it is not text: it holds binary data"
    assert reasons["picture.png"] == ("skipped", ".png files are not read")
    assert reasons["pipe.txt"] == ("skipped", "it is not a regular file")
    assert reasons["strange.docx"][1].startswith("it is not a Word file, or it is damaged: ")
    assert "times its size: it may be a bomb" in reasons["bomb.zip"][1]
    assert set(reasons) == {path.name for path in folder.iterdir()} - {"good.txt"}
    assert all("\n" not in reason for _, reason in reasons.values())


def test_sections_that_are_numbered_through_all_chapters_are_found(tmp_path: Path) -> None:
    """Their text follows the number on the same line."""
    folder = tmp_path / "rules"
    folder.mkdir()
    (folder / "berths.txt").write_text(
        "Regler om båtplatser\n\n1 kap. Inledning\n\n1 § Reglerna gäller kommunens båtplatser.\n\n"
        "2 § Med båt avses även kanot.\n\n2 kap. Avgifter\n\n3 § Avgiften är 900 kronor per år.\n\n"
        "3 kap. Tvister\n\n1 § Tvister avgörs av nämnden.\n"
    )
    _, found, _ = imported(folder, by="section")
    assert [document.fields["section_title"] for document in found.values()] == [
        "1 §",
        "2 §",
        "3 §",
        "1 §",
    ]


def test_links_out_of_the_folder_and_what_is_no_file_are_listed(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("This lies outside of the folder.")
    folder = tmp_path / "odd"
    folder.mkdir()
    (folder / "good.txt").write_text("This one can be read.")
    (folder / "out.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "same.txt").symlink_to(folder / "good.txt")
    (folder / "zeros.txt").symlink_to("/dev/zero")
    os.mkfifo(folder / "pipe.txt")
    _, found, problems = imported(folder)
    assert set(found) == {"good", "same"}
    assert {problem.where: problem.reason for problem in problems} == {
        "out.txt": "it links to a file outside of the folder: copy it in",
        "zeros.txt": "it is not a regular file",
        "pipe.txt": "it is not a regular file",
    }
    link = tmp_path / "link"
    link.symlink_to(folder)
    assert set(imported(link)[1]) == {"good", "same"}, "the folder itself may be a link"


def test_a_file_whose_name_is_no_utf_8_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "odd"
    folder.mkdir()
    (folder / os.fsdecode(b"p\xe4\xe4t\xf6s.txt")).write_text("A name in an old encoding.")
    (folder / "good.txt").write_text("This one can be read.")
    _, found, problems = imported(folder)
    assert sorted(document.text for document in found.values()) == [
        "A name in an old encoding.",
        "This one can be read.",
    ]
    assert problems == []
    again = imported(folder)[1]
    assert set(again) == set(found)


def test_a_page_that_only_leads_to_another_is_no_document(tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    refresh = '<html><head><meta http-equiv="Refresh" content="0; URL=new.html"></head><body>'
    (folder / "old.html").write_text(f"{refresh}<p>Moved to <a>new.html</a>.</p></body>")
    (folder / "live.html").write_text(f"{refresh}<p>{'The tide is at two. ' * 40}</p></body>")
    _, found, problems = imported(folder)
    assert list(found) == ["live"]
    assert [(problem.code, problem.where) for problem in problems] == [("skipped", "old.html")]


def test_the_letterhead_of_a_memo_gives_its_title_and_is_no_document(tmp_path: Path) -> None:
    folder = tmp_path / "memos"
    folder.mkdir()
    memo = docx.Document()
    memo.add_paragraph("HALDEN LLP")
    memo.add_paragraph("MEMORANDUM")
    table = memo.add_table(rows=3, cols=2)
    said = (("To", "Board"), ("Date", "3 May 2025"), ("Re", "Who insures the ferry"))
    for row, cells in zip(table.rows, said, strict=True):
        row.cells[0].text, row.cells[1].text = cells
    for text in ("Question", "Who pays for the ferry?", "Answer", "The insurer pays."):
        memo.add_paragraph(text)
    memo.save(str(folder / "ferry.docx"))
    (folder / "quay.txt").write_text(
        "MEMORANDUM\n\nTo: Board\nFrom: A. Ray\nRe: The lease of the quay\n\n"
        "QUESTION\n\nWho owns the quay?\n\nANSWER\n\nThe town owns it."
    )
    _, found, _ = imported(folder)
    assert [document.title for document in found.values()] == [
        "Who insures the ferry – Question",
        "Who insures the ferry – Answer",
        "The lease of the quay – QUESTION",
        "The lease of the quay – ANSWER",
    ]
    assert "3 May 2025" in found["ferry:question"].text
    assert found["ferry:answer"].valid_from == "2025-05-03"


def test_a_file_that_takes_too_much_is_reported_and_the_rest_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "heavy"
    folder.mkdir()
    (folder / "a.txt").write_text("First.")
    (folder / "b.txt").write_text("x\n\n" * 4_000_000)  # each paragraph needs 100 bytes
    (folder / "c.txt").write_text("Last.")
    home = tmp_path / "home"
    import_corpus(
        "documents", folder, name="c", home=home, limits=Limits(seconds=60, megabytes=256)
    )
    corpus = open_corpus(home, "c")
    assert {document.id for document in corpus.iter()} >= {"a", "c"}
    assert [(problem.code, problem.where) for problem in corpus.problems()] == [("limit", "b.txt")]
    assert "256 MB of memory" in corpus.problems()[0].reason


def test_a_file_that_is_others_one_after_the_other_is_left_out(tmp_path: Path) -> None:
    """A page that prints the whole site is; a contract of clauses that others have is none."""
    (folder := tmp_path / "in").mkdir()
    clauses = {
        name: [f"Clause {name} {n}: {'the berth is let. ' * 3}" for n in range(9)]
        for name in "abcd"
    }
    for name, texts in clauses.items():
        (folder / f"{name}.txt").write_text("\n\n".join(texts))
    (folder / "all.txt").write_text(
        "\n\n".join(text for texts in clauses.values() for text in texts)
    )
    mixed = [text for texts in clauses.values() for text in texts[:6]]
    (folder / "mixed.txt").write_text("\n\n".join(mixed))

    _, documents, problems = imported(folder)

    assert {one.metadata["path"] for one in documents.values()} == {
        *("a.txt", "b.txt", "c.txt", "d.txt", "mixed.txt")
    }
    (problem,) = problems
    assert (problem.code, problem.where) == ("skipped", "all.txt")
    assert "5 other files one after the other" in problem.reason
    (folder / "a.txt").unlink()
    _, documents, problems = imported(folder)
    assert "all.txt" in {one.metadata["path"] for one in documents.values()}
    assert not problems


# ── a second import ───────────────────────────────────────────────────────────────────────────────


def test_a_second_import_takes_only_what_changed(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name in "abc":
        (folder / f"{name}.md").write_text(f"# {name}\n\nText of {name}.")
    (folder / "d.txt").write_bytes(b"")
    imported(folder)
    assert imported(folder)[0].unchanged
    (folder / "b.md").write_text("# b\n\nAnother text of b.")
    (folder / "c.md").unlink()
    report, found, problems = imported(folder)
    assert report.kept == 1
    assert [document.text for document in found.values()] == [
        "a\n\nText of a.",
        "b\n\nAnother text of b.",
    ]
    assert [problem.where for problem in problems] == ["d.txt"]


# ── acts ──────────────────────────────────────────────────────────────────────────────────────────

FERRIES = """# Järvilauttalaki (77/2031)

## 1 luku Yleiset säännökset

### 1 § Soveltamisala

Tätä lakia sovelletaan lauttoihin.

Sitä ei sovelleta 110 a §:ssä tarkoitettuun soutuveneeseen.

### 110 a § Soutuveneet

Soutuvene on:

1) vene; ja

2) airot.

Soutuveneen omistaja vastaa siitä.
"""
GOLDEN = """[{"id": "Q1", "category": "c", "must": true, "query": "kuka vastaa soutuveneestä",
 "expected_any": [{"section": "110a", "moment": "2"}], "k": 5, "min_score": 0.0}]"""


def test_an_act_in_markdown_gives_moments_with_places_that_resolve(
    tmp_path: Path, assay_cli: Assay
) -> None:
    act = tmp_path / "jarvilauttalaki.md"
    act.write_text(FERRIES, encoding="utf-8")
    assert assay_cli("corpus", "import", act, "--name", "acts").code == 0
    shown = assay_cli("corpus", "show", "acts", "77/2031:110a:1", "--json").json
    assert shown["text"] == "Soutuvene on:\n\n1) vene; ja\n\n2) airot."
    assert shown["locator"] | {} == {
        "doc_id": "77/2031",
        "chapter": "1",
        "section": "110a",
        "moment": "1",
    }
    assert shown["cited_by"] == ["77/2031:1:2"]
    cited = assay_cli("cite", "järvilauttalain 110 a §:n 2 momentti", "--corpus", "acts", "--json")
    assert [row["targets"] for row in cited.json] == [["77/2031:110a:2"]]
    golden = tmp_path / "golden.json"
    golden.write_text(GOLDEN, encoding="utf-8")
    done = assay_cli("gold", "validate", golden, "--corpus", "acts")
    assert done.code == 0, done.err
    golden.write_text(GOLDEN.replace("110a", "111"), encoding="utf-8")
    assert (
        "111 § 2 mom. is not in the corpus"
        in assay_cli("gold", "validate", golden, "--corpus", "acts").out
    )


MARKETS = {
    "md": '# חוק השווקים, התשפ"א-2021\n\n### סעיף 1. ערר\n\n{}\n\n### סעיף 2. תחילה\n\n{}\n',
    "txt": "Markets Act 2021\n\nSection 1. Appeals\n\n{}\n\nSection 2. Start\n\n{}\n",
}


@pytest.mark.parametrize(("suffix", "bullet"), [("md", ""), ("md", "- "), ("txt", "")])
def test_subsections_on_lines_of_their_own_are_moments(
    suffix: str, bullet: str, tmp_path: Path, assay_cli: Assay
) -> None:
    """A line that is only wrapped before a number, as in a citation, begins none."""
    lines = [
        "(1) An appeal under section 40",
        "(2) is in writing:",
        "(a) signed;",
        "(2) It is free.",
    ]
    text = "\n".join(
        f"{bullet if number != 1 else '  '}{line}" for number, line in enumerate(lines)
    )
    act = tmp_path / f"markets.{suffix}"
    act.write_text(MARKETS[suffix].format(text, "(1) It starts now."), encoding="utf-8")
    assert assay_cli("corpus", "import", act, "--name", "acts").code == 0
    second = assay_cli("corpus", "show", "acts", "markets:1:2", "--json").json
    assert second["text"] == "(2) It is free."
    first = assay_cli("corpus", "show", "acts", "markets:1:1", "--json").json
    assert "(2) is in writing:" in first["text"]
    assert "(a) signed;" in first["text"]


def test_an_english_act_is_cited_without_its_chapter_number(
    tmp_path: Path, assay_cli: Assay
) -> None:
    act = tmp_path / "keepers.md"
    act.write_text(
        "# Keepers Act 1987 (c. 42)\n\n## Section 1 Lamps\n\nLit.\n\n## Section 2 Logs\n\nKept.\n"
    )
    assert assay_cli("corpus", "import", act, "--name", "acts").code == 0
    cited = assay_cli("cite", "section 2 of the Keepers Act 1987", "--corpus", "acts", "--json")
    assert [len(row["targets"]) for row in cited.json] == [1]


ACTS = {
    "he.md": (
        "# חוק המעבורות\n\n## פרק א': כללי\n\n### סעיף 1 – הגדרות\n\nבחוק זה –\n\n"
        '"אגם" – מים;\n\n"סירה" – כלי שיט.\n\n### סעיף 2א – תחולה\n\n(א) אחד.\n\n(ב) שניים.\n',
        [("1", None), ("2א", "א"), ("2א", "ב")],
    ),
    "en.md": (
        "# Ferries Act 2031\n\n## Part I General\n\n### Section 1 Definitions\n\n"
        "In this Act a ferry is a ship.\n\n### Section 2. Licences\n\n"
        "(1) No one runs a ferry without one.\n\n(2) It is granted by:\n\n(a) a town; or\n\n"
        "(b) a county.\n",
        [("1", None), ("2", "1"), ("2", "2")],
    ),
    "sv.md": (
        "# Lag (2031:115) om färjor\n\n## 1 kap. Inledning\n\n### 1 § Tillämpning\n\nEtt.\n\n"
        "Två.\n\n## 2 kap. Tillstånd\n\n### 1 § Ansökan\n\nTre.\n",
        [("1", "1"), ("1", "2"), ("1", "1")],
    ),
    "art.md": (
        "# Harbour Code\n\n### Article 3 – Fees\n\nOne.\n\n### Article 4 – Fines\n\nTwo.\n",
        [("3", None), ("4", None)],
    ),
}


def test_acts_in_other_languages(tmp_path: Path) -> None:
    folder = tmp_path / "acts"
    folder.mkdir()
    for name, (text, _) in ACTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    _, found, problems = imported(folder)
    for name, (_, places) in ACTS.items():
        here = [one for one in found.values() if one.metadata["path"] == name]
        locators = [one.locator for one in here if one.locator and one.locator.section]
        assert [(one.section, one.moment) for one in locators] == places
    assert all(":" in name and "." not in name for name in found)
    assert problems == []


def test_acts_as_a_json_array(tmp_path: Path, assay_cli: Assay) -> None:
    source = tmp_path / "act.json"
    source.write_text(
        '[{"act": "77/2031", "title": "Järvilauttalaki", "section": "110 a", "heading": "Veneet",'
        ' "moments": ["Soutuvene on vene.", "Omistaja vastaa siitä."]}]',
        encoding="utf-8",
    )
    assert guess_kind(str(source)) == "json"
    assert assay_cli("corpus", "import", source, "--name", "acts").code == 0
    shown = assay_cli("corpus", "show", "acts", "77/2031:110a:2", "--json").json
    assert (shown["text"], shown["locator"]["moment"]) == ("Omistaja vastaa siitä.", "2")
    cited = assay_cli("cite", "järvilauttalain 110 a §:n 2 momentti", "--corpus", "acts", "--json")
    assert [row["targets"] for row in cited.json] == [["77/2031:110a:2"]]


# ── the kind is guessed ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("a.docx", "", "documents"),
        ("a.csv", "id,text\n", "csv"),
        ("a.xml", "<akomaNtoso/>", "akn"),
        ("a.jsonl", '{"id": "1", "text": "x"}', "jsonl"),
        ("a.jsonl", '{"law_id": "1/2031", "section_id": "1", "text": "x"}', "finlex"),
        ("a.json", '{"pages": [{"page_num": 1}]}', "report"),
        ("a.json", '{"id": "A-1", "year": 2031, "content": {}}', "fppc"),
    ],
)
def test_the_kind_is_guessed(tmp_path: Path, name: str, text: str, kind: str) -> None:
    (tmp_path / name).write_text(text)
    assert guess_kind(str(tmp_path / name)) == kind
    assert guess_kind(str(tmp_path)) == kind


def test_a_kind_that_cannot_be_guessed_is_asked_for(tmp_path: Path, assay_cli: Assay) -> None:
    (tmp_path / "a.xyz").write_text("x")
    done = assay_cli("corpus", "import", tmp_path / "a.xyz", "--name", "c")
    assert done.code == 2
    assert "Give it before the path: documents, " in done.err


def test_a_hebrew_act_with_bare_numbers_gives_moments(tmp_path: Path) -> None:
    act = tmp_path / "law" / "marinas.md"
    act.parent.mkdir()
    act.write_text(
        '# חוק המעגנים, התשפ"ד–2024\n\n### 1. הגדרות\n\n(א) מעגן הוא מקום קשירה.\n\n'
        "(ב) רציף הוא חלק ממעגן.\n\n### 2. אגרה\n\nהאגרה תשולם לפי סעיף 1(א).\n"
    )
    _, documents, _ = imported(act)
    assert list(documents) == ["marinas:1:א", "marinas:1:ב", "marinas:2"]
    assert documents["marinas:1:ב"].title.startswith("סעיף 1(ב) לחוק המעגנים")
