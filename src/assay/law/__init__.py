"""How lawyers cite: sections, moments and chapters, citations in three languages, locators.

How a section is written stands in the table of `spellings`; `places` reads it. A new language is
one file beside `fi`, `he` and `en`, and its rows in that table."""
