"""What a mechanism is made of: bodies, joints, degrees of freedom, depth, mass, warnings.

linkwork info arm.urdf
linkwork info chain joints=500
linkwork info molecule --set joints=5000 --set seed=3 --json
linkwork info double_pendulum lengths=[1,0.5]
linkwork info humanoid --assembly
linkwork info --list
"""

from __future__ import annotations

import argparse
import inspect
import json
import sys
from collections import Counter
from typing import Any

import numpy as np

from linkwork.assembly.drawing import draw_assembly, summarize_assembly
from linkwork.assembly.plan import assemble_model
from linkwork.cli.exit_codes import DONE
from linkwork.cli.mechanism import Builder, find_mechanism, find_molecule, library_models
from linkwork.cli.screen import console, count, table, working
from linkwork.errors import LinkworkError
from linkwork.model.linkage import Linkage
from linkwork.model.model import Model

NAME = "info"
SUMMARY = "what a file or a library model is made of"

SI = {"mass": "kg", "length": "m", "time": "s"}
MOLECULAR = {"mass": "Da", "length": "nm", "time": "ps"}  # energies are kJ/mol then
CHAINS_SHOWN = 12
WARNINGS_SHOWN = 20  # on the screen; --json has all


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source", metavar="FILE|NAME", nargs="?", help="a URDF, MJCF, BVH, ASF, PDB or mmCIF file, or a library model"
    )
    parser.add_argument("settings", metavar="name=value", nargs="*", help="parameters of the library model, in TOML")
    parser.add_argument("--set", metavar="name=value", action="append", default=[], help="the same, as an option")
    parser.add_argument("--keep-fixed", action="store_true", help="keep fixed joints as joints instead of merging them")
    parser.add_argument("--assembly", action="store_true", help="draw the assembly tree of divide and conquer too")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--list", action="store_true", help="list the library models and their parameters")


def run(arguments: argparse.Namespace) -> int:
    if arguments.list:
        return _list_models(arguments.json)
    if arguments.source is None:
        raise LinkworkError("info needs a file or a library model; `linkwork info --list` shows the models.")
    with working(f"reading {arguments.source}"):
        settings = [*arguments.settings, *arguments.set]
        molecule = find_molecule(arguments.source, settings)
        linkage = find_mechanism(arguments.source, settings) if molecule is None else molecule.linkage
        model = linkage.compile(merge_fixed=not arguments.keep_fixed)
    facts = describe(linkage, model, SI if molecule is None else MOLECULAR)
    if molecule is not None:
        facts["molecule"] = molecule.contents()
    plan = assemble_model(model) if arguments.assembly else None
    if arguments.json:
        if plan is not None:
            facts["assembly"] = summarize_assembly(plan)
        json.dump(facts, sys.stdout, indent=2)
        print()
        return DONE
    _show(facts)
    if plan is not None:
        print(draw_assembly(plan, model.body_names, model.joint_names))
    return DONE


def describe(linkage: Linkage, model: Model, units: dict[str, str] = SI) -> dict[str, Any]:
    """Everything `info` says about a model, as plain values. units: of mass, length and time."""
    bodies_on_world = int((model.parent < 0).sum())
    return {
        "name": model.name,
        "bodies": model.n_bodies,
        "joints": dict(Counter(type(joint).__name__ for joint in model.joints).most_common()),
        "nq": model.nq,
        "nv": model.nv,
        "depth": model.depth,
        "trees": bodies_on_world,
        "leaves": model.n_bodies - int(np.unique(model.parent[model.parent >= 0]).size),
        "units": units,
        "mass": float(model.mass.sum()),
        "mass_on_the_world": _standing_mass(linkage, model),
        "gravity": model.gravity.tolist(),
        "frames": len(model.frames),
        "merged_bodies": len(linkage) - model.n_bodies,
        "limited_joints": len({model.joint_of(int(k)) for k in _limited(model)}),
        "shapes": dict(Counter(type(shape).__name__ for _, shape in model.shapes).most_common()),
        "motion": _motion_facts(linkage),
        "warnings": list(model.warnings),
    }


def _standing_mass(linkage: Linkage, model: Model) -> float:
    """Mass of the bodies welded to the world, which no joint moves."""
    on_world = {name for name, frame in model.frames.items() if frame.body < 0}
    return float(sum(body.inertia.mass for body in linkage if body.name in on_world))


def _motion_facts(linkage: Linkage) -> dict[str, float] | None:
    """Frames, their rate [Hz] and how long they last [s], of what a motion-capture file recorded."""
    motion = linkage.motion
    if motion is None:
        return None
    return {
        "frames": motion.frames,
        "rate": 1.0 / motion.frame_time,
        "duration": max(0, motion.frames - 1) * motion.frame_time,
    }


def _limited(model: Model) -> np.ndarray:
    return np.flatnonzero(np.isfinite(model.lower) | np.isfinite(model.upper))


def _show(facts: dict[str, Any]) -> None:
    def kinds(numbers: dict[str, int]) -> str:
        return ", ".join(f"{count(number)} {kind}" for kind, number in numbers.items()) or "none"

    merged = f"  ({count(facts['merged_bodies'])} fixed or massless ones merged)" if facts["merged_bodies"] else ""
    units = facts["units"]
    standing = facts["mass_on_the_world"]
    standing = f"  (besides {standing:.6g} {units['mass']} welded to the world)" if standing else ""
    rows = [
        ("bodies", count(facts["bodies"]) + merged),
        ("joints", kinds(facts["joints"])),
        ("degrees of freedom", f"{count(facts['nv'])}  ({count(facts['nq'])} coordinates)"),
        ("with limits", count(facts["limited_joints"])),
        ("depth", f"{count(facts['depth'])} joints"),
        ("trees, leaves", f"{count(facts['trees'])}, {count(facts['leaves'])}"),
        ("mass", f"{facts['mass']:.6g} {units['mass']}" + standing),
        ("gravity", f"({', '.join(f'{x:g}' for x in facts['gravity'])}) {units['length']}/{units['time']}²"),
        ("frames", count(facts["frames"])),
        ("shapes", kinds(facts["shapes"])),
        ("warnings", count(len(facts["warnings"])) if facts["warnings"] else "none"),
    ]
    if "molecule" in facts:
        made = facts["molecule"]
        chains, pieces = (
            made["chains"],
            f", {count(made['pieces'])} connected piece{'s' if made['pieces'] != 1 else ''}",
        )
        many = (
            f"{count(len(chains))} ({', '.join(chains[:CHAINS_SHOWN])}{', ...' if len(chains) > CHAINS_SHOWN else ''})"
        )
        rows[:0] = [
            ("atoms, residues", f"{count(made['atoms'])}, {count(made['residues'])}"),
            ("chains", many + pieces),
            ("torsions", kinds(made["torsions"])),
            ("bonds cut open", count(made["cuts"]) if made["cuts"] else "none"),
        ]
    motion = facts["motion"]
    if motion is not None:
        text = f"{count(motion['frames'])} frames at {motion['rate']:.4g} Hz, {motion['duration']:.3f} s"
        rows.insert(-1, ("motion", text))
    screen = console()
    screen.print(table(facts["name"], ("what", "value"), rows, left=2))
    for warning in facts["warnings"][:WARNINGS_SHOWN]:
        screen.print(f"warning: {warning}", markup=False)
    hidden = len(facts["warnings"]) - WARNINGS_SHOWN
    if hidden > 0:
        screen.print(f"... and {hidden} more warnings; --json shows all", markup=False)


def _list_models(as_json: bool) -> int:
    models = library_models()
    if as_json:
        json.dump({name: _parameters(builder) for name, builder in models.items()}, sys.stdout, indent=2)
        print()
        return DONE
    rows = [
        (name, ", ".join(f"{key}={value}" for key, value in _parameters(builder).items()), _first_line(builder))
        for name, builder in models.items()
    ]
    console().print(table("library models", ("name", "parameters", "what it is"), rows, left=3))
    return DONE


def _parameters(builder: Builder) -> dict[str, str]:
    """Parameters with their defaults, as text."""
    parameters = inspect.signature(builder).parameters.values()
    return {p.name: "..." if p.default is inspect.Parameter.empty else str(p.default) for p in parameters}


def _first_line(builder: Builder) -> str:
    return (inspect.getdoc(builder) or "").partition("\n")[0]
