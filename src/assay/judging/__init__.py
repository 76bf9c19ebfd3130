"""Judging: rubrics, pools, packets, votes, label policies, agreement and machine judges."""
