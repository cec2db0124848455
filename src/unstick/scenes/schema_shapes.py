"""The tables of shapes: `type` says which, and every table makes the shape of that name."""

from __future__ import annotations

import abc
import functools
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, model_validator

from unstick.geometry import shapes
from unstick.geometry.mesh import MeshShape
from unstick.geometry.rounded import Cylinder, Ellipsoid
from unstick.geometry.shapes import Shape
from unstick.geometry.surfaces import Surface
from unstick.geometry.triangles import Hare
from unstick.scenes.schema_base import ALONG_Z, EMPTY, MOST_ENTRIES, Context, Number, Positive, Table, Vector, Vector3, context

MOST_DEEP = 200  # shapes within each other, each part of a union counted


class ShapeTable(Table, abc.ABC):
    @abc.abstractmethod
    def make(self, given: Context) -> Shape:
        """The shape; raises ValueError if there is none like that."""

    @model_validator(mode="after")
    def _can_be_made(self, info: ValidationInfo) -> ShapeTable:
        if depth(self.make(context(info))) > MOST_DEEP:
            raise ValueError(f"shapes lie more than {MOST_DEEP} deep within each other; allowed: {MOST_DEEP}, each part of a list counted")
        return self


class SphereTable(ShapeTable):
    """A circle in 2D."""

    type: Literal["sphere"]
    centre: Vector
    radius: Positive

    def make(self, given: Context) -> Shape:
        return shapes.Sphere(tuple(self.centre), self.radius)


class BoxTable(ShapeTable):
    """All points between two opposite corners."""

    type: Literal["box"]
    lower: Vector
    upper: Vector

    def make(self, given: Context) -> Shape:
        return shapes.Box(tuple(self.lower), tuple(self.upper))


class CapsuleTable(ShapeTable):
    """All points within `radius` of a segment."""

    type: Literal["capsule"]
    start: Vector
    end: Vector
    radius: Positive

    def make(self, given: Context) -> Shape:
        return shapes.Capsule(tuple(self.start), tuple(self.end), self.radius)


class EllipsoidTable(ShapeTable):
    """Semi-axes along x, y(, z); an ellipse in 2D."""

    type: Literal["ellipsoid"]
    centre: Vector
    semi_axes: Annotated[list[Positive], Field(max_length=3)]

    def make(self, given: Context) -> Shape:
        return Ellipsoid(tuple(self.centre), tuple(self.semi_axes))


class CylinderTable(ShapeTable):
    """All points within `radius` of a segment, between its ends; in 3D."""

    type: Literal["cylinder"]
    start: Vector
    end: Vector
    radius: Positive

    def make(self, given: Context) -> Shape:
        return Cylinder(tuple(self.start), tuple(self.end), self.radius)


class HareTable(ShapeTable):
    """A figure with two ears, a closed concave mesh made by code, in 3D; `size` is its height."""

    type: Literal["hare"]
    centre: Vector
    size: Positive

    def make(self, given: Context) -> Shape:
        if given.dimension == 2:
            raise ValueError("a hare given in a scene of dimension 2; allowed: meshes in 3D")
        return Hare(tuple(self.centre), self.size, given.spacing)


class PlaneTable(ShapeTable):
    """All points behind a plane; `normal` points out of the shape."""

    type: Literal["plane"]
    point: Vector
    normal: Vector

    def make(self, given: Context) -> Shape:
        return shapes.Plane(tuple(self.point), tuple(self.normal))


class SurfaceTable(ShapeTable):
    """All points below a height: level + slope . (x[, z]) + amplitude cos(2 pi (x - start) / wavelength)."""

    type: Literal["surface"]
    level: Number
    slope: Annotated[list[Number], Field(max_length=2)] = EMPTY
    amplitude: Number = 0.0
    wavelength: Positive = 1.0
    start: Number = 0.0

    def make(self, given: Context) -> Shape:
        return Surface(self.level, tuple(self.slope), self.amplitude, self.wavelength, self.start)


class MeshTable(ShapeTable):
    """What a closed triangle mesh encloses (STL, OBJ, PLY), in 3D; `file` is relative to the scene file."""

    type: Literal["mesh"]
    file: Annotated[str, Field(min_length=1, max_length=1000)]
    scale: Positive = 1.0
    centre: Annotated[list[Number], Field(max_length=3)] = EMPTY

    def make(self, given: Context) -> Shape:
        if given.dimension == 2:
            raise ValueError("a mesh given in a scene of dimension 2; allowed: meshes in 3D")
        shape = MeshShape(str(given.folder / self.file), self.scale, tuple(self.centre), given.spacing)
        shape.triangles()
        return shape


class PartsTable(ShapeTable, abc.ABC):
    parts: Annotated[list[AnyShape], Field(min_length=1, max_length=MOST_ENTRIES)]

    def _made(self, given: Context) -> list[Shape]:
        return [part.make(given) for part in self.parts]


class UnionTable(PartsTable):
    """What is in any of its parts."""

    type: Literal["union"]

    def make(self, given: Context) -> Shape:
        return functools.reduce(shapes.Union, self._made(given))


class IntersectionTable(PartsTable):
    """What is in all of its parts."""

    type: Literal["intersection"]

    def make(self, given: Context) -> Shape:
        return functools.reduce(shapes.Intersection, self._made(given))


class DifferenceTable(PartsTable):
    """What is in the first part and in none of the others."""

    type: Literal["difference"]

    def make(self, given: Context) -> Shape:
        return functools.reduce(shapes.Difference, self._made(given))


class OneTable(ShapeTable, abc.ABC):
    shape: AnyShape


class ComplementTable(OneTable):
    """Everything that is not in the shape."""

    type: Literal["complement"]

    def make(self, given: Context) -> Shape:
        return shapes.Complement(self.shape.make(given))


class ShellTable(OneTable):
    """All points within half of `thickness` of the shape's surface."""

    type: Literal["shell"]
    thickness: Positive

    def make(self, given: Context) -> Shape:
        return shapes.Shell(self.shape.make(given), self.thickness)


class TranslateTable(OneTable):
    """The shape, moved by `offset`."""

    type: Literal["translate"]
    offset: Vector

    def make(self, given: Context) -> Shape:
        return shapes.Translate(self.shape.make(given), tuple(self.offset))


class RotateTable(OneTable):
    """The shape, turned by `angle` (radians) about `axis` through `centre` (the origin if not given)."""

    type: Literal["rotate"]
    angle: Number
    axis: Vector3 = ALONG_Z
    centre: Vector | None = None

    def make(self, given: Context) -> Shape:
        shape = self.shape.make(given)
        if self.centre is None:
            return shapes.Rotate(shape, self.angle, tuple(self.axis))
        return shape.rotate(self.angle, self.axis, self.centre)


class ScaleTable(OneTable):
    """The shape, stretched by `factor` about the origin."""

    type: Literal["scale"]
    factor: Positive

    def make(self, given: Context) -> Shape:
        return shapes.Scale(self.shape.make(given), self.factor)


AnyShape = Annotated[
    SphereTable
    | BoxTable
    | CapsuleTable
    | EllipsoidTable
    | CylinderTable
    | HareTable
    | PlaneTable
    | SurfaceTable
    | MeshTable
    | UnionTable
    | IntersectionTable
    | DifferenceTable
    | ComplementTable
    | ShellTable
    | TranslateTable
    | RotateTable
    | ScaleTable,
    Field(discriminator="type"),
]

SHAPE_TABLES: dict[str, type[ShapeTable]] = {
    "sphere": SphereTable,
    "box": BoxTable,
    "capsule": CapsuleTable,
    "ellipsoid": EllipsoidTable,
    "cylinder": CylinderTable,
    "hare": HareTable,
    "plane": PlaneTable,
    "surface": SurfaceTable,
    "mesh": MeshTable,
    "union": UnionTable,
    "intersection": IntersectionTable,
    "difference": DifferenceTable,
    "complement": ComplementTable,
    "shell": ShellTable,
    "translate": TranslateTable,
    "rotate": RotateTable,
    "scale": ScaleTable,
}
for _table in SHAPE_TABLES.values():
    _table.model_rebuild()


def depth(shape: Shape) -> int:
    """How many shapes lie within each other at most."""
    most, rows = 0, [(shape, 1)]
    while rows:
        here, level = rows.pop()
        most = max(most, level)
        for name in ("shape", "first", "second"):
            part = getattr(here, name, None)
            if isinstance(part, Shape):
                rows.append((part, level + 1))
    return most
