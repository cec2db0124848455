"""When to use which solver: one line each, printed by `unstick solvers` and at the head of the solver's page in docs/solvers/."""

WHEN: dict[str, str] = {
    "default": (
        "For every system, small or large: an active-set method with a multigrid inside, at little more than the cost of the linear solve."
    ),
    "pi-pcg": (
        "For small or unstructured systems, and to compare with: policy iteration (Lai, algorithm 2) with incomplete-Cholesky PCG inside."
    ),
    "pi-mg": (
        "To compare with the thesis on a grid: policy iteration with linear multigrid inside; the count of "
        "outer iterations grows with size."
    ),
    "pe-pcg": (
        "To compare with the thesis: the penalty method (Lai, algorithm 3) with PCG inside; policy iteration "
        "does the same job without a penalty."
    ),
    "pe-mg": "To compare with the thesis: the penalty method with multigrid inside, which the penalty slows down.",
    "fas-mg": (
        "For few cycles whatever the size, on a grid: a nonlinear multigrid without a Krylov method; more work than default per digit."
    ),
    "fas-literal": "To see what the text of the thesis' algorithm 6 does: correct, but its cycles grow with the size.",
    "fmg": ("To compare with Chentanez and Müller's full multigrid, here with a line search; their literal cycle stalls on hard cases."),
    "newton": "For unstructured matrices without a hierarchy, after Andersen: minimum-map Newton with a projected line search.",
    "mprgp": "As an independent check of another result: a projected gradient method that shares nothing with the others.",
    "pgs": "For tiny systems, or a rough answer: projected Gauss-Seidel; the sweeps it needs grow with the square of the side.",
    "pcg": (
        "For walls that stick, on any matrix: conjugate gradients with an incomplete Cholesky factor; good "
        "up to about a hundred cells a side."
    ),
    "mg": "For walls that stick, on a grid: multigrid cycles alone.",
    "mgpcg": "For walls that stick, on a grid of any size: conjugate gradients with one multigrid cycle as preconditioner, the fastest.",
    "fft": "For full boxes without a free surface or inner walls, exactly: a fast cosine transform.",
}
