"""Scene files: what they may say, and one line for everything that is wrong."""

import dataclasses
import re
from pathlib import Path
from typing import get_args

import pytest

from unstick.geometry.mesh import MeshShape
from unstick.geometry.motion import Keyframes, Rotation, Together, Translation
from unstick.geometry.shapes import Complement, Intersection, Rotate, Sphere, Union
from unstick.liquid.scene import Numerics
from unstick.scenes import SCENES, SceneError, load, to_toml
from unstick.scenes.schema import TOP_TABLES, NumericsTable, SceneConfig
from unstick.scenes.schema_motions import MOTION_TABLES
from unstick.scenes.schema_shapes import SHAPE_TABLES
from unstick.scenes.words import WORDS

GOOD = """
[scene]
dimension = 2
size = [1, 1]
resolution = 32

[[liquid]]
shape = { type = "plane", point = [0.5, 0.5], normal = [0, 1] }

[[solid]]
name = "stone"
walls = "sticking"
shape = { type = "sphere", centre = [0.5, 0.5], radius = 0.2 }
"""


def write(tmp_path, text, name="pool.toml"):
    path = tmp_path / name
    path.write_text(text)
    return path


def errors(tmp_path, text):
    with pytest.raises(SceneError) as caught:
        load(write(tmp_path, text))
    found = str(caught.value).splitlines()
    assert all(line.startswith("pool.toml: ") for line in found)
    return [line.removeprefix("pool.toml: ") for line in found]


def test_a_short_file_is_a_scene(tmp_path):
    scene = load(write(tmp_path, GOOD))
    assert scene.name == "pool" and scene.grid.shape == (32, 32) and scene.frames == 100
    assert scene.solids[0].shape == Sphere((0.5, 0.5), 0.2) and scene.solids[0].walls == "sticking"
    assert scene.numerics == Numerics()
    changed = load(tmp_path / "pool.toml", resolution=64, walls="separating", sets=["numerics.flip=0.5", "solid.0.name=ball"], frames=3)
    assert changed.grid.shape == (64, 64) and changed.solids[0].walls == "separating" and changed.frames == 3
    assert changed.numerics.flip == 0.5 and changed.solids[0].name == "ball"


def test_the_file_in_the_docs_is_a_scene(tmp_path):
    page = (Path(__file__).parent.parent / "docs" / "scenes.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    scene = load(write(tmp_path, text))
    assert scene.grid.shape == (64, 32) and isinstance(scene.solids[0].shape, Complement) and scene.solids[0].motion.moves


def test_shapes_and_motions_in_files(tmp_path):
    text = (
        GOOD
        + """
hollow = true
[solid.motion]
type = "together"
motions = [{ type = "rotation", centre = [0.5, 0.5], rate = 2 }, { type = "translation", velocity = [1, 0], end = 2 }]
[[solid]]
[solid.shape]
type = "intersection"
parts = [
    { type = "union", parts = [{ type = "sphere", centre = [0, 0], radius = 1 }, { type = "box", lower = [0, 0], upper = [1, 1] }] },
    { type = "rotate", angle = 1, shape = { type = "capsule", start = [0, 0], end = [1, 0], radius = 0.1 } },
]
[solid.motion]
type = "keyframes"
times = [0, 1]
shifts = [[0, 0], [0, 1]]
"""
    )
    first, second = load(write(tmp_path, text)).solids
    assert isinstance(first.shape, Complement)
    assert first.motion == Together((Rotation((0.5, 0.5), 2.0), Translation((1.0, 0.0), 0.0, 2.0)))
    assert isinstance(second.shape, Intersection) and isinstance(second.shape.first, Union) and isinstance(second.shape.second, Rotate)
    assert second.motion == Keyframes((0.0, 1.0), ((0.0, 0.0), (0.0, 1.0)))


def test_a_file_may_extend_a_scene(tmp_path):
    text = """
extends = "still-tank"
options = { height = 0.3 }
[scene]
resolution = 20
[numerics]
surface = "level-set"
[[solid]]
shape = { type = "box", lower = [0.4, -1], upper = [0.6, 0.2] }
"""
    scene, base = load(write(tmp_path, text)), SCENES["still-tank"](20, height=0.3)
    assert scene.name == "pool" and scene.liquid == base.liquid and scene.grid == base.grid
    assert len(scene.solids) == 1 and scene.numerics == dataclasses.replace(base.numerics, surface="level-set")
    for wrong, words in (
        ('extends = "still-tnk"', "did you mean still-tank"),
        ("extends = 3", "there is no scene 3"),
        ("options = { height = 0.3 }\n" + GOOD, "without extends"),
        ('extends = "still-tank"\noptions = { hight = 0.3 }', "allowed for still-tank: dimension, height, slant"),
        ('extends = "still-tank"\noptions = { height = 3.0 }', "between 0 and 1"),
    ):
        with pytest.raises(SceneError, match=words):
            load(write(tmp_path, wrong))


def test_all_errors_come_at_once_each_with_its_place(tmp_path):
    text = """
extnds = "sphere"
[scene]
dimension = 2
size = [1.0, 1.0]
resolution = "64"
frame_tme = 0.1
[[liquid]]
shape = { type = "sphre", centre = [0.5, 0.5], radius = 0.1 }
[[liquid]]
shape = { type = "box", lower = [0.5, 0.5], upper = [0.1, 0.6] }
[[solid]]
walls = "stiking"
shape = { type = "sphere", centre = [0.5, 0.5, 0.5], radius = -1 }
[[solid]]
shape = { type = "translate", offset = [1, nan], shape = { type = "sphere", center = [0.5, 0.5], radius = 0.1 } }
motion = { type = "keyframes", times = [0.0], shifts = [[0.0, true]] }
[[solid]]
shape = "sphere"
[[inflow]]
shape = { centre = [0, 0], radius = 1 }
velocity = [1]
[numerics]
flip = 1.5
solver = "newtn"
seed = 1.5
"""
    found = errors(tmp_path, text)
    for wanted in (
        "scene.resolution: '64' given; allowed: a whole number",
        "scene.frame_tme: unknown key (did you mean frame_time?)",
        "liquid.0.shape.type: 'sphre' given (did you mean sphere?)",
        "liquid.1.shape: the box goes from",
        "solid.0.walls: 'stiking' given (did you mean sticking?); allowed: separating, sticking",
        "solid.0.shape.centre: [0.5, 0.5, 0.5] given; allowed: 2 numbers",
        "solid.0.shape.radius: -1 given; allowed: more than 0",
        "solid.1.shape.offset.1: nan given; allowed: a finite number",
        "solid.1.shape.shape.center: unknown key (did you mean centre?); known here: type, centre, radius",
        "solid.1.shape.shape.centre: missing",
        "solid.1.motion.times: 1 entries given; allowed: at least 2",
        "solid.1.motion.shifts.0.1: true given; allowed: a number",
        "solid.2.shape: 'sphere' given; allowed: a table",
        "inflow.0.shape: a table given; allowed: a table with a type",
        "inflow.0.velocity: [1.0] given; allowed: 2 numbers",
        "numerics.flip: 1.5 given; allowed: at most 1",
        "numerics.solver: 'newtn' given (did you mean newton?)",
        "numerics.seed: 1.5 given; allowed: a whole number",
        "extnds: unknown key (did you mean extends?)",
    ):
        assert any(line.startswith(wanted) for line in found), wanted
    assert len(found) == 19


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[scene]\nsize = [1, 1\nx", r"line 3, column 1: .+"),
        ("[scene", r"(line 1, column 7|at its end): .+"),
        ("a = 1\na = 2\n", r"line 2, column \d+: .+"),
        ("x = " + "9" * 5000, r"has numbers of thousands of digits.*"),
        ("x = " + "[" * 3000, r"has numbers.*|.*deep.*|.*end.*"),
        ("x = " + "[" * 80 + "]" * 80, "more than 60 tables within each other.*"),
        ("", "scene.name: missing|scene: missing|scene.dimension: missing"),
        ("scene = 3", "scene: 3 given; allowed: a table"),
        (GOOD.replace("size = [1, 1]", "size = [1, 1, 1]"), "scene: size is .* in a scene of dimension 2.*"),
        (GOOD.replace("size = [1, 1]", "size = [1, 0.01]"), "scene: a domain of 1 x 0.01 m with 32 cells.*"),
        (GOOD.replace("resolution = 32", "resolution = 100000"), "scene.resolution: 100000 given; allowed: at most 8192"),
        (
            GOOD + "\nmotion = { type = 'rotation', centre = [0, 0], rate = 1, axis = [1, 0, 0] }",
            "solid.0.motion: the axis .* dimension 2.*",
        ),
        (GOOD + "\n[gravity]\nvalue = [0, 1]\ntimes = [1]", "gravity: value and times given.*"),
        (GOOD + "\n[gravity]\ntimes = [1, 0]\nvalues = [[0, 1], [0, 1]]", "gravity: times .* increasing.*"),
        (
            GOOD + "\n[[outflow]]\nstart = 3\nend = 1\nshape = { type = 'sphere', centre = [0, 0], radius = 1 }",
            "outflow.0: start 3.0 and end.*",
        ),
        (GOOD.replace('type = "sphere"', "type = 3"), "solid.0.shape.type: 3 given.*"),
    ],
)
def test_wrong_files_are_told_what_is_wrong_and_where(tmp_path, text, line):
    found = errors(tmp_path, text)
    assert re.fullmatch(line, found[0]), found


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "latin.toml").write_bytes(b'x = "\xe9"')
    (tmp_path / "large.toml").write_text("# " * 600_000)
    for path, words in (
        (tmp_path / "none.toml", "No such file"),
        (tmp_path, "directory"),
        (tmp_path / "latin.toml", "UTF-8"),
        (tmp_path / "large.toml", "at most"),
        ("\0.toml", "no file name"),
    ):
        with pytest.raises(SceneError, match=words):
            load(path)
    with pytest.raises(SceneError, match=r"there is no scene 'spere' \(did you mean sphere\?\)"):
        load("spere")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("numerics.flip", "KEY=VALUE"),
        ("=3", "KEY=VALUE"),
        ("numerics.flp=3", "did you mean flip"),
        ("numerics.flip=3", "sphere: numerics.flip: 3 given; allowed: at most 1"),
        ("solid.3.walls=sticking", "no entry 3; the list has 1"),
        ("solid.x.walls=sticking", "no entry x"),
        ("scene.name.x=3", "scene.name is a value, not a table"),
        ("solid.0.shape.radius.x.y=3", "is a value, not a table"),
        ("flp=3", "did you mean flip"),
        ("scene.frames=1\n2", "whole number"),
    ],
)
def test_sets_that_set_nothing(text, words):
    with pytest.raises(SceneError, match=words):
        load("sphere", sets=[text])


def test_sets_change_named_scenes():
    assert load("sphere", sets=["numerics.flip=0.5", "transfer=flip", "gravity.value=[1, 2, 3]"]).gravity.values == ((1.0, 2.0, 3.0),)
    assert load("still-tank", sets=["height=0.25"]).liquid[0].shape.level == 0.25
    assert load("still-tank", sets=["seed=3"], resolution=16, walls="sticking", frames=2) == SCENES["still-tank"](
        16, walls="sticking", frames=2, seed=3
    )


def test_a_mesh_is_found_beside_its_file_and_a_holed_one_is_an_error_of_the_file(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    ball = trimesh.creation.icosphere(2, 0.2)
    ball.export(tmp_path / "ball.stl")
    trimesh.Trimesh(ball.vertices, ball.faces[1:], process=False).export(tmp_path / "holed.stl")
    text = GOOD.replace("dimension = 2", "dimension = 3").replace("size = [1, 1]", "size = [1, 1, 1]")
    text = text.replace('"plane", point = [0.5, 0.5], normal = [0, 1]', '"plane", point = [0.5, 0.5, 0], normal = [0, 1, 0]')
    mesh = text.replace('"sphere", centre = [0.5, 0.5], radius = 0.2', '"mesh", file = "ball.stl", scale = 2, centre = [0.5, 0.5, 0.5]')
    scene = load(write(tmp_path, mesh))
    assert scene.solids[0].shape == MeshShape(str(tmp_path / "ball.stl"), 2.0, (0.5, 0.5, 0.5))
    assert scene.solids[0].shape.spacing == 1 / 32
    assert load(write(tmp_path, to_toml(scene))) == scene
    assert re.fullmatch(r"solid.0.shape: the mesh .*holed.stl has holes: 3 of its .*", errors(tmp_path, mesh.replace("ball", "holed"))[0])
    assert "no mesh file" in errors(tmp_path, mesh.replace("ball", "nothing"))[0]


def test_the_schema_has_every_field_of_the_numerics_with_its_default():
    fields = {entry.name: entry.default for entry in dataclasses.fields(Numerics)}
    assert {name: entry.default for name, entry in NumericsTable.model_fields.items()} == fields
    from unstick.liquid.advect import PATHS
    from unstick.liquid.surface import SURFACES
    from unstick.liquid.transfer import TRANSFERS

    for key, table in (("transfer", TRANSFERS), ("surface", SURFACES), ("paths", PATHS)):
        assert set(get_args(NumericsTable.model_fields[key].annotation)) == set(table)


def test_every_key_and_every_type_has_its_words_in_the_docs():
    page = (Path(__file__).parent.parent / "docs" / "scenes.md").read_text(encoding="utf-8")
    for name, table in {**TOP_TABLES, **SHAPE_TABLES, **MOTION_TABLES}.items():
        assert f"`{name}`" in page or f"[{name}]" in page, name
        for key in table.model_fields:
            assert f"`{key}`" in page, f"{name}.{key}"
    for key in ("scene", "numerics"):
        for name in TOP_TABLES[key].model_fields:
            assert f"{key}.{name}" in WORDS
    assert set(SceneConfig.model_fields) == set(TOP_TABLES)
    for name in SCENES:
        assert f"`{name}`" in page, name
