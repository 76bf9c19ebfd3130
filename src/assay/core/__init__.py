"""The values and basic services that every other package uses: records, runs, results, files,
errors, the workspace, workers and plugins."""
