"""Search in annual reports: the rows of their tables, and the prose beside them."""
