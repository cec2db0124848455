"""Runs on disk: a scene computed into a directory, stopped, checked, and gone on with."""
