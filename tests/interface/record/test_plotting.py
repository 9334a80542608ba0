"""Pictures: every model of the library can be drawn, and the error for a missing matplotlib names its extra."""

import subprocess
import sys
from pathlib import Path

import pytest

import linkwork as lw
from linkwork import plotting

LIMIT = 60_000  # bytes; pictures travel with the repository
DOCS = Path(__file__).parents[3] / "docs"

SMALL = {"millipede": {"segments": 4, "spine": 8}, "molecule": {"joints": 1000}, "random_tree": {"joints": 20}}


@pytest.mark.parametrize("name", lw.library.MODELS)
def test_every_model_can_be_drawn(name):
    mpl = pytest.importorskip("matplotlib", reason="the extra `plots` is not installed")
    mpl.use("Agg")
    model = lw.library.MODELS[name](**SMALL.get(name, {})).compile()
    axes = plotting.draw(model, model.random_state(0))
    assert axes.collections
    axes.figure.canvas.draw()
    mpl.pyplot.close(axes.figure)


def test_a_model_of_nothing_is_an_empty_picture():
    mpl = pytest.importorskip("matplotlib", reason="the extra `plots` is not installed")
    mpl.use("Agg")
    plotting.draw(lw.Linkage("nothing").compile()).figure.canvas.draw()


def test_missing_matplotlib_names_the_extra():
    program = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import linkwork as lw\n"
        "from linkwork import plotting\n"
        "try: plotting.draw(lw.library.pendulum().compile())\n"
        "except lw.MissingExtraError as error: print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "pip install '.[plots]'" in run.stdout


@pytest.mark.parametrize("name", lw.library.MODELS)
def test_every_model_is_documented_with_a_small_picture(name):
    page = (DOCS / "library.md").read_text(encoding="utf-8")
    assert f"`{name}(" in page
    assert f"pictures/{name}.png" in page
    assert (DOCS / "pictures" / f"{name}.png").stat().st_size <= LIMIT
