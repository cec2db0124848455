"""The README promises only what works: its code runs, its table is complete, its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import unstick as us
from unstick.solvers.when import WHEN

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_snippets_run(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    exec(compile(BLOCKS[number], f"README snippet {number}", "exec"), names)
    assert "let go" in capsys.readouterr().out
    if "result" in names:
        result = names["result"]
        assert isinstance(result, us.SolveResult)
        assert result.converged
        assert 0 < result.detached.sum() < result.system.contact.sum()
    else:
        simulation = names["simulation"]
        assert isinstance(simulation, us.Simulation)
        assert simulation.state.frame == 12 and simulation.last_report is not None
        assert simulation.last_report.status == "CONVERGED"


def test_there_are_three_snippets() -> None:
    assert len(BLOCKS) == 3


@pytest.mark.parametrize("line", re.findall(r"^unstick (.*?)(?: +#.*)?$", TEXT, flags=re.MULTILINE))
def test_command_lines_are_understood(line: str) -> None:
    """Each command of the README is taken by the command line as it stands; none is carried out here."""
    from unstick.cli import app

    app.parse_args(line.split(">")[0].split(), exit_on_error=False, print_error=False)


def test_every_solver_is_in_the_table() -> None:
    for name in (*us.SOLVERS, *us.LINEAR_SOLVERS):
        assert f"[`{name}`](docs/solvers/{name}.md) | {WHEN[name]}" in TEXT


def test_links_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        prose = re.sub(r"`[^`]*`", "", page.read_text(encoding="utf-8"))
        for target in re.findall(r"\]\(([^)#\s]+)\)", prose):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}"
