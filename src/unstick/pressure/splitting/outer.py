"""The outer iterations (Eckert 2014, algorithms 2 and 4), on the velocities of wall faces alone.

A projection that sees no solids turns every velocity into u* - G p, with G p = dt/rho grad p. What the wall condition does to it
between two projections concerns closed parts of faces only. So the state is p and, for each attached part, the offset y from the
wall's velocity with which it enters the projection; it leaves it with y - t, where t is the part's entry of G p. With A0 the matrix
without walls, D the divergence of parts, and b the divergence of u* with parts that move with their solid:

    r = b + A0 p + D y = 0      the projection, up to epsilon_CG; done by increments of p, as the thesis does
    y <- t                      IOP: the part takes the wall's velocity
    y <- tau (a + c), c <- c + t - y, a <- t      ADMM: -c is the dual variable q, zero everywhere but on parts

For IOP this is the Richardson iteration of the equation with walls, preconditioned by A0. For ADMM as published tau = 1: it is IOP with
momentum, y <- t + (t - y). Alternatives for tau: see `Penalty`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from unstick.kernels.reduce import dot, max_abs
from unstick.pressure.splitting.accelerate import Plain, Step
from unstick.pressure.splitting.inner import PreparedInner
from unstick.pressure.splitting.walls import Parts
from unstick.problem import Array
from unstick.result import Status

RITZ = 4  # changes that the estimate of the angle remembers
INDEPENDENT = 1e-3  # directions among them that are smaller are noise
CHANGE = 1.25  # a new penalty is taken when it is so much larger
SLIGHTLY = 0.999  # an inner solve is asked for a little less than what it starts from, so that it does at least one iteration


@dataclass(slots=True, eq=False)
class Free:
    """The flow without walls: p, the residual r of its projection, and what was spent."""

    inner: PreparedInner
    p: Array
    r: Array  # divergence after the pressure, with the parts at what they left the projection with
    goal: float  # epsilon_CG in 1/s
    limit: int  # inner iterations of one solve
    iterations: int = 0
    ending: Status = Status.CONVERGED

    def project(self) -> None:
        """Solve for an increment of p from zero; as the thesis' solver, never without an iteration."""
        norm = max_abs(self.r)
        if norm == 0.0:
            return
        found = self.inner(-self.r, min(self.goal, SLIGHTLY * norm), self.limit)
        self.p += found.x
        self.r = -found.residual
        self.iterations += found.iterations
        self.ending = found.status

    def settle(self) -> None:
        """Solve, unless p is good enough."""
        if max_abs(self.r) > self.goal:
            self.project()


@dataclass(frozen=True, slots=True)
class Penalty:
    """The weight rho of ADMM's quadratic term against |u - u*|^2 / 2 in the projection; tau = rho / (1 + rho).

    The thesis' projection has no such term, which is rho = infinity. With two subspaces at an angle theta the iteration then falls by
    cos(theta) each time, with rho = 1 / (2 sin cos theta) by about 1 - sin(theta). `adaptive` estimates the angle on the way: see `Angle`.
    """

    rho: float = math.inf
    adaptive: bool = False

    @property
    def tau(self) -> float:
        return 1.0 if math.isinf(self.rho) else self.rho / (1.0 + self.rho)


@dataclass(frozen=True, slots=True, eq=False)
class Ended:
    converged: bool
    outer: int
    residuals: tuple[float, ...]
    worst: float  # the last of them


@dataclass(slots=True, eq=False)
class Loop:
    """An outer iteration in progress, after the first projection and the classification."""

    free: Free
    parts: Parts  # attached ones
    gradient: float  # dt / (density h)
    most: int
    on_iteration: Callable[[int, float], None] | None = None
    residuals: list[float] = field(default_factory=list)

    def trace(self) -> Array:
        return self.parts.trace(self.free.p, self.gradient)

    def tell(self, residual: float) -> None:
        self.residuals.append(residual)
        if self.on_iteration is not None:
            self.on_iteration(len(self.residuals), residual)

    @property
    def stuck(self) -> bool:
        return not math.isfinite(self.residuals[-1]) or self.free.ending is Status.DIVERGED

    def ended(self, converged: bool) -> Ended:
        return Ended(converged, len(self.residuals), tuple(self.residuals), self.residuals[-1])

    def iop(self, y: Array, goal: float, step: Step | None = None) -> Ended:
        """Algorithm 4. `goal` in 1/s: the largest divergence after the wall condition."""
        free, parts = self.free, self.parts
        step = step or Plain()
        while True:
            t = self.trace()
            parts.scatter(t - y, free.r)
            self.tell(max_abs(free.r))
            if self.residuals[-1] <= goal or self.stuck or len(self.residuals) >= self.most:
                return self.ended(self.residuals[-1] <= goal)
            new = step(y, t)
            if new is not t:
                parts.scatter(new - t, free.r)
            y = new
            free.project()

    def admm(
        self,
        y: Array,
        divergence_goal: float | None,
        velocity_goal: Callable[[float], float],
        penalty: Penalty,
        relaxation: float = 1.0,
        step: Step | None = None,
        warm: bool = False,
    ) -> Ended:
        """Algorithm 2. It ends by the divergence when that goal (1/s) is given, else by the largest |u - v| (m/s), whose goal
        may need to be worked out again when it is near."""
        free, parts = self.free, self.parts
        rho, tau = penalty.rho, penalty.tau
        published = tau == 1.0 and step is None
        a = c = y
        y_before = t_before = y
        angle = Angle(parts.weight)
        while True:
            t = self.trace()
            worst = max_abs(t - y)
            state = np.concatenate([a, c])
            if self.residuals:
                image = np.concatenate([a + relaxation * (t - a), c + relaxation * (t - y)])
            elif tau < 1.0:
                image = np.concatenate([t, t / rho])  # where it would end if t were right already
            else:
                image = np.concatenate([t, np.zeros_like(t) if warm else t - y])
            if penalty.adaptive and self.residuals:
                new_rho = best_penalty(angle.see(y - y_before, t - t_before))
                if new_rho > CHANGE * rho:
                    image[len(t) :] *= rho / new_rho
                    rho = new_rho
                    tau = rho / (1.0 + rho)
            y_before, t_before = y, t
            chosen = image if step is None or not self.residuals else step(state, image)
            a, c = chosen[: len(t)], chosen[len(t) :]
            new = tau * (a + c)
            if divergence_goal is None:
                goal = velocity_goal(worst)
            else:
                # The thesis measures v - q, which tends to the answer only in its own iteration; else u with the walls' velocity.
                at = new if published else t
                parts.scatter(at - y, free.r)
                y = at
                worst, goal = max_abs(free.r), divergence_goal
            self.tell(worst)
            if worst <= goal or self.stuck or len(self.residuals) >= self.most:
                parts.scatter(t - y, free.r)
                return self.ended(worst <= goal)
            parts.scatter(new - y, free.r)
            y = new
            free.project()


class Angle:
    """Estimates cos^2 of the angle between the subspaces, from what one projection makes of changes of its input: the largest Ritz
    value of y -> t on the last changes. It is a lower bound, and kept when a later one is smaller."""

    def __init__(self, weight: Array) -> None:
        self.weight, self.found = weight, 0.0
        self.inputs: list[Array] = []
        self.outputs: list[Array] = []

    def see(self, y: Array, t: Array) -> float:
        size = math.sqrt(dot(self.weight * y, y))
        if size > 0.0 and math.isfinite(size):
            self.inputs.append(y / size)
            self.outputs.append(t / size)
            del self.inputs[:-RITZ], self.outputs[:-RITZ]
            self.found = max(self.found, min(self._largest(), 1.0))
        return self.found

    def _largest(self) -> float:
        heavy = [self.weight * y for y in self.inputs]
        gram = np.array([[dot(h, y) for y in self.inputs] for h in heavy])
        image = np.array([[dot(h, t) for t in self.outputs] for h in heavy])
        sizes, basis = np.linalg.eigh(gram)
        kept = sizes > INDEPENDENT * sizes[-1]
        basis = basis[:, kept] / np.sqrt(sizes[kept])
        return float(np.linalg.eigvalsh(basis.T @ (0.5 * (image + image.T)) @ basis)[-1])


def best_penalty(cosine_squared: float) -> float:
    """rho = 1 / (2 sin cos theta), at least 1."""
    sine = max(1.0 - cosine_squared, 1e-6)
    return max(1.0, 1.0 / (2.0 * math.sqrt(sine * max(cosine_squared, 1e-6))))
