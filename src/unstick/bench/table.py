"""The benches by name. A new one is a module with a `run`, and a line here."""

from __future__ import annotations

import importlib
from dataclasses import dataclass

from unstick.bench.harness import Options, Report


@dataclass(frozen=True, slots=True)
class Bench:
    """A bench's module is imported only when it is run."""

    line: str  # what it shows, in one line
    module: str
    function: str = "run"

    def run(self, options: Options) -> Report:
        found = getattr(importlib.import_module(f"unstick.bench.{self.module}"), self.function)(options)
        assert isinstance(found, Report)
        return found


BENCHES: dict[str, Bench] = {
    "kernels": Bench("residual and projected sweep against the memory limit, two threads against one", "kernel_speed"),
    "exact": Bench("every solver against a direct active-set reference on random small systems", "exact"),
    "frames": Bench("every solver on the three hard 3D frames, beside Lai's counts", "counts"),
    "frames-2d": Bench("solvers on circle, square and maze", "counts", "run_2d"),
    "warm": Bench("the default after a small smooth change, against a cold linear solve", "warm_start"),
    "ablations": Bench("FAS multigrid with one part replaced (Lai, table 6.12)", "ablations"),
    "empty-space": Bench("the same liquid in a box of twice the side", "empty_space"),
    "memory": Bench("peak resident memory of assembling and solving", "memory"),
    "peers": Bench("active-set loops around pyamg and PETSc", "peers"),
    "speed": Bench("nanoseconds per unknown on one and two threads", "speed"),
    "physics": Bench("free fall, still water, waves, a collapsing column, energy, volume, letting go", "physics"),
    "smoke": Bench("divergence of every cell of a gas, what is kept, symmetry, rise, advection; plume and ball in pictures", "smoke"),
    "coupling": Bench("bodies in water: momentum, rest, Archimedes, added mass, angular momentum, symmetry", "coupling"),
    "step": Bench("microseconds per liquid cell of a time step and its stages, particles included", "step_speed"),
    "memory-run": Bench("peak resident memory of a run", "memory_run"),
    "lai-table-5.1": Bench("construction of the coarse matrix", "coarse"),
    "lai-table-6.1": Bench("iterations averaged over 100 frames of the circle", "lai_over_time", "table_6_1"),
    "lai-table-6.2": Bench("iterations averaged over 100 frames of the sphere", "lai_over_time", "table_6_2"),
    "lai-table-6.3": Bench("iterations averaged over 100 frames of the maze", "lai_over_time", "table_6_3"),
    "lai-table-6.4": Bench("counts on the sphere", "counts", "table_6_4"),
    "lai-table-6.5": Bench("counts on the sphere with a box inside", "counts", "table_6_5"),
    "lai-table-6.6": Bench("counts on the double sphere", "counts", "table_6_6"),
    "lai-table-6.7": Bench("outer iterations averaged over 100 frames of the circle", "lai_over_time", "table_6_7"),
    "lai-table-6.8": Bench("outer iterations averaged over 100 frames of the sphere", "lai_over_time", "table_6_8"),
    "lai-table-6.9": Bench("seconds averaged over 100 frames of the circle", "lai_over_time", "table_6_9"),
    "lai-table-6.10": Bench("seconds averaged over 100 frames of the sphere", "lai_over_time", "table_6_10"),
    "lai-table-6.11": Bench("seconds averaged over 100 frames of the maze", "lai_over_time", "table_6_11"),
    "lai-fig-6.7": Bench("pictures of the maze by fas-mg and by newton", "maze_pictures"),
    "lai-fig-6.8": Bench("how many solves took how many outer iterations", "lai_over_time", "figure_6_8"),
    "lai-fig-6.9": Bench("residual against cycles on the sphere", "convergence", "figure_6_9"),
    "lai-fig-6.10": Bench("residual against cycles on the sphere with a box inside", "convergence", "figure_6_10"),
    "lai-fig-6.11": Bench("residual against cycles on the double sphere", "convergence", "figure_6_11"),
    "lai-fig-6.12": Bench("barycentric against trilinear transfers, seconds", "coarse", "figure_6_12"),
    "andersen-overhead": Bench("what separating walls cost beside slip walls, on two discs of liquid", "andersen", "overhead"),
    "andersen-fig-4": Bench("speed-up of one solve", "andersen", "figure_4"),
    "andersen-fig-5": Bench("phases of one solve by pcg", "andersen", "figure_5"),
    "andersen-fig-6": Bench("phases of one solve by newton", "andersen", "figure_6"),
    "andersen-fig-7": Bench("convergence of pcg over many solves", "andersen_convergence", "figure_7"),
    "andersen-fig-8": Bench("convergence of newton over many solves", "andersen_convergence", "figure_8"),
    "karlsson": Bench("a few multigrid cycles against PCG: the same picture; and what too few cycles lose", "karlsson"),
    "eckert-table-4.1": Bench(
        "what each of Eckert's methods costs per step of the dam, and the exact projection", "eckert_dam", "table_4_1"
    ),
    "eckert-table-4.2": Bench("counts of ADMM and IOP by their thresholds", "eckert_thresholds", "table_4_2"),
    "eckert-table-4.3": Bench("costs and distances on identical inputs", "eckert_similarity", "table_4_3"),
    "eckert-table-4.4": Bench("counts of iop-sep-bc by its thresholds", "eckert_thresholds", "table_4_4"),
    "eckert-table-4.5": Bench("what each method costs per step of the stairs, and volume", "eckert_dam", "table_4_5"),
    "eckert-table-4.6": Bench("what each method costs per step of the ledges, and volume", "eckert_dam", "table_4_6"),
    "eckert-fig-4.3": Bench("the divergence within one step, by iterations", "eckert_convergence", "figure_4_3"),
    "eckert-fig-4.4": Bench("ADMM's two residuals and their period", "eckert_convergence", "figure_4_4"),
    "eckert-fig-4.5": Bench("an outer threshold stricter than the inner one", "eckert_convergence", "figure_4_5"),
    "eckert-fig-4.6": Bench("table 4.1 step by step", "eckert_dam", "figure_4_6"),
    "eckert-fig-4.7": Bench("table 4.2 drawn", "eckert_thresholds", "figure_4_7"),
    "eckert-fig-4.8": Bench("costs on identical inputs over the frames", "eckert_similarity", "figure_4_8"),
    "eckert-fig-4.9": Bench("counts by the size of the grid", "eckert_growth", "figure_4_9"),
    "eckert-fig-4.10": Bench("how similar the solutions are", "eckert_similarity", "figure_4_10"),
    "eckert-fig-4.11": Bench("where the solutions differ, pictures", "eckert_similarity", "figure_4_11"),
    "eckert-fig-4.12": Bench("iop-sep-bc: thresholds, and CG iterations over the frames", "eckert_thresholds", "figure_4_12"),
    "eckert-fig-4.13": Bench("frames of the dam beside each other", "eckert_pictures", "figure_4_13"),
    "eckert-fig-4.14": Bench("how far iop-sep-bc is from its relatives", "eckert_similarity", "figure_4_14"),
    "eckert-fig-4.15": Bench("classification by velocity or by pressure, frames", "eckert_pictures", "figure_4_15"),
    "eckert-fig-4.22": Bench("tall-stairs: what sticks, what goes wrong, what is clean", "eckert_pictures", "figure_4_22"),
    "eckert-acceleration": Bench("outer iterations of ADMM and IOP with acceleration", "eckert_growth", "acceleration"),
    "eckert-fft": Bench("a fast Poisson solve inside, against PCG and multigrid", "eckert_fft"),
    "aanjaneya-table-1": Bench("box lift: iterations of coupled solves beside Aanjaneya's", "aanjaneya", "table_1"),
    "aanjaneya-table-2": Bench("several boxes: iterations of coupled solves beside Aanjaneya's", "aanjaneya", "table_2"),
    "aanjaneya-fig-10": Bench("iterations of coupled solves by density ratio and grid", "aanjaneya", "figure_10"),
}
