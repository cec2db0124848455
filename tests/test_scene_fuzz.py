"""Broken scene files: each is a scene or a SceneError, quickly, and never anything else."""

import random
import re
import time

import pytest

from unstick.scenes import SCENES, SceneError, load, to_toml
from unstick.scenes.read import read_tables, scene_from

# fmt: off
VALUES = [
    "0", "-1", "1", "2", "3", "1e-320", "-1e308", "1e400", "nan", "-nan", "inf", "-inf", "9223372036854775808", "1" + "0" * 400, "0x7f",
    "0x" + "f" * 5000,
    "true", "false", '""', '"sphere"', '"\\u0000"', "'" + "x" * 3000 + "'", "[]", "[[]]", "[nan, 1]", "[1, 2, 3, 4, 5]", "{}",
    "[" * 50 + "]" * 50, "[" + ", ".join(["1"] * 2000) + "]", "1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", '"""a\nb"""',
    '{ type = "sphere" }', '{ type = "mesh", file = "/dev/null" }', '{ type = "mesh", file = "../../etc/passwd.stl" }',
    '{ type = "union", parts = [] }', '{ type = ["sphere"] }', "{ type = {} }",
    '{ type = "complement", shape = { type = "complement", shape = { type = "sphere", centre = [0, 0], radius = 1 } } }',
]
# fmt: on
KEYS = ["type", "shape", "parts", "motion", "x", "resolution", "size", "centre", '""', "walls", "a.b", "times"]
GARBAGE = [
    "\0",
    "é",
    "[[",
    "]]",
    "=",
    '"',
    "'''",
    "#",
    "\n",
    "[solid]",
    "[[scene]]",
    "[scene.size.x]",
    ",",
    "{",
    "}",
    ".",
    "-",
    "1e",
    "\x7f",
    "\u2028",
]


EVERYTHING = """
[scene]
dimension = 3
size = [1, 0.5, 0.5]
resolution = 32
[gravity]
times = [0, 1, 2]
values = [[0, -9.81, 0], [0, 0, 0], [1, 2, 3]]
[[liquid]]
velocity = [1, 0, 0]
spin = [0, 0, 1]
shape = { type = "shell", thickness = 0.1, shape = { type = "capsule", start = [0, 0, 0], end = [1, 0, 0], radius = 0.2 } }
[[solid]]
hollow = true
[solid.shape]
type = "translate"
offset = [0, 1, 0]
shape = { type = "rotate", angle = 1, axis = [1, 2, 3], shape = { type = "scale", factor = 2, shape = { type = "union", parts = [
    { type = "plane", point = [0, 0, 0], normal = [0, 1, 0] },
    { type = "sphere", centre = [0, 0, 0], radius = 1 },
] } } }
[solid.motion]
type = "together"
motions = [
    { type = "rotation", centre = [0, 0, 0], rate = 1, axis = [1, 0, 0], frequency = 2, start = 1, end = 3 },
    { type = "translation", velocity = [1, 0, 0], start = 0, end = inf },
    { type = "oscillation", amplitude = [1, 0, 0], frequency = 1, phase = 0.5 },
    { type = "keyframes", times = [0, 1, 2], shifts = [[0, 0, 0], [1, 0, 0], [2, 0, 0]], angles = [0, 1, 0], centre = [0, 0, 0] },
]
[[inflow]]
velocity = [1, 0, 0]
start = 0
end = 2
shape = { type = "box", lower = [0, 0, 0], upper = [1, 1, 1] }
[[outflow]]
shape = { type = "surface", level = 0.1, slope = [0.1, 0.2], amplitude = 0.1, wavelength = 2 }
[sides]
left = "sticking"
[numerics]
seed = 3
"""


def mutated(text, rng):
    """The text after one to four changes."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        lines = text.split("\n")
        at = rng.randrange(len(lines))
        kind = rng.randrange(9)
        if kind == 0:
            del lines[at]
        elif kind == 1:
            lines.insert(at, rng.choice(lines))
        elif kind == 2 and "=" in lines[at]:
            lines[at] = lines[at].split("=")[0] + "= " + rng.choice(VALUES)
        elif kind == 3:
            numbers = list(re.finditer(r"-?\d+(\.\d+)?", lines[at]))
            if numbers:
                found = rng.choice(numbers)
                lines[at] = lines[at][: found.start()] + rng.choice(VALUES) + lines[at][found.end() :]
        elif kind == 4:
            words = list(re.finditer(r"[A-Za-z_]+", lines[at]))
            if words:
                found = rng.choice(words)
                word = rng.choice((rng.choice(KEYS), found[0][::-1], found[0][:-1], found[0] + "s", found[0].upper()))
                lines[at] = lines[at][: found.start()] + word + lines[at][found.end() :]
        elif kind == 5:
            place = rng.randrange(len(lines[at]) + 1)
            lines[at] = lines[at][:place] + rng.choice(GARBAGE) + lines[at][place:]
        elif kind == 6:
            lines.insert(at, f"{rng.choice(KEYS)} = {rng.choice(VALUES)}")
        elif kind == 7:
            other = rng.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        else:
            quoted = list(re.finditer(r'"[a-z-]+"', lines[at]))
            if quoted:
                found = rng.choice(quoted)
                lines[at] = lines[at][: found.start()] + rng.choice(VALUES) + lines[at][found.end() :]
        text = "\n".join(lines)
    return text


def survive(tmp_path, count, seed):
    rng = random.Random(seed)
    sources = [to_toml(SCENES[name]()) for name in SCENES]
    sources += [EVERYTHING] * 5
    sources.append('extends = "still-tank"\noptions = { height = 0.3 }\n[scene]\nresolution = 20\n[numerics]\nflip = 0.5\n')
    path = tmp_path / "broken.toml"
    made, slowest, refusals = 0, 0.0, []
    for _ in range(count):
        text = mutated(rng.choice(sources), rng)
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        start = time.perf_counter()
        try:
            scene = load(path)
        except SceneError as error:
            refusals += [(text, line) for line in str(error).split("\n")]
        else:
            made += 1
            assert scene_from(read_again(tmp_path, scene), "again") == scene, text
        slowest = max(slowest, time.perf_counter() - start)
    assert slowest < 2.0
    for text, line in refusals:
        assert line.startswith("broken.toml: ") and len(line) < 2000, (line, text)
    return made


def read_again(tmp_path, scene):
    path = tmp_path / "again.toml"
    path.write_text(to_toml(scene), encoding="utf-8")
    return read_tables(path)


def test_two_thousand_broken_files_are_scenes_or_are_refused(tmp_path):
    made = survive(tmp_path, 2000, 2)
    assert 200 < made < 1800


def test_random_bytes_are_refused(tmp_path):
    rng = random.Random(3)
    path = tmp_path / "broken.toml"
    for size in (0, 1, 10, 1000):
        for _ in range(10):
            path.write_bytes(rng.randbytes(size))
            with pytest.raises(SceneError, match="broken"):
                load(path)
