"""Each example runs as it stands, in a process of its own, and comes to the numbers it came to when it was written."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"

# What an example prints, by pattern: a number and how far it may be off.
PINNED: dict[str, list[tuple[str, float, float]]] = {
    "01_half_full_sphere.py": [
        (r"sticking +p from +(-?[\d.]+)", -1499.8, 2.0),
        (r"separating +p from +(-?[\d.]+)", 0.0, 0.0),
        (r"lets go of ([\d.]+) %", 26.5, 0.1),
        (r"opens at ([\d.]+) per second", 1.99, 0.02),
    ],
    "02_any_matrix.py": [(rf"{name} +(\d+) of 610 rows let go", 17, 0) for name in ("default", "pi-pcg", "newton", "mprgp")],
    "04_a_run.py": [(r"sticking +([\d.]+) % in the upper", 1.7, 0.3), (r"separating +([\d.]+) % in the upper", 0.0, 0.0)],
    "03_warm_start.py": [(r"step 3: +(\d+) cells let go", 276, 1)],
}


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_example(name: str, tmp_path: Path) -> None:
    source = (EXAMPLES / name).read_text(encoding="utf-8")
    assert len(source.splitlines()) < 60
    done = subprocess.run([sys.executable, str(EXAMPLES / name)], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for pattern, value, slack in PINNED[name]:
        found = re.search(pattern, done.stdout)
        assert found, f"{pattern} is not in\n{done.stdout}"
        assert abs(float(found[1]) - value) <= slack, done.stdout


def test_a_guess_saves_work(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, str(EXAMPLES / "03_warm_start.py")], capture_output=True, text=True, cwd=tmp_path)
    pairs = re.findall(r"(\d+) work units with the guess, (\d+) without", done.stdout)
    assert len(pairs) == 4
    assert all(int(warm) < int(cold) for warm, cold in pairs[1:])
