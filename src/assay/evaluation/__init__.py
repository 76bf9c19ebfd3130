"""Figures, comparisons and verdicts from runs and gold sets.

`graded` and `golden` score the two kinds of sets, `comparison` and `leaderboard` compare results,
`gates` decides, `unjudged` says what missing judgments could change, `tuning` chooses settings."""
