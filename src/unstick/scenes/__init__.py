"""Scenes by name and from TOML files."""

from unstick.scenes.errors import SceneError
from unstick.scenes.read import load
from unstick.scenes.table import SCENES
from unstick.scenes.write import to_toml

__all__ = ["SCENES", "SceneError", "load", "to_toml"]
