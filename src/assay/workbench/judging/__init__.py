"""What commands and pages do to make and judge gold sets: open a set, pool, take votes, write
labels, rule. How each is computed is in `judging/`."""
