"""Values that everything else speaks in: records, runs, results, files, errors, the workspace."""
