"""ADMM and IOP as projections: the walls are classified once, after the first solve (Eckert 2014, sections 3.2 and 3.3)."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from unstick.checks import InvalidSystem, require_count
from unstick.kernels import splitting as kernels
from unstick.kernels.reduce import max_abs
from unstick.pressure.splitting.accelerate import WINDOW, Anderson, Nesterov, OverRelaxation, Step
from unstick.pressure.splitting.answer import Answer
from unstick.pressure.splitting.base import Splitting, repaired, require_balance, require_between, require_one_of, status_of
from unstick.pressure.splitting.outer import Ended, Free, Loop, Penalty
from unstick.pressure.splitting.walls import Classify, Rows, Setting, letting_go, list_parts, with_free_parts, without_walls
from unstick.problem import Array
from unstick.solvers.ledger import Ledger

Residual = Literal["velocity", "divergence"]
NEAR = 2.0  # times a goal that depends on the velocity: from there on it is worked out anew


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternating(Splitting):
    """ADMM and IOP: a projection that sees no walls, and the wall condition, in turns."""

    classify: Classify = "velocity"
    allow_unbalanced: bool = False
    window: int = WINDOW  # states that 'anderson' remembers
    separating: ClassVar[bool] = True

    def __post_init__(self) -> None:
        Splitting.__post_init__(self)
        require_one_of("classify", self.classify, ("velocity", "pressure"))
        require_count("window", self.window)

    def find(self, setting: Setting, rows: Rows, ledger: Ledger, start: Array | None) -> Answer:
        flow = setting.flow
        parts = list_parts(setting, rows)
        problem = rows.problem(without_walls(setting, rows), setting.coupling)
        b = rows.take(setting.system.row_b)
        y = parts.start - parts.wall
        r = b.copy()
        parts.scatter(y, r)
        inner = self.inner_solver.prepare(problem, ledger)
        free = Free(inner, np.zeros(len(b)), r, self.divergence(flow, self.epsilon_CG), self.max_inner)
        free.project()
        loose = np.zeros(len(parts), dtype=np.bool_)
        if self.separating:
            passing = parts.start - parts.trace(free.p, setting.gradient)
            loose = letting_go(setting, rows, parts, free.p, passing, self.classify)
        attached = parts.only(~loose)
        freed = with_free_parts(setting, rows, parts.only(loose)) if loose.any() else setting.stencil
        base = b.copy()
        parts.scatter(np.where(loose, y, 0.0), base)  # free parts go on with the liquid's velocity
        lift, notes = repaired(freed, base, rows)
        free.r += lift
        y = y[~loose]
        if start is not None:
            free.p = start
            y = attached.trace(start, setting.gradient)
            free.r = base + lift + problem.A @ start
            attached.scatter(y, free.r)
            if max_abs(free.r) > 0.0:
                free.project()
        loop = Loop(free, attached, setting.gradient, self.max_iterations, self.on_iteration)
        ended, goal = self.iterate(loop, y, setting, rows, start is not None)
        velocity = np.where(loose, parts.start - parts.trace(free.p, setting.gradient), parts.wall)
        return Answer(
            p=free.p,
            slack=free.r,
            parts=parts,
            velocity=velocity,
            free=loose,
            status=status_of(ended.converged, ended.worst, free.ending),
            iterations=free.iterations,
            outer=ended.outer,
            residuals=ended.residuals,
            goal=goal,
            notes=notes,
        )

    @abc.abstractmethod
    def iterate(self, loop: Loop, y: Array, setting: Setting, rows: Rows, warm: bool) -> tuple[Ended, float]:
        """The outer iteration, and the goal it worked to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IOPSep(Alternating):
    """Alternating projections of one velocity field (algorithm 4)."""

    epsilon_Idiv: float = 1e-2
    accelerate: Literal["none", "over-relaxation", "anderson", "nesterov"] = "none"
    relaxation: float = 1.9

    name: ClassVar[str] = "iop-sep"

    def __post_init__(self) -> None:
        Alternating.__post_init__(self)
        require_one_of("accelerate", self.accelerate, ("none", "over-relaxation", "anderson", "nesterov"))
        require_between("relaxation", self.relaxation)
        if not self.allow_unbalanced:
            require_balance(self.name, "epsilon_Idiv", self.epsilon_Idiv, self.epsilon_CG)

    def iterate(self, loop: Loop, y: Array, setting: Setting, rows: Rows, warm: bool) -> tuple[Ended, float]:
        goal = self.divergence(setting.flow, self.epsilon_Idiv)
        return loop.iop(y, goal, self._step()), goal

    def _step(self) -> Step | None:
        if self.accelerate == "over-relaxation":
            return OverRelaxation(self.relaxation)
        if self.accelerate == "anderson":
            return Anderson(self.window)
        return Nesterov() if self.accelerate == "nesterov" else None


@dataclass(frozen=True, slots=True, kw_only=True)
class IOPStick(IOPSep):
    """IOP with walls that stick."""

    separating: ClassVar[bool] = False
    name: ClassVar[str] = "iop-stick"


@dataclass(frozen=True, slots=True, kw_only=True)
class ADMMSep(Alternating):
    """Two velocity fields and a dual one (algorithm 2)."""

    residual: Residual = "velocity"
    epsilon_Aabs: float = 1e-3
    epsilon_Arel: float = 1e-3
    epsilon_Adiv: float = 1e-2
    accelerate: Literal["none", "over-relaxation", "adaptive", "anderson"] = "none"  # momentum makes ADMM diverge
    relaxation: float = 1.8  # of 'over-relaxation' and 'adaptive'
    penalty: float = 4.0  # of 'over-relaxation', and the first of 'adaptive'; published is none, which is infinity: see `Penalty`

    name: ClassVar[str] = "admm-sep"

    def __post_init__(self) -> None:
        Alternating.__post_init__(self)
        require_one_of("residual", self.residual, ("velocity", "divergence"))
        require_one_of("accelerate", self.accelerate, ("none", "over-relaxation", "adaptive", "anderson"))
        require_between("relaxation", self.relaxation)
        if not self.penalty > 0.0:
            raise InvalidSystem(f"penalty is {self.penalty!r}; give a positive number")
        if self.residual == "divergence" and not self.allow_unbalanced:
            require_balance(self.name, "epsilon_Adiv", self.epsilon_Adiv, self.epsilon_CG)

    def iterate(self, loop: Loop, y: Array, setting: Setting, rows: Rows, warm: bool) -> tuple[Ended, float]:
        flow = setting.flow
        divergence = self.divergence(flow, self.epsilon_Adiv) if self.residual == "divergence" else None
        fastest = Fastest(setting, rows, loop)
        absolute = self.speed(flow, self.epsilon_Aabs)

        def velocity_goal(worst: float) -> float:
            if worst <= absolute + NEAR * self.epsilon_Arel * fastest.last:
                fastest.measure()
            return absolute + self.epsilon_Arel * fastest.last

        penalty, relaxation = Penalty(), 1.0
        if self.accelerate in ("over-relaxation", "adaptive"):
            penalty = Penalty(self.penalty, self.accelerate == "adaptive")
            relaxation = self.relaxation
        step = Anderson(self.window) if self.accelerate == "anderson" else None
        ended = loop.admm(y, divergence, velocity_goal, penalty, relaxation, step, warm)
        return ended, absolute + self.epsilon_Arel * fastest.last if divergence is None else divergence


@dataclass(frozen=True, slots=True, kw_only=True)
class ADMMStick(ADMMSep):
    """ADMM with walls that stick."""

    separating: ClassVar[bool] = False
    name: ClassVar[str] = "admm-stick"


@dataclass(slots=True, eq=False)
class Fastest:
    """The largest component of the velocity beside liquid, when last measured."""

    setting: Setting
    rows: Rows
    loop: Loop
    last: float = math.inf

    def measure(self) -> None:
        setting, box = self.setting, self.setting.stencil.box
        p = setting.system.expand(self.rows.spread(self.loop.free.p)).reshape(setting.flow.grid.shape3)
        top = 0.0
        for axis in range(setting.flow.grid.dimension):
            part = np.zeros(box[0] + 1)
            kernels.fastest(
                setting.flow.velocity.components[axis], p, setting.liquid, setting.opened[axis], axis, setting.gradient,
                setting.flow.theta_min, setting.stencil.corner, box, part,
            )  # fmt: skip
            top = max(top, float(part.max()))
        self.last = top
