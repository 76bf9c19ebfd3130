"""The project as a whole: configuration, people, health, backups, Home and the demo."""
