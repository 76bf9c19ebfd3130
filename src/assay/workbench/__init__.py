"""The verbs, one file per command. Values in, values out."""
