"""What commands and pages do to score engines, saved results and answers, and to keep the runs.
The measures are in `evaluation/`."""
