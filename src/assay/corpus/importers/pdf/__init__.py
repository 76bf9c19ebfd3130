"""Read annual reports in PDF: letters, words, headings, tables and their cells."""
