"""From search logs to gold: bootstrap, the expert's rulings, and what waits for one."""
