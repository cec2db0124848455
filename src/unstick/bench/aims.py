"""What the solvers promise on the frames; a bench says so where a run falls short. Growth is that of the counts or the work between two
sizes, and never the seconds of two machines."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

from unstick.bench.cases import WAYS, Run
from unstick.bench.harness import ratio
from unstick.bench.published import FRAME_COUNTS, LINEAR_PCG, SIZES

Runs = Mapping[tuple[str, int], Run | None]

CYCLES = {"sphere": 10, "sphere-box": 10, "double-sphere": 14}  # of fas-mg, at every size
OUTER = 6  # of the default
WORK = {"default": 130.0, "fas-mg": 200.0}  # work units at 256 in 3D, rebuilds included
GROWTH = 1.25  # of the default's work
AGAINST_LINEAR = {"sphere": 1.4, "sphere-box": 1.4, "double-sphere": 1.5}  # work and seconds
THIN = ("double-sphere", 64)  # walls of three cells
THIN_OUTER, THIN_AGAINST_LINEAR = 8, 2.2
FLAT_CYCLES, FLAT_GROWTH = 20, 1.35  # of fas-mg in 2D: at 256, and each time the side doubles
HARD_OUTER = {64: 8, 128: 9}  # outer iterations that exact policy iteration needs at least
DETACHED = (0.20, 0.45)


def missed(frame: str, sizes: tuple[int, ...], runs: Runs) -> list[str]:
    """A sentence for every promise that does not hold."""
    return [*_default(frame, sizes, runs), *_fas(frame, sizes, runs), *_growth(frame, sizes, runs)]


def too_easy(frame: str, size: int, detached: float, policy: int | str) -> list[str]:
    """The frames must be hard: many outer iterations of exact policy iteration, and a good part of the contact rows detached."""
    found = []
    least, most = DETACHED
    if size >= 32 and not least <= detached <= most:
        found.append(f"{100 * detached:.0f} % of the contact rows detach on {frame} at {size}, not {100 * least:.0f} to {100 * most:.0f} %")
    if frame in CYCLES and isinstance(policy, int) and policy < HARD_OUTER.get(size, 0):
        found.append(f"exact policy iteration takes {policy} outer iterations on {frame} at {size}: the frame is too easy")
    return found


def _converged(runs: Runs, name: str, size: int) -> Run | None:
    done = runs.get((name, size))
    return done if done is not None and done.result.converged else None


def _default(frame: str, sizes: tuple[int, ...], runs: Runs) -> list[str]:
    found = []
    for size in sizes:
        done, linear = _converged(runs, "default", size), _converged(runs, "mgpcg", size)
        if done is None:
            continue
        thin = (frame, size) == THIN
        outer = THIN_OUTER if thin else OUTER
        if done.result.outer_iterations > outer:
            found.append(f"default on {frame} at {size} takes {done.result.outer_iterations} outer iterations, not {outer}")
        if linear is not None and size >= 64 and frame in AGAINST_LINEAR:
            most = THIN_AGAINST_LINEAR if thin else AGAINST_LINEAR[frame]
            for what, share in (("work", ratio(done.work, linear.work)), ("seconds", ratio(done.seconds, linear.seconds))):
                if share is not None and share > most:
                    found.append(f"default on {frame} at {size} takes {share:.2f} times the {what} of the linear solve, not {most}")
    first = 64 if frame in CYCLES else min(sizes)
    small, large = _converged(runs, "default", first), _converged(runs, "default", max(sizes))
    if small is not None and large is not None and large.work > GROWTH * small.work:
        found.append(f"the work of default on {frame} grows {large.work / small.work:.2f} times from {first} to {max(sizes)}, not {GROWTH}")
    return found


def _fas(frame: str, sizes: tuple[int, ...], runs: Runs) -> list[str]:
    found = []
    for size in sizes:
        done = _converged(runs, "fas-mg", size)
        if done is not None and done.result.iterations > CYCLES.get(frame, FLAT_CYCLES if size <= 256 else 1 << 30):
            found.append(f"fas-mg on {frame} at {size} takes {done.result.iterations} cycles, not {CYCLES.get(frame, FLAT_CYCLES)}")
    for name, most in WORK.items():
        done = _converged(runs, name, 256)
        if frame in CYCLES and done is not None and done.work > most:
            found.append(f"{name} on {frame} at 256 takes {done.work:.0f} work units, not {most:.0f}")
    if frame not in CYCLES:
        for size, next_size in itertools.pairwise(sizes):
            small, large = _converged(runs, "fas-mg", size), _converged(runs, "fas-mg", next_size)
            most = FLAT_GROWTH ** math.log2(next_size / size)
            if small is not None and large is not None and large.result.iterations > most * small.result.iterations:
                found.append(
                    f"the cycles of fas-mg on {frame} grow from {small.result.iterations} at {size} to {large.result.iterations} at "
                    f"{next_size}, more than {FLAT_GROWTH} times for each doubling"
                )
    return found


def _growth(frame: str, sizes: tuple[int, ...], runs: Runs) -> list[str]:
    """Counts of the methods of the papers must not grow faster than the thesis prints, from the first to the last size in common: neither
    by more times nor by more iterations, one of which says little where counts are small, the other where they are large."""
    found = []
    published = dict(FRAME_COUNTS.get(frame, {}))
    if frame == "sphere":
        published["pcg"] = LINEAR_PCG  # type: ignore[assignment]
    for name, theirs in published.items():
        if name == "fas-mg" or name in WAYS:
            continue
        common = [s for s in sizes if s in SIZES and _converged(runs, name, s) is not None]
        if len(common) < 2:
            continue
        first, last = _converged(runs, name, common[0]), _converged(runs, name, common[-1])
        assert first is not None and last is not None
        ours = last.result.iterations / max(first.result.iterations, 1)
        printed = theirs[SIZES.index(common[-1])] / theirs[SIZES.index(common[0])]
        if ours > printed:
            found.append(
                f"the count of {name} on {frame} grows {ours:.1f} times from {common[0]} to {common[-1]}, in the thesis {printed:.1f}"
            )
    return found
