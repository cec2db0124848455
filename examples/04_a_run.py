"""Half a circle of water, with walls that stick and with walls that let go: how much of it is still up there after 0.2 seconds."""

import numpy as np

import unstick as us

for walls in ("sticking", "separating"):
    simulation = us.Simulation(us.SCENES["circle"](resolution=64, walls=walls))
    steps = []
    simulation.run(frames=20, on_step=steps.append)

    high = np.mean(simulation.state.particles.position[:, 1] > 0.75)
    iterations = sum(step.iterations for step in steps) / len(steps)
    volume = steps[-1].volume / steps[0].volume
    print(f"{walls:10}  {100 * high:.1f} % in the upper part, volume {100 * volume:.1f} %, {iterations:.1f} iterations a step")
