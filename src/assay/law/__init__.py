"""Read and print legal references: citations in four languages, sections, moments, chapters and
locators.

How a section is written stands in the table of `spellings`; `places` reads it. A new language is
one file beside `fi`, `he` and `en`, and its rows in that table."""
