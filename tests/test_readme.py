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
def test_snippets_run_and_solve(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    exec(compile(BLOCKS[number], f"README snippet {number}", "exec"), names)
    result = names["result"]
    assert isinstance(result, us.SolveResult)
    assert result.converged
    assert 0 < result.detached.sum() < result.system.contact.sum()
    assert "let go" in capsys.readouterr().out


def test_there_are_two_snippets() -> None:
    assert len(BLOCKS) == 2


def test_every_solver_is_in_the_table() -> None:
    for name in (*us.SOLVERS, *us.LINEAR_SOLVERS):
        assert f"[`{name}`](docs/solvers/{name}.md) | {WHEN[name]}" in TEXT


def test_links_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        prose = re.sub(r"`[^`]*`", "", page.read_text(encoding="utf-8"))
        for target in re.findall(r"\]\(([^)#\s]+)\)", prose):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}"
