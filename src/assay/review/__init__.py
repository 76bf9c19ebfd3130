"""How rows from search logs become gold, in the log of a set: bootstrap, queue, decisions.
`workbench/review/` has the pages and commands that use it."""
