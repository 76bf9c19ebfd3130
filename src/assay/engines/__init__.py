"""Engines under test that are not ours, and the plain baselines every engine should beat."""
