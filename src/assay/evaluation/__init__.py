"""From a run and a gold set to figures, comparisons and verdicts."""
