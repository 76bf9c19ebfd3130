"""The review queue of gold sets from logs: items, decisions, suggestions and the backlog."""
