"""The CUDA C++ text of the kernels: one header after the other, in the order in which they build on each other."""

from __future__ import annotations

from functools import cache
from pathlib import Path

HEADERS = ("spatial", "tables", "joints", "nodes", "columns", "motions", "bodies", "strands", "gradients", "sweeps")
REAL = {"float64": "double", "float32": "float"}
PARTS = {  # kernels of the parts of sweeps.cuh that are compiled apart
    2: ("assemble_several", "substitute_several"),
    3: ("bodies",),
    4: ("take_weights", "body_shares", "pass_sums", "joint_gradients", "bodies_gradients"),
}


@cache
def source() -> str:
    folder = Path(__file__).parent
    return "\n".join((folder / f"{name}.cuh").read_text(encoding="utf-8") for name in HEADERS)


def part_of(kernel: str) -> int:
    return next((part for part, kernels in PARTS.items() if kernel in kernels), 1)
