"""Time steps follow one another: the last result is a good guess for the next, its detached set included."""

import numpy as np

import unstick as us
from unstick.geometry.shapes import Box, Plane, sample

n, dt = 256, 0.005
grid = us.Grid(shape=(n, n), spacing=1 / n)
walls = sample(~Box((0.1, 0.1), (0.9, 0.9)), grid, at="nodes")
liquid = sample(Plane((0.5, 0.5), (1.0, 0.3)), grid, at="cells")


def system(time):
    """The tank is shaken: u* changes a little from step to step."""
    shake = 0.2 * np.sin(20 * time)
    return us.assemble(grid, liquid, walls, us.FaceField.from_function(grid, lambda x, y: (shake, -9.81 * dt)), dt)


result = None
for step in range(4):
    problem = system(0.05 + step * dt)
    warm = us.solve(problem, guess=result)
    cold = us.solve(problem)
    work = [r.work["work_units"] + r.work["setup_units"] for r in (warm, cold)]
    print(f"step {step}: {warm.detached.sum():4} cells let go, {work[0]:.0f} work units with the guess, {work[1]:.0f} without")
    result = warm
