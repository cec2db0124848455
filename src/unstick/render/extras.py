"""The libraries that pictures need, loaded when the first picture is asked for."""

from __future__ import annotations

import importlib
import subprocess
import sys
from functools import cache
from typing import Any

from unstick.checks import InvalidSystem


def need(module: str, what: str) -> Any:
    """The module, or a sentence that says what to install."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise InvalidSystem(f"{what} needs {module.split('.')[0]}: pip install 'unstick[viz]'") from None


# VTK does not refuse a system without OpenGL but ends the process: another one has to try.
PROBE = """
from vtkmodules.vtkCommonCore import vtkLogger
vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_OFF)
import vtkmodules.vtkRenderingOpenGL2
from vtkmodules.vtkRenderingCore import vtkRenderer, vtkRenderWindow
window = vtkRenderWindow()
window.OffScreenRenderingOn()
window.AddRenderer(vtkRenderer())
window.Render()
"""


@cache
def need_opengl() -> None:
    """A sentence where VTK cannot draw."""
    if subprocess.run([sys.executable, "-c", PROBE], capture_output=True).returncode != 0:
        raise InvalidSystem(
            "a 3D picture needs OpenGL, which this system lacks; a display is not needed, Mesa is enough "
            "(Debian, Ubuntu: apt install libegl1 libgl1-mesa-dri)"
        )
