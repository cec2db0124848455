"""`unstick scenes` and `unstick show-config`."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from unstick.scenes import SCENES, load, to_toml


def scenes_command() -> int:
    """List the scenes, each with a line."""
    grid = Table(show_header=False, pad_edge=False, box=None)
    grid.add_column(no_wrap=True, style="bold")
    grid.add_column()
    for name, scene in SCENES.items():
        grid.add_row(name, scene.about)
    console = Console()
    console.print(grid)
    console.print("Compute one with: unstick run SCENE; show it as a file to copy and change with: unstick show-config SCENE")
    return 0


def show_config_command(
    scene: str,
    /,
    *,
    resolution: int | None = None,
    walls: Literal["separating", "sticking"] | None = None,
    set: Annotated[list[str] | None, Parameter(negative="")] = None,
) -> int:
    """Print a scene as a complete TOML file, to be copied and changed.

    Parameters
    ----------
    scene:
        A name from `unstick scenes`, or a TOML file.
    resolution:
        Cells along the longest side of the domain.
    walls:
        Overrides all walls of the scene.
    set:
        KEY=VALUE changes a key of the scene, as in numerics.transfer=flip; may be given several times.
    """
    sys.stdout.write(to_toml(load(scene, resolution=resolution, walls=walls, sets=set or [])))
    return 0
