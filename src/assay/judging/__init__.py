"""How judging works, computed from values and files: rubrics, pools, packets, label policies,
agreement, machine judges. `workbench/judging/` has the commands and pages that use it."""
