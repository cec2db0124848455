"""What the keys of a scene file mean: the comments in written files, and the tables of docs/scenes.md."""

from __future__ import annotations

SIDE_NAMES = ("left", "right", "bottom", "top", "back", "front")  # x-, x+, y-, y+, z-, z+

WORDS = {
    "scene.name": "of runs and pictures; the file's name if not given",
    "scene.about": "one line",
    "scene.dimension": "2 or 3; y is up",
    "scene.size": "m, sides of the domain along x, y(, z); rounded to whole cells",
    "scene.resolution": "cells along the longest side",
    "scene.frames": "how many to compute",
    "scene.frame_time": "s",
    "scene.density": "kg/m^3",
    "gravity.value": "m/s^2",
    "gravity.times": "s; linear between them, constant beyond",
    "gravity.values": "m/s^2, one vector for each time",
    "smoke.ambient": "K, of the gas at the start and beyond open sides",
    "smoke.weight": "how much heavier the gas is for each unit of smoke, as a part of its own weight",
    "smoke.expansion": "1/K, how much lighter for each kelvin above ambient",
    "smoke.confinement": "strength of vorticity confinement, 0 for none",
    "smoke.fading": "1/s, rate at which smoke vanishes",
    "smoke.cooling": "1/s, rate at which the gas comes back to ambient",
    "smoke.advection": "cubic, maccormack, or linear",
    "smoke.conserve": "give back what advection loses of smoke and heat",
    "numerics.transfer": "apic, flip, pic, or semi-lagrangian",
    "numerics.flip": "part of FLIP in the FLIP/PIC blend, 0 to 1",
    "numerics.surface": "particles, or level-set",
    "numerics.paths": "rk3, or rk2",
    "numerics.particles_per_axis": "in each liquid cell at the start: 2 gives 4 in 2D, 8 in 3D",
    "numerics.jitter": "of particles at the start, 0 (a lattice) to 1",
    "numerics.seed": "of everything random",
    "numerics.mirror": '"x": particles mirrored about the middle of that axis',
    "numerics.reseed": "fill voids in the liquid and thin out crowds",
    "numerics.volume_source": "a bounded divergence that corrects the drift of volume",
    "numerics.cfl": "cells that the fastest liquid may cross in a step",
    "numerics.impact": "cells that liquid may move in a step towards a wall that it hits",
    "numerics.theta_min": "the surface stays that part of a cell away from a liquid centre",
    "numerics.solver": "a name from `unstick solvers`",
    "numerics.tolerance": "of the pressure solve, scale-free",
}
