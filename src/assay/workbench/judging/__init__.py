"""Making gold sets and judging them: pools, votes, agreement, rulings and machine judges."""
