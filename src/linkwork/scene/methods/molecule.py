"""method.kind = "molecule": a peptide or a structure file under a force field. Units: nm, ps, Da, kJ/mol, K."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.core.units import MOLECULAR
from linkwork.errors import FaultListError, LinkworkError, StateError
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.scene.methods.method import ONLY_ADAPTIVE_PINS, Found, Method, Options, plain_options, with_actions
from linkwork.scene.reading import checks as must_be
from linkwork.scene.reading.checks import Key
from linkwork.scene.reading.faults import Faults
from linkwork.simulation.integrators.names import AUTO, INTEGRATORS
from linkwork.simulation.protocol import Simulation

LIBRARY = "peptide"
FIELD = ("force_field", "cutoff", "switch", "solvent")
BATH = ("temperature", "friction", "seed", "fixman")
MOLECULE = "molecule"  # among the options: how it is made


@lru_cache(maxsize=4)
def make_molecule(file: str, parameters: str) -> Any:
    """The molecule of a file, or a peptide where there is none; parameters: as JSON. Same words, same object."""
    from linkwork import molecules

    options = json.loads(parameters)
    return molecules.load(file, **options) if file else molecules.peptide(**options)


made: deque[tuple[Model, tuple[str, str]]] = deque(maxlen=4)  # models of the latest scenes, and the words for them


def structure_file(name: str, folder: Path) -> Path:
    """From the scene's folder; a built-in scene has no structures beside it, so otherwise from where we are."""
    beside = (folder / name).resolve()
    return beside if beside.exists() or not Path(name).resolve().exists() else Path(name).resolve()


def words_of(scene: Mapping[str, Any], folder: Path) -> tuple[str, str]:
    file = str(structure_file(scene["model"]["file"], folder)) if "file" in scene["model"] else ""
    return file, json.dumps(scene["model"]["parameters"], sort_keys=True)


def molecule_model(scene: Mapping[str, Any], folder: Path, faults: Faults) -> Model | None:
    model = scene["model"]
    if "file" not in model and model.get("library") != LIBRARY:
        faults.add(
            ("model", "library"), f"method.kind = 'molecule' needs model.library = '{LIBRARY}', or a model.file."
        )
        return None
    place = ("model", "file") if "file" in model else ("model", "parameters")
    if "file" in model and not structure_file(model["file"], folder).exists():
        faults.add(
            place,
            f"there is no structure '{model['file']}', neither beside the scene nor in '{Path.cwd()}'; name one with "
            "--set model.file=FILE. Structures are at https://www.rcsb.org.",
        )
        return None
    try:
        words = words_of(scene, folder)
        found: Model = make_molecule(*words).model
        made.append((found, words))
        return found
    except TypeError as error:
        faults.add(("model", "parameters"), str(error))
    except FaultListError as error:
        for fault in error.faults or [str(error)]:
            faults.add(place, f"{error.headline}: {fault}")
    except LinkworkError as error:
        faults.add(place, str(error))
    return None


def check(scene: Mapping[str, Any], model: Model, state: State | None, faults: Faults) -> Options:
    options = plain_options(scene)
    if "temperature" not in options:
        for name in BATH[1:]:
            if name in options:
                faults.add(("method", name), f"'{name}' belongs to a thermostat; give a temperature with it.")
    if "update_every" in options and "max_active_joints" not in options:
        faults.add(
            ("method", "update_every"), "regions are updated where max_active_joints says how many torsions move."
        )
    # a scene of a recording has its model from there: the molecule is made when it is built, its file looked for from here
    words = next((words for known, words in made if known is model), None)
    return {**options, MOLECULE: words or words_of(scene, Path())}


def build(found: Found) -> Simulation:
    from linkwork.adaptive.dynamics.simulation import AdaptiveDynamics
    from linkwork.full.simulation import FullDynamics
    from linkwork.simulation.thermal.langevin import Langevin

    options = dict(found.options)
    molecule = make_molecule(*options.pop(MOLECULE))
    if not is_same(molecule.model, found.model):
        raise StateError(
            f"molecule '{molecule.name}' is another one than the scene was recorded with; other versions of OpenMM or "
            "PDBFixer may place atoms elsewhere."
        )
    field = molecule.field(**{name: options.pop(name) for name in FIELD if name in options})
    bath = {name: options.pop(name) for name in BATH if name in options}
    thermostat = Langevin(**bath) if bath else None
    kind: Any = AdaptiveDynamics if "max_active_joints" in options else FullDynamics
    return with_actions(kind(molecule.model, found.state, field=field, thermostat=thermostat, **options), found)


def is_same(one: Model, other: Model) -> bool:
    return one is other or (
        one.body_names == other.body_names
        and all(np.array_equal(a, b) for a, b in zip(one.arrays, other.arrays, strict=True))
    )


MOLECULES = Method(
    name="molecule",
    keys={
        "force_field": Key(must_be.text, "of the molecule, such as 'amber14'"),
        "cutoff": Key(must_be.number(0.0, above=True), "of Lennard-Jones and Coulomb terms", "nm"),
        "switch": Key(must_be.number(0.0, above=True), "from where Lennard-Jones terms fade", "nm"),
        "solvent": Key(must_be.choice("obc2", "gbn2"), "implicit water; none without it"),
        "temperature": Key(must_be.number(0.0), "of a Langevin thermostat; none without it", "K"),
        "friction": Key(must_be.number(0.0, above=True), "of the thermostat", "1/ps"),
        "seed": Key(must_be.integer(0), "of the thermostat's noise"),
        "fixman": Key(must_be.boolean, "adds the force of Fixman's potential"),
        "max_active_joints": Key(must_be.integer(0), "how many torsions move at most; all without it"),
        "update_every": Key(must_be.integer(1), "steps between updates of the active region"),
        "integrator": Key(must_be.choice(AUTO, *INTEGRATORS), "of the step", default=AUTO),
    },
    check=check,
    build=build,
    refused={
        "pin": ONLY_ADAPTIVE_PINS,
        "joint": "torsions of a molecule get their forces from its force field.",
        "water": "the atoms of a molecule have no shapes that water touches.",
    },
    build_model=molecule_model,
    units=MOLECULAR,
)
