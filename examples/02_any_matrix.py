"""A matrix without a grid: a random graph, some of whose rows may let go."""

import numpy as np
import scipy.sparse as sp

import unstick as us

rng = np.random.default_rng(7)
n = 2000
points = rng.random((n, 2))

# Neighbours within a radius; couplings fall with distance. A = Laplacian of the graph + a link to air for rows on the right.
distance = np.hypot(*(points[:, None, d] - points[None, :, d] for d in range(2)))
couplings = np.where((distance < 0.05) & (distance > 0), 0.05 / np.maximum(distance, 1e-3), 0.0)
air = np.where(points[:, 0] > 0.9, 1.0, 0.0)
A = sp.csr_array(np.diag(couplings.sum(axis=1) + air) - couplings)
b = 0.01 * np.sin(7 * points[:, 0]) * np.cos(5 * points[:, 1])
contact = points[:, 1] < 0.3

system = us.PressureSystem.from_matrix(A, b, contact)
for name in ("default", "pi-pcg", "newton", "mprgp"):
    result = us.SOLVERS[name](tolerance=1e-9).solve(system)
    print(f"{name:8} {result.detached.sum():4} of {contact.sum()} rows let go, residual {result.residual:.1e}")

try:
    us.SOLVERS["fas-mg"]().solve(system)
except us.UnsupportedSystem as refusal:
    print(refusal)
