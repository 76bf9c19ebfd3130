"""Check generated answers: every citation, quotation and figure against a corpus and against the
passages that the model was given. Nothing here asks a model or a network.

`readers` turns the files of other tools into `Answer` records, `check` finds and checks what an
answer says, `measures` counts it."""
