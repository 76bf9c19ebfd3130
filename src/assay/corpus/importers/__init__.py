"""Importers, one module for each kind of source; `kinds` lists them and defines the interface."""
