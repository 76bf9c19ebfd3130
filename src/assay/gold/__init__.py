"""The log of a gold set, and the gold file that follows from it."""
