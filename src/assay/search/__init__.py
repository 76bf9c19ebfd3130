"""Assay's own search engine: analysis, lexical and dense retrieval, fusion, calibration, the index
on disk."""
