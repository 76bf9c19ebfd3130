"""Scoring engines and saved results, and keeping the runs."""
