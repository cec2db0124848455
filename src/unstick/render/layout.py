"""Panels put together: a label on each, the time, and what the colours mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from unstick.grid import Array
from unstick.render.colours import ORANGE, Scale
from unstick.render.extras import need

INK, FAINT = (38, 40, 44), (110, 113, 118)


@dataclass(frozen=True, slots=True)
class Layout:
    """Where things stand on a page of panels of one size, all in pixels."""

    panel: tuple[int, int]
    count: int

    @property
    def unit(self) -> float:
        """Grows with the panels; text is 1.6 units high."""
        return max(6.0, min(self.panel[1], 1.2 * self.panel[0]) / 60)

    @property
    def pad(self) -> int:
        return round(1.2 * self.unit)

    @property
    def head(self) -> int:
        return round(3.6 * self.unit)

    @property
    def foot(self) -> int:
        return round(3.4 * self.unit)

    @property
    def size(self) -> tuple[int, int]:
        """Even, as films want it."""
        width = self.count * self.panel[0] + (self.count + 1) * self.pad
        height = self.panel[1] + self.head + self.foot
        return width + width % 2, height + height % 2

    def corner(self, index: int) -> tuple[int, int]:
        return self.pad + index * (self.panel[0] + self.pad), self.head


def compose(
    panels: Sequence[Array],
    labels: Sequence[str],
    time: float,
    scale: Scale | None,
    marks: bool,
    ground: tuple[int, int, int] = (255, 255, 255),
) -> Array:
    """The page, uint8 (height, width, 3). `scale` and `marks` say which legends to draw."""
    layout = Layout((panels[0].shape[1], panels[0].shape[0]), len(panels))
    images, draws = need("PIL.Image", "a picture"), need("PIL.ImageDraw", "a picture")
    page = images.new("RGB", layout.size, ground)
    draw = draws.Draw(page)
    many = len(panels) > 1
    for index, (panel, label) in enumerate(zip(panels, labels, strict=True)):
        x, y = layout.corner(index)
        page.paste(images.fromarray(panel), (x, y))
        at = x + (layout.panel[0] if many else layout.unit) / 2, layout.head / 2
        draw.text(at, label, font=font(1.9 * layout.unit, bold=True), fill=INK, anchor="mm" if many else "lm")
    stamp(draw, layout, time)
    free = layout.pad + layout.unit / 2
    if scale is not None:
        free = bar(page, draw, layout, scale, free)
    if marks:
        legend(draw, layout, free)
    return np.asarray(page)


def stamp(draw: Any, layout: Layout, time: float) -> None:
    """The time at the lower right."""
    x, y = layout.size[0] - layout.pad - layout.unit / 2, layout.size[1] - layout.foot / 2
    draw.text((x, y), f"{time:.2f} s", font=font(1.7 * layout.unit), fill=INK, anchor="rm")


def bar(page: Any, draw: Any, layout: Layout, scale: Scale, x: float) -> float:
    """The colours with the numbers at their ends; returns where the next thing may stand."""
    images, small, y = need("PIL.Image", "a picture"), font(1.5 * layout.unit), layout.size[1] - layout.foot / 2
    wide, high = round(12 * layout.unit), round(1.1 * layout.unit)
    word, unit = scale.label.split(", ")
    low, high_end = f"{scale.low:g}", f"{scale.high:g} {unit}"
    for text, colour in ((word, FAINT), (low.replace("-", "−"), INK)):
        draw.text((x, y), text, font=small, fill=colour, anchor="lm")
        x += small.getlength(text) + 0.8 * layout.unit
    values = np.interp(np.linspace(0, 1, wide), (0, 0.5, 1), (scale.low, scale.middle, scale.high))
    ramp = np.repeat(np.rint(scale.colours(values)).astype(np.uint8)[None], high, axis=0)
    page.paste(images.fromarray(ramp), (round(x), round(y - high / 2)))
    if scale.low < 0 < scale.high:
        draw.line((x + wide / 2, y - high / 2, x + wide / 2, y + high / 2), fill=INK)
    x += wide + 0.8 * layout.unit
    draw.text((x, y), high_end, font=small, fill=INK, anchor="lm")
    return x + float(small.getlength(high_end)) + 2.4 * layout.unit


def legend(draw: Any, layout: Layout, x: float) -> None:
    y, small = layout.size[1] - layout.foot / 2, font(1.5 * layout.unit)
    text = "lets go of the wall"
    if x + 2.6 * layout.unit + small.getlength(text) > layout.size[0] - layout.pad - 8 * layout.unit:
        return  # too narrow a page
    draw.line((x, y, x + 1.8 * layout.unit, y), fill=ORANGE, width=max(3, round(0.5 * layout.unit)))
    draw.text((x + 2.6 * layout.unit, y), text, font=small, fill=FAINT, anchor="lm")


@cache
def font(size: float, bold: bool = False) -> Any:
    """DejaVu Sans as matplotlib brings it, so that pictures look alike everywhere."""
    data = Path(need("matplotlib", "a picture").get_data_path())
    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return need("PIL.ImageFont", "a picture").truetype(str(data / "fonts" / "ttf" / name), max(7, round(size)))
