"""What the pressure stage is told about bodies that move with the liquid: where they are, how heavy, how they can move."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from unstick.checks import InvalidSystem, require_finite
from unstick.grid import Array, Grid


@dataclass(frozen=True, slots=True, eq=False)
class Bodies:
    """n bodies moved by m generalised velocities. Joints and actuators are in `mass` and `jacobian`, contacts already in `velocity`.

    In 2D the bodies are slices as thick as the grid's one layer of cells, one spacing h: the mass of a disc is rho pi r^2 h.
    """

    phi: tuple[Array, ...]  # per body: signed distance at the nodes, positive outside the body; shape node_shape3
    centre: Array  # (n, 3): a point of each body, about which its twist is meant
    jacobian: Array  # (n, 6, m): generalised velocity to (velocity of `centre`, angular velocity); 2D: no v_z, omega_x, omega_y
    mass: Array  # (m, m) in kg (kg m^2 ...), symmetric positive definite: the generalised mass matrix
    velocity: Array  # (m,) before the pressure: gravity, contacts and actuators are already in
    separating: tuple[bool, ...]  # per body: may the liquid let go of it

    @property
    def count(self) -> int:
        return len(self.phi)

    @property
    def freedoms(self) -> int:
        return int(self.velocity.size)

    def twists(self, velocity: Array | None = None) -> Array:
        """(n, 6): velocity of the centre and angular velocity of each body, for these generalised velocities (its own by default)."""
        own = self.velocity if velocity is None else velocity
        return np.asarray(self.jacobian @ np.asarray(own, dtype=np.float64))

    def checked(self, grid: Grid) -> Bodies:
        """The same bodies as float64 arrays of the right shapes; a sentence if they do not fit each other or the grid."""
        n, m = len(self.phi), np.asarray(self.velocity).size
        wanted = {"centre": (n, 3), "jacobian": (n, 6, m), "mass": (m, m), "velocity": (m,)}
        arrays = {name: _array(name, getattr(self, name), shape) for name, shape in wanted.items()}
        fields = tuple(_distance(body, phi, grid) for body, phi in enumerate(self.phi))
        if len(self.separating) != n:
            raise InvalidSystem(f"separating has {len(self.separating)} entries for {n} bodies; give True or False for each body")
        if grid.dimension == 2 and arrays["jacobian"][:, 2:5].any():
            raise InvalidSystem("a body of a 2D grid moves along z or turns about x or y; rows 2, 3 and 4 of its jacobian must be zero")
        _require_mass(arrays["mass"])
        return replace(self, phi=fields, separating=tuple(bool(s) for s in self.separating), **arrays)


def _array(name: str, values: Array, shape: tuple[int, ...]) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != shape:
        raise InvalidSystem(f"{name} of the bodies has shape {array.shape}; with {shape[0]} entries on its first axis it must have {shape}")
    require_finite(f"{name} of the bodies", array)
    return array


def _distance(body: int, phi: Array, grid: Grid) -> Array:
    array = np.asarray(phi, dtype=np.float64)
    if array.size != int(np.prod(grid.node_shape3)):
        raise InvalidSystem(f"phi of body {body} has shape {array.shape}; it needs one value for each node, shape {grid.node_shape3}")
    require_finite(f"phi of body {body}", array)
    return np.ascontiguousarray(array.reshape(grid.node_shape3))


def _require_mass(mass: Array) -> None:
    if not mass.size:
        return
    if np.abs(mass - mass.T).max() > 1e-12 * np.abs(mass).max():
        raise InvalidSystem("the mass matrix of the bodies is not symmetric; it must equal its transpose")
    try:
        np.linalg.cholesky(mass)
    except np.linalg.LinAlgError:
        raise InvalidSystem("the mass matrix of the bodies is not positive definite; every movement needs a positive mass") from None
