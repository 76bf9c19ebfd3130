"""What pages and commands do with the review queue of all sets: list, show one item, decide,
suggest. How a decision changes a set is in `review/`."""
