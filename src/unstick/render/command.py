"""`unstick render`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from unstick.progress import Meter
from unstick.render.draw import Colour, Look, Style, render


def render_command(
    directory: Path,
    beside: Path | None = None,
    /,
    *,
    out: Path | None = None,
    every: int = 1,
    colour: Colour | None = None,
    style: Style | None = None,
    size: int | None = None,
    film: Annotated[bool, Parameter(negative="--no-film")] = True,
    fps: int = 25,
) -> int:
    """Draw a run, or two runs beside each other: PNG pictures and an mp4 film.

    Parameters
    ----------
    directory:
        The directory of a run, or of the two that `unstick run --walls both` makes.
    beside:
        That of a second run, for pictures side by side.
    out:
        Where pictures/ and film.mp4 go: the run's directory if not given, and its `beside` for two runs.
    every:
        Draw every so many frames.
    colour:
        What the colours mean; 3D water is drawn clear if not given, 2D by speed. Of smoke density or temperature.
    style:
        Particles or the surface; 2D particles and 3D surface if not given.
    size:
        Longer side of a run's picture in pixels; 720 in 2D and 640 in 3D if not given.
    film:
        Whether to make film.mp4.
    fps:
        Pictures per second of the film.
    """
    directories = [directory] if beside is None else [directory, beside]
    look = Look(colour=colour, style=style, size=size, every=every, film=film, fps=fps)
    drawn = render(directories, out, look, Meter(Console(stderr=True)))
    console = Console()
    console.print(f"{len(drawn.pictures)} pictures: {drawn.pictures[0].parent}", highlight=False, soft_wrap=True)
    if drawn.film is not None:
        console.print(f"film: {drawn.film}", highlight=False, soft_wrap=True)
    return 0
