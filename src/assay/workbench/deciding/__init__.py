"""Deciding from runs: comparisons, baselines, gates, trends, and how much more to judge."""
