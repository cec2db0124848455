"""Compile by doing: tiny runs and tiny systems for every solver, so that what is kept on disk is what real ones will ask for."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from rich.console import Console

from unstick.bench.cases import run_once, solver
from unstick.bench.frames import frame
from unstick.kernels import warm
from unstick.liquid.simulation import Simulation
from unstick.pressure.project import divergence, project
from unstick.problem import PressureSystem
from unstick.progress import Meter
from unstick.result import UnsupportedSystem
from unstick.scenes.table import SCENES
from unstick.solvers.table import LINEAR_SOLVERS, SOLVERS

STEPS = (("apic", "particles"), ("flip", "particles"), ("apic", "level-set"), ("semi-lagrangian", "particles"))


def chain(n: int) -> PressureSystem:
    """A system without a grid."""
    A = sp.csr_array(sp.diags_array([np.full(n - 1, -1.0), np.full(n, 2.0), np.full(n - 1, -1.0)], offsets=[-1, 0, 1]))
    return PressureSystem.from_matrix(A, np.sin(np.arange(n)), np.ones(n, dtype=bool))


def warm_up(console: Console) -> tuple[float, int]:
    """(seconds, kernels that are ready). What a run asks for comes first, so that an interrupted warm-up has done the most useful part."""
    start = time.perf_counter()
    names = [*SOLVERS, *LINEAR_SOLVERS]
    builders: list[tuple[str, Callable[[], PressureSystem]]] = [
        ("3D", lambda: geometry("sphere", 32)),
        ("2D", lambda: geometry("circle", 96)),
        ("no grid", lambda: chain(300)),
    ]
    weights = {"default": 20.0, "fas-mg": 6.0, "pi-pcg": 3.0}  # what compiles first compiles for the others
    total = sum(weights.get(name, 1.0) for name in names) + 2.0 * len(names)
    with Meter(console).steps(total + 75.0, "compiling") as step:
        for transfer, surface in STEPS:
            step(f"a step, {transfer}, {surface}", 15.0)
            for scene in ("circle", "sphere"):
                simulation = Simulation(SCENES[scene](resolution=12, transfer=transfer, surface=surface))
                simulation.run(frames=2)
        step("a step of a gas", 15.0)
        gas = SCENES["plume"](resolution=12)
        assert gas.smoke is not None
        Simulation(replace(gas, smoke=replace(gas.smoke, advection="maccormack"))).run(frames=2)
        built = {title: build() for title, build in builders}
        for name in names:
            for title, system in built.items():
                step(f"{name}, {title}", weights.get(name, 1.0) if title == "3D" else 1.0)
                try:
                    run_once(solver(name, max_iterations=20), system)
                except UnsupportedSystem:
                    continue
    return time.perf_counter() - start, len(warm.kernels()) - len(warm.missing())


def geometry(name: str, size: int) -> PressureSystem:
    """Everything that comes before and after a solve."""
    scene = frame(name, size)
    system = scene.system()
    system.cells  # noqa: B018 - worked out when asked for
    p = np.zeros(system.shape)
    after = project(scene.grid, scene.velocity, p, scene.liquid_phi, scene.solid_phi, scene.dt)
    divergence(scene.grid, after, scene.solid_phi)
    return system
