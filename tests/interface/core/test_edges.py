"""The edges to PyTorch and JAX: importing them loads neither, and says what is missing when it is used."""

import subprocess
import sys

import numpy as np
import pytest

import linkwork as lw


@pytest.mark.parametrize("name", ["jax", "torch"])
def test_import_loads_nothing(name):
    code = f"import sys, linkwork.{name}; print('{name}' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout.strip(), done.returncode) == ("False", 0), done.stderr


@pytest.mark.parametrize("name", ["jax", "torch"])
def test_what_is_missing_is_said(name, monkeypatch):
    edge = __import__(f"linkwork.{name}", fromlist=["forward_dynamics"])
    load = getattr(edge, f"_{name}")
    load.cache_clear()
    monkeypatch.setitem(sys.modules, name, None)  # as if it were not installed
    model = lw.library.chain(2).compile()
    try:
        with pytest.raises(lw.MissingExtraError, match=rf"pip install '\.\[{name}\]'"):
            edge.forward_dynamics(model, np.zeros(2), np.zeros(2), np.zeros(2))
    finally:
        load.cache_clear()
