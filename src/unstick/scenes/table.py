"""The scenes by name."""

from __future__ import annotations

from unstick.scenes import andersen, bodies, eckert, karlsson, lai, moving, smoke, tanks
from unstick.scenes.scene_file import SceneFile

SCENES: dict[str, SceneFile] = {
    scene.name: scene
    for scene in (
        SceneFile("circle", lai.circle),
        SceneFile("square", lai.square),
        SceneFile("maze", lai.maze),
        SceneFile("sphere", lai.sphere),
        SceneFile("sphere-box", lai.sphere_box),
        SceneFile("double-sphere", lai.double_sphere),
        SceneFile("half-disc", karlsson.half_disc),
        SceneFile("two-discs", andersen.two_discs),
        SceneFile("two-discs-low", andersen.two_discs_low),
        SceneFile("dam", eckert.dam),
        SceneFile("dam-2d", eckert.dam_2d),
        SceneFile("stairs", eckert.stairs),
        SceneFile("tall-stairs", eckert.tall_stairs),
        SceneFile("ledges", eckert.ledges),
        SceneFile("ceiling-block", tanks.ceiling_block),
        SceneFile("still-tank", tanks.still_tank),
        SceneFile("standing-wave", tanks.standing_wave),
        SceneFile("martin-moyce", tanks.martin_moyce),
        SceneFile("shaken-glass", moving.shaken_glass),
        SceneFile("ladle", moving.ladle),
        SceneFile("plume", smoke.plume),
        SceneFile("plume-ball", smoke.plume_ball),
        SceneFile("box-lift", bodies.box_lift),
        SceneFile("boxes", bodies.boxes),
        SceneFile("mesh-pool", bodies.mesh_pool),
        SceneFile("sunk-meshes", bodies.sunk_meshes),
        SceneFile("plank", bodies.plank),
        SceneFile("ladle-coupled", bodies.ladle_coupled),
        SceneFile("swimmer", bodies.swimmer),
    )
}
