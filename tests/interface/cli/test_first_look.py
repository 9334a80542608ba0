"""What a new user sees first: names that completion offers, signatures, reports, tables that are complete."""

import inspect
import re
from pathlib import Path

import pytest

import linkwork as lw
from linkwork.scene.builtin_scenes import builtin_scenes
from linkwork.simulation.integrators.names import INTEGRATORS

ROOT = Path(__file__).parents[3]


def test_completion_offers_the_public_names_and_no_others():
    public = [name for name in dir(lw) if not name.startswith("_")]
    assert public == sorted(lw.__all__)
    assert {"molecules", "haptics", "Collisions"} <= set(public)
    assert all(hasattr(lw, name) for name in public)


def test_view_says_what_it_takes():
    from linkwork.viewer import view

    ours, theirs = (inspect.signature(one).parameters for one in (lw.view, view))
    assert list(ours) == list(theirs)
    assert [p.default for p in ours.values()] == [p.default for p in theirs.values()]


def test_a_report_of_a_run_can_be_read():
    model = lw.library.chain(3).compile()
    report = lw.FullDynamics(model, model.random_state(1, speed=1.0)).run(1e-3, 20, progress=False)
    lines = repr(report).splitlines()
    assert 3 <= len(lines) <= 8
    assert "20 of 20 steps of 0.001 s" in lines[0]
    assert any("energy" in line for line in lines)


@pytest.mark.parametrize("page", ["integrators.md", "scenes.md"])
def test_every_integrator_is_on_its_page(page):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert [name for name in (*INTEGRATORS, "implicit_euler") if not re.search(rf"[`\"]{name}[`\"]", text)] == []


def test_every_built_in_scene_is_in_the_table():
    rows = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "scenes.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(builtin_scenes()) <= set(rows)


def test_hints_name_an_extra_that_exists():
    """Linkwork is installed from its folder; every hint says so, and names an extra of pyproject.toml."""
    import tomllib

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")]
    named = {extra for text in texts for extra in re.findall(r"pip install '\.\[(\w+)\]'", text)}
    assert len(named) > 5
    assert named <= set(extras)
    assert not any("pip install 'linkwork[" in text for text in texts)
