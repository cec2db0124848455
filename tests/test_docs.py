"""Every solver and bench has its place in the docs, and says the same there as on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

import unstick as us
from unstick.bench.table import BENCHES
from unstick.solvers.when import WHEN

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize("name", [*us.SOLVERS, *us.LINEAR_SOLVERS])
def test_every_solver_has_a_page_that_says_when_to_use_it(name: str) -> None:
    page = DOCS / "solvers" / f"{name}.md"
    assert page.is_file(), f"docs/solvers/{name}.md is missing"
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"# {name}\n")
    assert WHEN[name] in text
    assert len(text) > 600, "a page says what the method does, its options and its limits"


def test_no_line_without_a_solver() -> None:
    assert set(WHEN) == {*us.SOLVERS, *us.LINEAR_SOLVERS}


@pytest.mark.parametrize("name", BENCHES)
def test_every_bench_is_described(name: str) -> None:
    prefix = "lai-table-6." if name.startswith("lai-table-6") else "lai-fig-6." if name.startswith("lai-fig-6") else name
    assert prefix in (DOCS / "benches.md").read_text(encoding="utf-8")
