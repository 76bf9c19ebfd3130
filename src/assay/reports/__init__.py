"""Results as people and programs read them: one view, one file per format."""
