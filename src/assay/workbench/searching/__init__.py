"""Corpora: importing, searching and reading documents."""
