"""The command line: the only place where names become objects.

Exit codes: 0 done, 1 a solve or run failed or a bench could not show what it set out to show, 2 bad input, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import App, CycloptsError, Parameter
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from unstick import __version__
from unstick.checks import InvalidSystem, require_known
from unstick.result import SolveError, UnsupportedSystem

DONE, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130

app = App(
    name="unstick",
    help="Liquids that let go of walls: a simulator, and solvers for the pressure problem of separating solid boundaries.",
    version=f"unstick {__version__}",
    suppress_keyboard_interrupt=False,
)


RUN = "Compute a scene into a directory, from its start or from where it stopped."
SCENES = "List the scenes, each with a line."
SHOW = "Print a scene as a complete TOML file, to be copied and changed."
CHECK = "Verify the files of a run: description, checkpoints, frames, statistics."
RENDER = "Draw a run, or two runs beside each other: PNG pictures and an mp4 film."
app.command("unstick.runs.command:run_command", name="run", help=RUN)
app.command("unstick.scenes.command:scenes_command", name="scenes", help=SCENES)
app.command("unstick.scenes.command:show_config_command", name="show-config", help=SHOW)
app.command("unstick.runs.command:check_command", name="check", help=CHECK)
app.command("unstick.render.command:render_command", name="render", help=RENDER)


@app.command
def solvers() -> int:
    """List the solvers, each with a line that says when to use it."""
    from unstick.pressure.splitting.table import PROJECTIONS, WHEN_PROJECTIONS
    from unstick.solvers.table import LINEAR_SOLVERS, SOLVERS
    from unstick.solvers.when import WHEN

    told = WHEN | WHEN_PROJECTIONS
    console = Console()
    for title, table in (
        ("Solvers of the separating problem (us.SOLVERS)", SOLVERS),
        ("Linear solvers: walls that stick (us.LINEAR_SOLVERS)", LINEAR_SOLVERS),
        ("Projections of velocities, after Eckert (us.PROJECTIONS)", PROJECTIONS),
    ):
        grid = Grid(title=title, title_justify="left", title_style="bold", show_header=False, pad_edge=False)
        grid.add_column(no_wrap=True, style="bold")
        grid.add_column()
        for name in table:
            grid.add_row(name, told.get(name, ""))
        console.print(grid)
    console.print("Each solver has a page in docs/solvers/, the projections have docs/projections.md.")
    return DONE


@app.command
def warmup() -> int:
    """Compile the kernels now, the default solver's first, and keep them on disk."""
    from unstick.bench.warmup import warm_up

    console = Console(stderr=True)
    seconds, kernels = warm_up(console)
    Console().print(f"{kernels} kernels are ready ({seconds:.1f} s).", highlight=False)
    return DONE


@app.command
def bench(
    name: str | None = None,
    /,
    *,
    sizes: Annotated[list[int] | None, Parameter(consume_multiple=True, negative="")] = None,
    count: int | None = None,
    frames: int | None = None,
    threads: int | None = None,
    json: Path | None = None,
    out: Path | None = None,
) -> int:
    """Measure a published table or figure, or a promise of this package; without a name, list what there is.

    Parameters
    ----------
    name:
        What to measure.
    sizes:
        Cells along a side, one or more.
    count:
        How many random systems.
    frames:
        How many frames to simulate.
    threads:
        Numba threads to use (benches that compare threads choose themselves).
    json:
        Write the report to this file.
    out:
        Write NAME.json, NAME.md and pictures to this directory.
    """
    from unstick.bench.table import BENCHES

    console = Console()
    if name is None:
        grid = Grid(show_header=False, pad_edge=False, box=None)
        grid.add_column(no_wrap=True, style="bold")
        grid.add_column()
        for known, entry in BENCHES.items():
            grid.add_row(known, entry.line)
        console.print(grid)
        console.print(
            "Run one with: unstick bench NAME [--sizes N ...] [--count N] [--frames N] [--threads N] [--json FILE] [--out DIR]",
            markup=False,
        )
        return DONE
    chosen = BENCHES[require_known("bench", name, BENCHES)]

    from unstick.bench.harness import Options, using_threads
    from unstick.bench.show import show, write
    from unstick.progress import Meter

    options = Options(sizes=tuple(sizes or ()), count=count, frames=frames, threads=threads, plots=out, meter=Meter(Console(stderr=True)))
    for target in (json, None if out is None else out / "x"):
        if target is not None and target.parent.exists() and not target.parent.is_dir():
            raise InvalidSystem(f"{target.parent} is a file; give a directory that exists or can be made")
    announce()
    with using_threads(threads):
        report = chosen.run(options)
    show(report, console)
    if json is not None:
        write(report, json)
    if out is not None:
        write(report, out / f"{name}.json")
        write(report, out / f"{name}.md")
    return FAILED if report.failures else DONE


def announce() -> None:
    from unstick.kernels.warm import announce as say

    say()


def run(tokens: Sequence[str] | None = None) -> int:
    """Run a command line; every refusal becomes one sentence on stderr."""
    try:
        code = app(list(tokens) if tokens is not None else None, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        return refuse(str(error))
    except (InvalidSystem, UnsupportedSystem) as error:
        return refuse(str(error))
    except SolveError as error:
        tell(str(error))
        return FAILED
    except KeyboardInterrupt:
        tell("Interrupted.")
        return INTERRUPTED
    except BrokenPipeError:  # `unstick scenes | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as error:
        tell(f"{error.filename or 'A file'} cannot be read or written: {error.strerror or error}.")
        return FAILED
    return code if isinstance(code, int) else DONE


def refuse(sentence: str) -> int:
    """One line, or one for each error of a scene file."""
    tell("\n".join(" ".join(line.split()) for line in sentence.splitlines()))
    return BAD_INPUT


def tell(sentence: str) -> None:
    Console(stderr=True).print(Text(sentence, style="red"), soft_wrap=True)


def main() -> None:
    sys.exit(run())


if __name__ == "__main__":
    main()
