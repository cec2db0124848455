"""Who may import whom is a contract in pyproject.toml; here it is asked for, and shown to be able to fail."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def lint(config: Path) -> subprocess.CompletedProcess[str]:
    tool = Path(sys.executable).with_name("lint-imports")
    return subprocess.run([str(tool), "--no-cache", "--config", str(config)], capture_output=True, text=True, cwd=ROOT)


def test_layers_are_kept() -> None:
    done = lint(ROOT / "pyproject.toml")
    assert done.returncode == 0, done.stdout


def test_the_contract_can_be_broken(tmp_path: Path) -> None:
    turned = tmp_path / "importlinter.toml"
    turned.write_text(
        "[tool.importlinter]\nroot_packages = ['unstick']\n"
        "[[tool.importlinter.contracts]]\nname = 'turned round'\ntype = 'layers'\ncontainers = ['unstick']\n"
        "layers = ['problem', 'solvers']\n"
    )
    assert lint(turned).returncode != 0
