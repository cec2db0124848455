"""The state of a gas at the start, and where on the grid it is."""

from __future__ import annotations

import numpy as np

from unstick.checks import InvalidSystem, require_known
from unstick.fields import FaceField
from unstick.grid import Array, Grid
from unstick.liquid.scene import Scene, Smoke
from unstick.liquid.state import MARGIN, Gas, Particles, State, with_margin

SCHEMES = ("cubic", "maccormack", "linear")


def begin(scene: Scene) -> State:
    """A gas at rest, at the ambient temperature and without smoke."""
    require_gas(scene)
    grid = with_margin(scene.grid)
    gas = Gas(np.zeros(grid.shape3), np.zeros(grid.shape3))
    return State(grid, Particles.none(affine=False), gas_phi(grid), FaceField(grid), gas=gas)


def gas_phi(grid: Grid) -> Array:
    """What the pressure stage takes for the distance to liquid: negative in the domain; the pressure is then 0 on its open sides."""
    inner = tuple(slice(MARGIN, -MARGIN) if axis < grid.dimension else slice(None) for axis in range(3))
    out = np.full(grid.shape3, 0.5 * grid.spacing)
    out[inner] = -0.5 * grid.spacing
    return out


def smoke_of(scene: Scene) -> Smoke:
    """The scene's gas; a scene without one has no business here."""
    if scene.smoke is None:
        raise InvalidSystem(f"{scene.name or 'the scene'} holds no gas; give its `smoke`")
    return scene.smoke


def gas_of(state: State) -> Gas:
    if state.gas is None:
        raise InvalidSystem("the state is that of a liquid; a scene of smoke goes on from a state with a gas")
    return state.gas


def has_open_side(scene: Scene) -> bool:
    return "open" in scene.sides[: 2 * scene.grid.dimension]


def require_gas(scene: Scene) -> None:
    """Refuse what a gas cannot have."""
    require_known("scheme of advection", smoke_of(scene).advection, SCHEMES)
    if scene.liquid or scene.outflows:
        raise InvalidSystem("a scene of smoke holds gas everywhere: it has no liquid and no outflows; open a side for gas to leave")
    if scene.has_bodies and "open" in (*scene.sides[:3], *scene.sides[4 : 2 * scene.grid.dimension]):
        raise InvalidSystem("a gas with bodies in it has its weight, and would fall out of an open side; only the top may be open")
    if scene.inflows and not has_open_side(scene):
        raise InvalidSystem("an inflow into a closed box of gas has nowhere to go; open a side")
