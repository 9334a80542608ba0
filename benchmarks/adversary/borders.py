"""The borders of Linkwork, each with hostile inputs: case k of a border is made from the seed, and can be made again alone.

A case returns what happened: "taken" (with finite numbers), "refused" (by an error of Linkwork), or what must not be:
"nan" (silently), "changed" (by what was refused) or "different" (a result that is another). Everything else that is raised
is a raw exception, which the caller counts.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import random
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import linkwork as lw
from linkwork.cli.program import main
from linkwork.scene.builtin_scenes import find_scene

from .samples import FILES
from .values import NUMBERS, WORDS, changed_bytes, changed_text, odd_value

if TYPE_CHECKING:
    from .calls import Call

TAKEN, REFUSED, NAN, CHANGED, DIFFERENT = "taken", "refused", "nan", "changed", "different"
SCENES = (
    "catheter", "four_bar", "ball_chain", "pendulum_pegs", "millipede", "elastica", "compass_walker", "crowd", "tether",
    "stiff_robot",
)  # fmt: skip
# Numbers of large scenes, and smaller ones: building thousands of bodies takes seconds, rightly, and shows nothing more.
SMALLER = {"segments = 1000, leg_links = 10, spine = 3000": "segments = 20, leg_links = 4, spine = 60",
           "leg_*_9": "leg_*_3", "copies = 200": "copies = 4"}  # fmt: skip
CALLED = ("callback", "on_step")  # parameters that are functions of the caller
LARGEST_SCENE = 2000  # joints; a changed number may make a scene larger


@cache
def folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="adversary"))


@cache
def humanoid() -> lw.Model:
    return lw.library.humanoid().compile()


def has_nan(found: Any) -> bool:
    """Whether numbers came back that are none."""
    if isinstance(found, np.ndarray):
        return found.dtype.kind == "f" and bool(np.isnan(found).any())
    if isinstance(found, float):
        return found != found
    return isinstance(found, tuple) and any(has_nan(part) for part in found)


def judged(call: Callable[[], Any]) -> str:
    try:
        found = call()
    except lw.LinkworkError as error:
        str(error)
        return REFUSED
    return NAN if has_nan(found) else TAKEN


# ------------------------------------------------------------------------------------------------------------- borders


def files(rng: random.Random) -> str:
    """Files of every importer."""
    suffix = rng.choice(sorted(FILES))
    path = folder() / f"case{suffix}"
    text = changed_text(FILES[suffix], rng)
    data = text.encode("utf-8", "surrogatepass")
    path.write_bytes(changed_bytes(data, rng) if rng.random() < 0.2 else data)

    def call() -> Any:
        model = lw.load(path).compile()
        return model.n_bodies and lw.forward_dynamics(model, model.neutral())

    return judged(call)


def scenes(rng: random.Random) -> str:
    """Scene files, read and built, and one step."""
    text = find_scene(rng.choice(SCENES)).read_text(encoding="utf-8")
    for large, small in SMALLER.items():
        text = text.replace(large, small)
    text = changed_text(text, rng)
    path = folder() / "case.toml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))

    def call() -> Any:
        scene = lw.Scene.read(path)
        if scene._found.model.n_bodies > LARGEST_SCENE:
            return None
        sim = scene.build()
        sim.step(min(scene.h, 1e-3), 1)
        return tuple(sim.state)

    return judged(call)


def api(rng: random.Random) -> str:
    """Public functions, classes and methods, with one argument that is not what is asked for."""
    from .calls import CALLS

    with in_folder():
        call = CALLS[rng.choice(sorted(CALLS))]
        parameter = rng.choice(call.parameters() or ["none"])
        right = call.arguments().get(parameter)
        is_state = isinstance(right, lw.State) and rng.random() < 0.5
        return try_call(call, parameter, spoiled(right, rng) if is_state else odd_argument(parameter, rng))


def every_argument(seed: int, number: int) -> str:
    """Case `number` of all public arguments with all odd values."""
    from .calls import CALLS
    from .every_argument import VALUES, places

    place = places(seed)[number]
    value = VALUES[place.value]
    with in_folder():
        return try_call(CALLS[place.call], place.parameter, object() if place.parameter in CALLED else value)


def try_call(call: Call, parameter: str, value: Any) -> str:
    """What a call does with one argument exchanged."""
    arguments = call.arguments()
    if call.subject is None:
        arguments[parameter] = value
        return judged(lambda: call.function(**arguments))
    subject = call.subject()
    if "load" in arguments:
        arguments["load"] = subject.loads[0]
    positional = [arguments.pop("name", "b")] if call.function == "edit_body" else []
    arguments[parameter] = value
    if call.function in (
        "advance",
        "step",
        "run",
    ):  # where these fail on the way, what is remembered besides may differ
        return judged(lambda: getattr(subject, call.function)(*positional, **arguments))  # type: ignore[arg-type]
    before = fingerprint(subject)
    what = judged(lambda: getattr(subject, call.function)(*positional, **arguments))  # type: ignore[arg-type]
    if what == NAN and isinstance(subject, lw.Pose):
        return TAKEN  # a frame turns what it is given; linkages name what is not finite when they compile
    return CHANGED if what == REFUSED and fingerprint(subject) != before else what


def odd_argument(parameter: str, rng: random.Random) -> Any:
    """What a parameter is not meant to be; what a function of the caller raises itself is the caller's."""
    value = odd_value(rng)
    return object() if parameter in CALLED and callable(value) else value


def spoiled(state: lw.State, rng: random.Random) -> lw.State:
    """With a number that is none or is too large."""
    q, v = state.q.copy(), state.v.copy()
    x = rng.choice((q, v))
    x[rng.randrange(x.size)] = rng.choice((np.nan, np.inf, -np.inf, 1e308))
    return lw.State(q, v)


def fingerprint(subject: Any) -> str:
    """What a refused call may not change."""
    if hasattr(subject, "checkpoint") and hasattr(subject, "loads"):
        kept = {name: x for name, x in subject.checkpoint().items() if "time" not in name}
        return repr([(k, x.tobytes() if isinstance(x, np.ndarray) else x) for k, x in sorted(kept.items())])
    if hasattr(subject, "loads"):
        return repr(subject.loads)
    return repr(subject._bodies + subject._loops + subject._obstacles) if isinstance(subject, lw.Linkage) else ""


@contextlib.contextmanager
def in_folder() -> Iterator[None]:
    """Relative paths of a case, "../.." too, lead to folders that are thrown away."""
    deep = folder() / "a" / "b" / "c"
    deep.mkdir(parents=True, exist_ok=True)
    with contextlib.chdir(deep):
        yield


@cache
def simulations() -> dict[str, tuple[Any, dict[str, Any]]]:
    model = lw.library.chain(8).compile()
    start = model.random_state(1, speed=0.1)
    made = {
        "full": lw.FullDynamics(model, start),
        "adaptive": lw.AdaptiveDynamics(model, start, max_active_joints=3),
        "quasi_statics": lw.QuasiStatics(model, model.neutral(), tolerance=1e-3),
    }
    for sim in made.values():
        sim.apply_wrench(7, force=(0.0, 0.0, 1.0))
        sim.apply_wrench(3, force=(0.0, 1.0, 0.0), frame="body")
        sim.step(1e-3, 5)
    return {name: (sim, sim.checkpoint()) for name, sim in made.items()}


def checkpoints(rng: random.Random) -> str:
    """Checkpoints with one entry changed; one that is refused must change nothing."""
    sim, sound = simulations()[rng.choice(sorted(simulations()))]
    sim.restore(sound)
    hostile = dict(sound)
    key = rng.choice(sorted(hostile))
    value = hostile[key]
    if isinstance(value, np.ndarray) and value.size and rng.random() < 0.6:
        value = value.copy()
        flat = value.reshape(-1)
        extreme = (-1, 10**6, 2**62) if value.dtype.kind in "iu" else (np.nan, np.inf, 1e308, -1.0)
        with np.errstate(all="ignore"):
            flat[rng.randrange(flat.size)] = rng.choice(extreme) if value.dtype.itemsize == 8 else 255
        hostile[key] = value
    elif rng.random() < 0.2:
        del hostile[key]
    else:
        hostile[key] = odd_value(rng)
    before = tuple(x.tobytes() for x in sim.state)

    def call() -> Any:
        sim.restore(hostile)
        sim.step(1e-4, 2)
        return tuple(sim.state)

    try:
        sim.restore(hostile)
    except lw.LinkworkError:
        return REFUSED if tuple(x.tobytes() for x in sim.state) == before else CHANGED
    return judged(call)


@cache
def recorded() -> tuple[Path, list[str], list[bytes]]:
    """A recording, its files and what it holds."""
    from linkwork.record import layout

    kept = layout.FRAME_ROWS, layout.CHANGE_ROWS, layout.KEY_NUMBERS
    layout.FRAME_ROWS, layout.CHANGE_ROWS, layout.KEY_NUMBERS = 4, 16, 16
    try:
        model = lw.library.chain(joints=8).compile()
        sim = lw.QuasiStatics(model, model.neutral(), tolerance=1e-2)
        sim.run(1e-2, 40, record=folder() / "sound", every=5)
    finally:
        layout.FRAME_ROWS, layout.CHANGE_ROWS, layout.KEY_NUMBERS = kept
    path = folder() / "sound"
    names = sorted(f.relative_to(path).as_posix() for f in path.rglob("*") if f.is_file())
    return path, names, contents(path)


def contents(path: Path) -> list[bytes]:
    r = lw.Recording(path)
    arrays = [r.times, r.steps, *r.scalars.values(), *r.reports.values(), *r.model.arrays, r.coordinates([0, 9])]
    arrays += [np.concatenate(state) for state in r.states]
    saved = r.checkpoint()
    about = (r.scene, r.settings, r.metadata, r.versions, r.status, r.model.joint_names, saved and saved[1])
    entries = sorted((saved or ({},))[0].items())
    kept = [x.tobytes() if isinstance(x, np.ndarray) else repr(x).encode() for _, x in entries]
    return [a.tobytes() for a in arrays] + kept + [repr(about).encode()]


def recordings(rng: random.Random) -> str:
    """A recording with one file changed: an error, or the same contents."""
    path, names, meant = recorded()
    file = path / rng.choice(names)
    kept = file.read_bytes()
    kind = rng.randrange(8)
    if kind == 0:
        file.unlink()
    elif kind == 1:
        file.write_bytes((path / rng.choice(names)).read_bytes())
    else:
        file.write_bytes(changed_bytes(kept, rng))
    try:
        return TAKEN if contents(path) == meant else DIFFERENT
    except lw.LinkworkError:
        return REFUSED
    finally:
        file.write_bytes(kept)


def commands(rng: random.Random) -> str:
    """Command lines; nothing is run that takes long by right."""
    words = [
        *WORDS, *map(str, NUMBERS[:12]), "catheter", "chain", "joints=3", "joints=-1", "--list", "--json", "--quick", "-h",
        "run.steps=1", "run.steps=nan", "method.kind=[x]", "model.joints=3", "--out", str(folder() / "out"), "--force",
        str(folder() / "none"), "--resume", "--every", "--help", "[red]x[/red].urdf", str(folder()),
    ]  # fmt: skip
    command = rng.choice(("info", "info", "plot", "export", "mocap", "walk", "sweep", "run", "bench"))
    line = [command] + [rng.choice(words) for _ in range(rng.randrange(1, 4))]
    if command in ("run", "bench", "walk", "sweep"):  # what would work takes its time: spoil it for sure
        line.append(
            rng.choice(("--no-such-option", "run.steps=nan", "[x]=1")) if command == "run" else "--no-such-option"
        )
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        code = main(line)
    return TAKEN if code == 0 else REFUSED


def molecules(rng: random.Random) -> str:
    """Structure files that were changed, and molecules, fields and thermostats asked for what is not there."""
    from . import molecule_calls

    if rng.random() < 0.3:
        suffix = rng.choice(molecule_calls.SUFFIXES)
        path = folder() / f"case{suffix}"
        data = changed_text(molecule_calls.file_text(suffix, folder()), rng).encode("utf-8", "surrogatepass")
        path.write_bytes(changed_bytes(data, rng) if rng.random() < 0.2 else data)
        if rng.random() < 0.1:
            path = packed(path, rng)
        return judged(lambda: lw.molecules.load(path).reference)
    molecule_calls.file_text(".pdb", folder())
    calls = molecule_calls.calls() | molecule_calls.load_options(folder() / "sound.pdb")
    name = rng.choice(sorted(calls))
    value = molecule_calls.spoiled_state(rng) if rng.random() < 0.15 else odd_value(rng)
    return judged(lambda: calls[name](value))


def packed(path: Path, rng: random.Random) -> Path:
    """The same file, packed, perhaps damaged, perhaps one that grows without end when it is unpacked."""
    other = path.with_name(f"{path.name}.gz")
    data = path.read_bytes() + (bytes(4_000_000) if rng.random() < 0.2 else b"")
    data = gzip.compress(data * (40 if rng.random() < 0.2 else 1))
    other.write_bytes(changed_bytes(data, rng) if rng.random() < 0.5 else data)
    return other


def sweeps(rng: random.Random) -> str:
    """Folders of sweeps that were changed: an error, or the same contents."""
    from . import more_borders

    try:
        return TAKEN if more_borders.sweep_folder(rng, folder()) else DIFFERENT
    except lw.LinkworkError:
        return REFUSED


def shapes(rng: random.Random) -> str:
    """Shapes and meshes on bodies and in the world."""
    from . import more_borders

    return judged(lambda: more_borders.mesh_or_shape(rng, folder()))


def threads(rng: random.Random) -> str:
    """Objects that several threads share."""
    from . import shared

    return TAKEN if shared.by_threads(rng) else DIFFERENT


def contact(rng: random.Random) -> str:
    """Whole runs with contact."""
    from . import contact_runs

    try:
        return contact_runs.whole_run(rng)
    except lw.LinkworkError:
        return REFUSED


def devices(rng: random.Random) -> str:
    """Devices of hands, on the network, and DeviceModels."""
    from . import device_runs

    return judged(lambda: device_runs.odd_device(rng))


BORDERS: dict[str, Callable[[random.Random], str]] = {
    "files": files,
    "scenes": scenes,
    "api": api,
    "checkpoints": checkpoints,
    "recordings": recordings,
    "commands": commands,
    "molecules": molecules,
    "sweeps": sweeps,
    "shapes": shapes,
    "threads": threads,
    "contact": contact,
    "devices": devices,
}


def try_case(border: str, seed: int, number: int) -> str:
    """What case `number` of a border does: a word of this module, or "raw" with the exception and where it was raised."""
    rng = random.Random(f"{seed}/{border}/{number}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return every_argument(seed, number) if border == "arguments" else BORDERS[border](rng)
        except Exception as error:
            trace = error.__traceback__
            while trace is not None and trace.tb_next is not None:
                trace = trace.tb_next
            where = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else "?"
            return f"raw {type(error).__name__} at {where}: {str(error)[:100]}"
