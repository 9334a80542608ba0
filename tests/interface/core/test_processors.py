"""Kernels give the same numbers on processors without fused multiply-add and without wide registers.

Numba compiles for the machine it runs on. Here another one is set: what LLVM calls generic (SSE2 only, so that eight
doubles take four registers), and this machine without FMA and AVX-512.
"""

from __future__ import annotations

import llvmlite.binding as llvm
import pytest
from tests.helpers.compiled_elsewhere import assert_same_results, run_every_kernel

# What all else rests on: vectors, the tree algorithms and the step. Every kernel for a processor of each kind would take
# minutes to compile; `NUMBA_CPU_NAME=generic make test` does that.
ON_GENERIC = ("vector_algorithms", "steps_in_time")
WITHOUT_FUSED = ("vector_algorithms",)
SWITCHED_OFF = ("fma", "avx512", "avx10")  # beginnings of the names LLVM gives to features


def features_without(*prefixes: str) -> str:
    """This machine's features in the words of NUMBA_CPU_FEATURES, some switched off."""
    features = llvm.get_host_cpu_features()
    return ",".join(f"{'+' if on and not name.startswith(prefixes) else '-'}{name}" for name, on in features.items())


def test_steps_and_vectors_on_a_generic_processor(tmp_path):
    found = run_every_kernel(tmp_path, *ON_GENERIC, NUMBA_CPU_NAME="generic")
    assert found["settings"]["cpu"] == "generic"
    assert_same_results(found["results"], *ON_GENERIC)


def test_vector_algorithms_without_fused_operations_and_wide_registers(tmp_path):
    features = features_without(*SWITCHED_OFF)
    if "+" not in features:
        pytest.skip(reason="LLVM knows no features of this processor")
    found = run_every_kernel(tmp_path, *WITHOUT_FUSED, NUMBA_CPU_FEATURES=features)
    assert found["settings"]["features"] == features
    assert_same_results(found["results"], *WITHOUT_FUSED)
