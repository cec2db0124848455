"""Scenes by name and from TOML files."""
