"""The tables of a scene file (pydantic), and the `Scene` that they make."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationInfo, model_validator

from unstick.geometry.motion import Still
from unstick.liquid.scene import Body, Gravity, Inflow, Numerics, Outflow, Scene, Side, Solid
from unstick.scenes.errors import nearest
from unstick.scenes.scene_file import LEAST_CELLS, MOST_CELLS, box_grid, with_walls
from unstick.scenes.schema_base import EMPTY, MOST_ENTRIES, Context, Name, Number, Positive, SpanTable, Table, Vector, context
from unstick.scenes.schema_bodies import BodiesTable, BodyTable
from unstick.scenes.schema_motions import AnyMotion
from unstick.scenes.schema_shapes import AnyShape
from unstick.scenes.schema_smoke import SmokeTable, SourceTable

Kind = Literal["separating", "sticking"]


class SceneTable(Table):
    name: Name
    about: Annotated[str, Field(max_length=1000)] = ""
    dimension: Literal[2, 3]
    size: Annotated[list[Positive], Field(min_length=2, max_length=3)]
    resolution: Annotated[int, Field(ge=LEAST_CELLS, le=MOST_CELLS)]
    frames: Annotated[int, Field(ge=0, le=1_000_000)] = 100
    frame_time: Annotated[float, Field(gt=0.0, le=1000.0)] = 0.01
    density: Positive = 1000.0

    @model_validator(mode="after")
    def _has_a_grid(self) -> SceneTable:
        if len(self.size) != self.dimension:
            raise ValueError(f"size is {self.size} in a scene of dimension {self.dimension}; allowed: {self.dimension} lengths")
        box_grid(tuple(self.size), self.resolution)
        return self


class GravityTable(Table):
    value: Annotated[list[Number], Field(min_length=2, max_length=3)] | None = None
    times: Annotated[list[Number], Field(max_length=MOST_ENTRIES)] = EMPTY
    values: Annotated[list[Annotated[list[Number], Field(min_length=2, max_length=3)]], Field(max_length=MOST_ENTRIES)] = EMPTY

    @model_validator(mode="after")
    def _is_one_or_the_other(self, info: ValidationInfo) -> GravityTable:
        if (self.value is None) == (not self.times):
            raise ValueError("value and times given, or neither; allowed: value = [x, y(, z)], or times and values")
        if len(self.times) != len(self.values):
            raise ValueError(f"{len(self.times)} times and {len(self.values)} values given; allowed: one value for each time")
        if any(a >= b for a, b in zip(self.times, self.times[1:], strict=False)):
            raise ValueError(f"times {self.times[:10]} given; allowed: increasing numbers")
        if context(info).dimension == 3 and any(len(value) != 3 for value in [self.value or [0.0] * 3, *self.values]):
            raise ValueError("a vector of two numbers given in a scene of dimension 3; allowed: three numbers")
        return self

    def make(self) -> Gravity:
        if self.value is not None:
            return Gravity.constant(*self.value)
        return Gravity(tuple(self.times), tuple(tuple(value) for value in self.values))


class LiquidTable(Table):
    shape: AnyShape
    velocity: Vector | Annotated[list[Number], Field(max_length=0)] = EMPTY
    spin: Annotated[list[Number], Field(max_length=3)] = EMPTY

    @model_validator(mode="after")
    def _spins_rightly(self, info: ValidationInfo) -> LiquidTable:
        d = context(info).dimension
        if d is not None and len(self.spin) not in (0, 2 * d - 3):
            raise ValueError(f"spin is {self.spin} in a scene of dimension {d}; allowed: {'one rate' if d == 2 else 'three rates'}, or []")
        return self

    def make(self, given: Context) -> Body:
        return Body(shape=self.shape.make(given), velocity=tuple(self.velocity), spin=tuple(self.spin))


class SolidTable(Table):
    name: Name = "solid"
    shape: AnyShape
    hollow: bool = False
    walls: Kind = "separating"
    motion: AnyMotion | None = None

    def make(self, given: Context) -> Solid:
        shape = self.shape.make(given)
        motion = Still() if self.motion is None else self.motion.make()
        return Solid(name=self.name, shape=~shape if self.hollow else shape, walls=self.walls, motion=motion)


class InflowTable(SpanTable):
    name: Name = "inflow"
    shape: AnyShape
    velocity: Vector

    def make(self, given: Context) -> Inflow:
        return Inflow(name=self.name, shape=self.shape.make(given), velocity=tuple(self.velocity), start=self.start, end=self.end)


class OutflowTable(SpanTable):
    name: Name = "outflow"
    shape: AnyShape

    def make(self, given: Context) -> Outflow:
        return Outflow(name=self.name, shape=self.shape.make(given), start=self.start, end=self.end)


class SidesTable(Table):
    left: Side = "separating"
    right: Side = "separating"
    bottom: Side = "separating"
    top: Side = "separating"
    back: Side = "separating"
    front: Side = "separating"

    def make(self) -> tuple[Side, ...]:
        return self.left, self.right, self.bottom, self.top, self.back, self.front


def known_solver(value: str) -> str:
    from unstick.pressure.splitting.table import KNOWN

    if value not in KNOWN:
        raise ValueError(f"{value[:80]!r} given{nearest(value, KNOWN)}; allowed: {', '.join(KNOWN)}")
    return value


_STANDARD = Numerics()


class NumericsTable(Table):
    transfer: Literal["apic", "flip", "pic", "semi-lagrangian"] = "apic"
    flip: Annotated[float, Field(ge=0.0, le=1.0)] = _STANDARD.flip
    surface: Literal["particles", "level-set"] = "particles"
    paths: Literal["rk2", "rk3"] = "rk3"
    particles_per_axis: Annotated[int, Field(ge=1, le=6)] = _STANDARD.particles_per_axis
    jitter: Annotated[float, Field(ge=0.0, le=1.0)] = _STANDARD.jitter
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = _STANDARD.seed
    mirror: Literal["", "x"] = ""
    reseed: bool = _STANDARD.reseed
    volume_source: bool = _STANDARD.volume_source
    cfl: Annotated[float, Field(gt=0.0, le=20.0)] = _STANDARD.cfl
    impact: Annotated[float, Field(gt=0.0, le=20.0)] = _STANDARD.impact
    theta_min: Annotated[float, Field(gt=0.0, le=1.0)] = _STANDARD.theta_min
    solver: Annotated[str, AfterValidator(known_solver)] = _STANDARD.solver
    tolerance: Annotated[float, Field(gt=0.0, lt=1.0)] = _STANDARD.tolerance

    def make(self) -> Numerics:
        return Numerics(**self.model_dump())


class SceneConfig(Table):
    """A whole scene file."""

    scene: SceneTable
    gravity: GravityTable = GravityTable(value=[0.0, -9.81, 0.0])
    liquid: Annotated[list[LiquidTable], Field(max_length=MOST_ENTRIES)] = EMPTY
    solid: Annotated[list[SolidTable], Field(max_length=MOST_ENTRIES)] = EMPTY
    inflow: Annotated[list[InflowTable], Field(max_length=MOST_ENTRIES)] = EMPTY
    outflow: Annotated[list[OutflowTable], Field(max_length=MOST_ENTRIES)] = EMPTY
    body: Annotated[list[BodyTable], Field(max_length=MOST_ENTRIES)] = EMPTY
    bodies: BodiesTable | None = None
    sides: SidesTable = SidesTable()
    numerics: NumericsTable = NumericsTable()
    smoke: SmokeTable | None = None
    source: Annotated[list[SourceTable], Field(max_length=MOST_ENTRIES)] = EMPTY

    @model_validator(mode="after")
    def _holds_a_liquid_or_a_gas(self) -> SceneConfig:
        sides = self.sides.make()[: 2 * self.scene.dimension]
        if self.smoke is None:
            if self.source:
                raise ValueError("source given without smoke; allowed: sources of smoke in a scene with a [smoke] table")
            if "open" in self.sides.make():
                raise ValueError("an open side given without smoke; allowed: separating, sticking, and for liquid to leave an outflow")
            return self
        if self.liquid or self.outflow:
            raise ValueError("smoke given with liquid or an outflow; allowed: gas alone, which fills the domain and leaves by open sides")
        if self.inflow and "open" not in sides:
            raise ValueError("an inflow given in a closed box of gas; allowed: one with an open side, else the gas has nowhere to go")
        tables: tuple[Table, ...] = (self.sides, *self.solid, *self.body, *([] if self.bodies is None else [self.bodies]))
        if any(getattr(table, key) == "separating" for table in tables for key in table.model_fields_set):
            raise ValueError("separating walls given with smoke; allowed: sticking, or open for a side. A gas does not let go of a wall")
        return self

    def make(self, given: Context) -> Scene:
        head = self.scene
        scene = Scene(
            name=head.name,
            about=head.about,
            grid=box_grid(tuple(head.size), head.resolution),
            liquid=tuple(entry.make(given) for entry in self.liquid),
            solids=tuple(entry.make(given) for entry in self.solid),
            inflows=tuple(entry.make(given) for entry in self.inflow),
            outflows=tuple(entry.make(given) for entry in self.outflow),
            bodies=tuple(entry.make(given) for entry in self.body),
            mjcf=None if self.bodies is None else self.bodies.make(given),
            sides=self.sides.make(),
            gravity=self.gravity.make(),
            density=head.density,
            frames=head.frames,
            frame_time=head.frame_time,
            numerics=self.numerics.make(),
            smoke=None if self.smoke is None else self.smoke.make(tuple(entry.make(given) for entry in self.source)),
        )
        return scene if scene.smoke is None else with_walls(scene, "sticking")


TOP_TABLES: dict[str, type[Table]] = {
    "scene": SceneTable,
    "gravity": GravityTable,
    "liquid": LiquidTable,
    "solid": SolidTable,
    "inflow": InflowTable,
    "outflow": OutflowTable,
    "body": BodyTable,
    "bodies": BodiesTable,
    "sides": SidesTable,
    "numerics": NumericsTable,
    "smoke": SmokeTable,
    "source": SourceTable,
}
