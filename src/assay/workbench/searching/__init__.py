"""What commands, pages and agents do with corpora: import, search and read. The search engine is
in `search/`."""
