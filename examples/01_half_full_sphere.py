"""A half-full sphere that begins to fall: assemble, solve, and see where the liquid lets go of the wall."""

import unstick as us
from unstick.geometry.shapes import Plane, Sphere, sample

n, dt, density = 48, 0.01, 1000.0

grid = us.Grid(shape=(n, n, n), spacing=1 / n)
walls = sample(~Sphere((0.5, 0.5, 0.5), 0.4), grid, at="nodes")  # positive where the liquid may be
liquid = sample(Plane((0.5, 0.5, 0.5), (1.0, 0.15, 0.1)), grid, at="cells")  # negative in the liquid
velocity = us.FaceField.from_function(grid, lambda x, y, z: (0.0, -9.81 * dt, 0.0))

for kind in ("sticking", "separating"):
    system = us.assemble(grid, liquid, walls, velocity, dt, density, walls=kind)
    result = us.solve(system)
    p = result.require()
    print(f"{kind:10}  p from {p.min():8.1f} to {p.max():7.1f} Pa  {result.iterations} iterations")

share = result.detached.sum() / system.contact.sum()
print(f"the liquid lets go of {100 * share:.1f} % of the wall cells")

after = us.project(grid, velocity, p, liquid, walls, dt, density)
opening = us.divergence(grid, after, walls)[result.detached]
print(f"there the gap opens at {opening.mean():.2f} per second; elsewhere the flow is free of divergence")
