"""What the pressure stage is given at chosen frames of a run, for projections that are called on the same input (Eckert, section 4.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from unstick.liquid.simulation import Simulation, StepsExceeded
from unstick.pressure.projection import Flow, Projected, Projection
from unstick.result import Guess, SolveError
from unstick.scenes.table import SCENES


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """The first pressure stage of a frame."""

    frame: int
    flow: Flow
    guess: Guess | None  # what the run's own projection starts from
    led: Projected  # what it found


@dataclass(slots=True, eq=False)
class Watching:
    """A projection that shows the flows of chosen frames to `visit`, and lets `leader` answer."""

    leader: Projection
    visit: Callable[[Moment], None]
    frame: int = 0
    wanted: set[int] = field(default_factory=set)

    @property
    def name(self) -> str:
        return self.leader.name

    def __call__(self, flow: Flow, guess: Guess | None = None) -> Projected:
        led = self.leader(flow, guess)
        if self.frame in self.wanted:
            self.wanted.discard(self.frame)
            self.visit(Moment(self.frame, flow, guess, led))
        return led


def walk(
    scene: str,
    size: int,
    frames: Iterable[int],
    leader: Projection,
    visit: Callable[[Moment], None],
    tell: Callable[[str], None] = lambda what: None,
) -> str:
    """Run the scene with `leader`, and call `visit` at the first step of each of the frames. Returns why it ended early, or nothing."""
    wanted = set(frames)
    last = max(wanted, default=0)
    watching = Watching(leader, visit, wanted=wanted)
    simulation = Simulation(SCENES[scene](resolution=size, walls="separating"), projection=watching)
    try:
        for frame in range(1, last + 1):
            tell(f"frame {frame}")
            watching.frame = frame
            simulation.advance_frame()
    except (SolveError, StepsExceeded) as error:
        return f"{scene} at {size} ended in frame {simulation.state.frame + 1}: {error}"
    return ""


def moments(
    scene: str, size: int, frames: Iterable[int], leader: Projection, tell: Callable[[str], None] = lambda what: None
) -> tuple[list[Moment], str]:
    """All of them at once, for runs in 2D."""
    found: list[Moment] = []
    ended = walk(scene, size, frames, leader, found.append, tell)
    return found, ended
