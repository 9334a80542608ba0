"""Contact and joint limits of a simulation, for Python: memory that grows, records, reports, checkpoints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.assembly.plan import assemble_model
from linkwork.contact import contact_list as cl
from linkwork.contact import points as cp
from linkwork.contact.broad_phase import Finder
from linkwork.contact.model_search import make_finder
from linkwork.contact.points import ContactPoint, ContactRows, points_of
from linkwork.contact.settings import Contact
from linkwork.contact.shape_table import mean_size, shape_table, with_ignored
from linkwork.contact.solver.allocation import make_problem, make_system
from linkwork.contact.solver.problem import SLIDE, STICK
from linkwork.contact.volumes import all_open, make_volumes
from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.messages.describe import table_of_attributes
from linkwork.dynamics.tree_factor import make_tree_factor
from linkwork.errors import StateError
from linkwork.loops.system import loop_plan
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.simulation.contact_step import arrays as ca
from linkwork.simulation.contact_step.search.neighbours import overlaps_by_design
from linkwork.simulation.contact_step.sweeps.memory import make_sweeps
from linkwork.simulation.parts.contact_arrays import allocate_contact_arrays
from linkwork.simulation.parts.part import Entry, Saved
from linkwork.simulation.reporting.contact_failures import explain_contact
from linkwork.simulation.reporting.contact_warnings import ContactWarnings

FIRST_CONTACTS, FIRST_BODIES, FIRST_LIMITS = 64, 32, 16  # room at first; it doubles where a step needs more
COUPLINGS_PER_ROW = 4  # of bodies, per contact and row of a loop: with those that come while a tree is eliminated
MIN_BY_SWEEPS = 12  # contacts and limits: fewer are solved faster by their matrix of responses
TOUCHING = 1e-3  # of the margin: a gap below this is none


@dataclass(frozen=True, slots=True)
class ContactReport:
    """What contact and limits did in a call of `step`.

    contacts: points that touched or nearly so at the end; limits: joint limits likewise.
    residual: largest of the solves, relative to the speeds that met (law "impacts": approach speed left [m/s]).
    sweeps: of all solves. not_converged: solves that ended farther from the laws than their tolerance allows.
    deepest: penetration that a step began with [m]. energy_lost: to friction and impacts [J].
    taken_back: energy that steps had made from nothing, taken out of velocities again [J].
    shortened: steps that were made in shorter parts: otherwise they would have gained energy from nothing, or failed.
    """

    def _repr_html_(self) -> str:
        return table_of_attributes(self)

    contacts: int
    limits: int
    residual: float
    sweeps: int
    not_converged: int
    deepest: float
    energy_lost: float
    shortened: int = 0
    taken_back: float = 0.0


def has_memory_for(rows: int) -> bool:
    """Whether there is room for the two square matrices of a system of so many rows; nothing is written there."""
    try:
        np.empty((2, rows, rows))
    except MemoryError:
        return False
    return True


class ContactState:
    """Contact (where there are settings) and joint limits (where they act) of one simulation.

    bodies, freedoms: the most that the moving linkage may have.
    """

    fault = "the checkpoint is damaged: its contacts do not fit the model or each other."

    def __init__(self, model: Model, contact: Contact | None, limits: bool, state: State):
        """state: where the simulation begins."""
        self.model, self.contact = model, contact
        self.finder: Finder | None = None
        self.left_out = np.zeros((0, 2), dtype=np.int64)  # pairs of entities that overlap by design
        margin, contacts, nodes = 0.0, 0, 0
        if contact is not None:
            table = shape_table(model, contact)
            assembly = assemble_model(model)
            volumes = make_volumes(assembly, table)
            contacts, nodes = FIRST_CONTACTS, assembly.nodes.shape[0]
            finder = make_finder(table, volumes, assembly.depth, contacts)
            margin = contact.margin or 1e-3 * mean_size(table)
            self.left_out = overlaps_by_design(model, contact, finder, margin, state)
            self.finder = finder._replace(table=with_ignored(table, self.left_out))
        self.contacts = self.finder.contacts if self.finder is not None else cl.make_contacts(0)
        body_capacity = FIRST_BODIES + 2 * len(model.loops)
        self.arrays = allocate_contact_arrays(
            model.n_bodies, model.nq, model.nv, nodes, contacts, body_capacity, FIRST_LIMITS if limits else 0
        )
        if self.finder is not None:
            opened = all_open(self.finder.volumes)
            self.arrays.open_nodes[: opened.size] = opened
            self.arrays = self.arrays._replace(open_nodes=self.arrays.open_nodes[: opened.size])  # with room for all
            self.arrays.node_body[:] = self.finder.volumes.frame
            self.arrays.leaf[:] = assembly.leaf
        law = contact or Contact()
        self.arrays.settings[:] = (
            law.tolerance, law.max_sweeps, law.rest_speed, law.correction, TOUCHING * margin, margin,
            contact.restitution if contact is not None else 0.0,
        )  # fmt: skip
        counts = self.arrays.counts
        counts[ca.LAW] = ca.COUPLED if law.law == "coupled" else ca.IMPACTS
        counts[ca.SELF_CONTACT], counts[ca.CONTINUOUS] = law.self_contact, law.continuous
        counts[ca.ANY_LIMITS] = limits
        counts[ca.MIN_BY_SWEEPS] = MIN_BY_SWEEPS
        if limits:
            self.arrays.lower[:], self.arrays.upper[:] = model.lower, model.upper
        self._make_solver()
        self.warnings = ContactWarnings(self)

    def _make_solver(self) -> None:
        model = self.model
        rows = loop_plan(model).rows if model.loops else []
        self.problem = make_problem(
            int(self.arrays.counts[ca.BODY_CAPACITY]),
            self.contacts.ids.shape[0],
            self.arrays.bound.shape[0],
            rows[-1].stop if rows else 0,
        )
        self.problem = self.problem._replace(loop_first=np.array([0, *(x.stop for x in rows)], dtype=np.int64))
        total = 3 * self.contacts.ids.shape[0] + self.arrays.bound.shape[0] + self.problem.loop_rate.shape[0]
        self.system = make_system(total, self.problem.v_free.shape[0])
        sizes = (self.contacts.ids.shape[0], self.arrays.bound.shape[0], self.problem.loop_rate.shape[0])
        self.factor = make_tree_factor(model.n_bodies, model.nv, COUPLINGS_PER_ROW * (sizes[0] + sizes[2]))
        self.sweeps = make_sweeps(model.n_bodies, model.nv, *sizes)

    @property
    def bundles(self) -> tuple[Any, ...]:
        """What stands behind `Moving` and `Constraints` in the table."""
        own = (self.arrays, self.contacts, self.problem, self.system, self.factor, self.sweeps)
        if self.finder is None:
            return own
        f = self.finder
        return (*own, ca.SearchNumbers(f.pairs, f.numbers, f.query), f.table, f.volumes, f.scratch)

    def follow_region(self, group: IntArray, pose: FloatArray) -> None:
        """The search reads the poses of nodes from `group` and `pose`, with which the moving linkage was gathered.

        Steps from now on stop after one in which contacts began or broke.
        """
        self.arrays = self.arrays._replace(node_body=group, pose=pose)
        self.arrays.counts[ca.STOPS_AT_CHANGES] = 1

    def update_between_steps(self, region: IntArray, choice: FloatArray) -> None:
        """Steps may update the region with this table, chosen by `choice`; the table is to be described anew."""
        self.arrays = self.arrays._replace(region=region, choice=choice)

    def begin_turns(self, kernels: tuple[int, ...], every: int, since: int, made: int) -> None:
        """Steps make updates from now on. kernels: by these addresses. every: steps between two updates; since, made: steps
        since the last one, or that many where one is due, and steps since it in truth."""
        self.arrays.turns[ca.EVERY :] = (every, since, made, 0, 0, *kernels)

    def ask_before_contact(self, asks: bool) -> None:
        """asks: from now on, a step in which a contact begins is not made before the region was chosen anew."""
        self.arrays.turns[ca.ASKS] = asks

    def end_turns(self) -> tuple[int, int, int, int]:
        """Steps make no more updates: since, made, how many there were and whether one failed."""
        turns = self.arrays.turns
        turns[ca.EVERY] = 0
        since, made, updates, failed = turns[ca.SINCE : ca.UPDATE].tolist()
        return since, made, updates, failed

    def watch(self, timeout: int) -> None:
        """No contact has changed since now. timeout: steps without impulse after which one has broken, and steps from now
        on in which changes wait."""
        counts = self.arrays.counts
        counts[ca.CHANGED], counts[ca.BREAK_TIMEOUT], counts[ca.UPDATE_TIMEOUT] = 0, timeout, timeout

    def grow(self) -> None:
        """Makes room for what the last step would have needed; the table is to be described anew.

        Raises StateError, with nothing changed, where that is more than memory holds.
        """
        arrays, counts = self.arrays, self.arrays.counts
        contacts, body_capacity = self.contacts.ids.shape[0], int(counts[ca.BODY_CAPACITY])
        limits = arrays.bound.shape[0]
        needed = int(self.contacts.number[cl.NEEDED])
        if needed > contacts:
            contacts = 2 * needed
        if counts[ca.NEEDED_BODIES] > body_capacity:
            body_capacity = 2 * int(counts[ca.NEEDED_BODIES])
        if counts[ca.NEEDED_LIMITS] > limits:
            limits = 2 * int(counts[ca.NEEDED_LIMITS])
        if not has_memory_for(3 * contacts + limits):
            raise StateError(
                f"a step of model '{self.model.name}' needs {needed:,} contacts, more than memory holds. Bodies deep "
                "inside a mesh of many triangles touch all of them: begin apart, name pairs that are to overlap in "
                "Contact(ignore=...), or use simpler shapes."
            )
        counts[ca.BODY_CAPACITY] = body_capacity
        self.arrays = arrays._replace(
            moving_body=np.zeros((contacts, 4), dtype=np.int64),
            contact_bodies=np.zeros(body_capacity + limits, dtype=np.int64),
            bound=np.zeros((limits, 3), dtype=np.int64),
        )
        self._replace_contacts(contacts, *self.saved_contacts().values())
        loops = self.problem.loop_impulse
        self._make_solver()
        self.problem.loop_impulse[:] = loops

    # -------------------------------------------------------------------------------------------------------- checkpoints

    def saved_contacts(self) -> dict[str, NDArray[Any]]:
        """What the next step needs of the contacts of the last one; behind those listed the ones that parted in it."""
        count = int(self.contacts.number[cl.COUNT])
        parted_ids, parted = self._parted()
        data = np.zeros((len(parted), cl.DATA))
        data[:, : cl.SUMMED] = parted[:, : cl.SUMMED]
        return {
            "contact_ids": np.concatenate([self.contacts.ids[:count], parted_ids]),
            "contact_data": np.concatenate([self.contacts.data[:count], data]),
            "contact_impulses": self.contacts.impulse[:count].copy(),
            "contact_sums": np.concatenate([self.contacts.summed[:count], parted[:, cl.SUMMED :]]),
        }

    def _parted(self) -> tuple[IntArray, FloatArray]:
        """`parted_ids` and `parted` of the contacts that gave impulses in an early part of the step and then parted."""
        parted = self.contacts.parted[: self.contacts.number[cl.PARTED]]
        given = (parted[:, cl.SUMMED : cl.SUMMED + 3] != 0.0).any(axis=1)  # not in a part that was taken back
        return self.contacts.parted_ids[: len(parted)][given], parted[given]

    def schema(self) -> tuple[Entry, ...]:
        shapes = self.finder.table.kind.shape[0] if self.finder is not None else 0
        arrays = self.arrays
        return (
            Entry("contact_ids", ("contacts", cl.IDS), "i", most=max(self.model.n_bodies, shapes) - 1),
            Entry("contact_data", ("contacts", cl.DATA)),
            Entry("contact_impulses", ("listed", 3)),
            Entry("contact_sums", ("contacts", 6)),
            Entry("contact_states", ("listed",), self.system.state.dtype.kind),
            Entry("limit_impulses", arrays.limit_impulse.shape),
            Entry("limit_sums", arrays.limit_sums.shape),
            Entry("loop_impulses", self.problem.loop_impulse.shape),
            Entry("contact_counts", arrays.counts.shape, "i"),
            Entry("known_contacts", ("known", ca.RECENT_COLUMNS), "i"),
            Entry("known_places", ("known", arrays.recent_at.shape[1])),
            Entry("contact_totals", arrays.totals.shape),
            Entry("contact_balance", (ca.PART_NUMBERS,)),
        )

    def saved(self) -> dict[str, NDArray[Any]]:
        return {
            **self.saved_contacts(),
            "contact_states": self.system.state[: int(self.contacts.number[cl.COUNT])].copy(),
            "limit_impulses": self.arrays.limit_impulse.copy(),
            "limit_sums": self.arrays.limit_sums.copy(),
            "loop_impulses": self.problem.loop_impulse.copy(),
            "contact_counts": self.arrays.counts.copy(),
            "known_contacts": self.arrays.recent[: self.arrays.counts[ca.RECENT]].copy(),
            "known_places": self.arrays.recent_at[: self.arrays.counts[ca.RECENT]].copy(),
            "contact_totals": self.arrays.totals.copy(),
            "contact_balance": self.arrays.balance[: ca.PART_NUMBERS].copy(),
        }

    def fits(self, saved: Saved) -> bool:
        """Whether bodies and shapes exist, and there are as many contacts as the counts and the other arrays say. How many
        are listed is nowhere counted: their shapes have a size; those that have parted have none, and gave an impulse."""
        ids, known = saved["contact_ids"], saved["known_contacts"].shape[0]
        listed, data = len(saved["contact_states"]), saved["contact_data"]
        shapes = self.finder.table.kind.shape[0] if self.finder is not None else 0
        return (
            listed <= len(ids)
            and bool((data[:listed, cl.SIZE] > 0.0).all())
            and not data[listed:, cl.SUMMED :].any()
            and bool((saved["contact_sums"][listed:, :3] != 0.0).any(axis=1).all())
            and bool((ids[:, :2] < self.model.n_bodies).all())
            and bool(((ids[:, 2:] >= 0) & (ids[:, 2:] < shapes)).all())
            and known <= ca.MOST_RECENT
            and int(saved["contact_counts"][ca.RECENT]) == known
        )

    def restore(self, saved: Saved) -> None:
        """Goes back to what `saved` gave; the table is to be described anew."""
        count = len(saved["contact_states"])
        room = max(self.contacts.ids.shape[0], len(saved["contact_ids"]))
        keep = {name: self.arrays.counts[name] for name in (ca.BODY_CAPACITY, ca.MIN_BY_SWEEPS)}
        ids, data = saved["contact_ids"], saved["contact_data"]
        self._replace_contacts(room, ids, data, saved["contact_impulses"], saved["contact_sums"])
        if self.arrays.moving_body.shape[0] < room:
            self.arrays = self.arrays._replace(moving_body=np.zeros((room, 4), dtype=np.int64))
        self._make_solver()
        self.system.state[:count] = saved["contact_states"]
        self.arrays.limit_impulse[:], self.problem.loop_impulse[:] = saved["limit_impulses"], saved["loop_impulses"]
        self.arrays.limit_sums[:] = saved["limit_sums"]
        self.arrays.counts[:], self.arrays.totals[:] = saved["contact_counts"], saved["contact_totals"]
        self.arrays.balance[: ca.PART_NUMBERS] = saved["contact_balance"]
        for name, value in keep.items():
            self.arrays.counts[name] = value
        known = len(saved["known_contacts"])
        self.arrays.recent[:known], self.arrays.recent_at[:known] = saved["known_contacts"], saved["known_places"]

    def _replace_contacts(self, room: int, ids: Any, data: Any, impulses: Any, sums: Any) -> None:
        """With room for so many; what `saved_contacts` gave."""
        count, parted = len(impulses), len(ids) - len(impulses)
        self.contacts = cl.make_contacts(room)
        self.contacts.ids[:count], self.contacts.data[:count] = ids[:count], data[:count]
        self.contacts.impulse[:count], self.contacts.summed[:count] = impulses, sums[:count]
        self.contacts.parted_ids[:parted] = ids[count:]
        self.contacts.parted[:parted] = np.hstack([data[count:, : cl.SUMMED], sums[count:]])
        self.contacts.number[cl.COUNT], self.contacts.number[cl.PARTED] = count, parted
        if self.finder is not None:
            self.finder = self.finder._replace(contacts=self.contacts)

    # ------------------------------------------------------------------------------------------------------------ results

    def points(self) -> tuple[ContactPoint, ...]:
        """The contacts of the last step; of one made in parts those of the last part, with the impulses of all, and what
        gave impulses before and has parted."""
        return points_of(self.model, self.rows())

    def rows(self) -> ContactRows:
        """The same as arrays, such as recordings keep them; those that have parted come last."""
        listed = int(self.contacts.number[cl.COUNT])
        own, data, _, sums = self.saved_contacts().values()
        count, impulse = len(own), sums[:, :3]
        ids, numbers = np.zeros((count, cp.IDS), dtype=np.int32), np.zeros((count, cp.NUMBERS))
        ids[:, cp.BODY] = own[:, cl.BODY_A]
        if count and self.finder is not None:
            ids[:, cp.OTHER] = self.finder.table.entity[own[:, cl.SHAPE_B]]
        normal = data[:, cl.NORMAL : cl.NORMAL + 3]
        state = np.concatenate([self.system.state[:listed], np.zeros(count - listed, dtype=np.int64)])
        pressed = np.einsum("ij,ij->i", impulse, normal) > 0.0
        ids[:, cp.STATE] = np.where(pressed, np.select([state == STICK, state == SLIDE], [1, 2], 0), 0)
        numbers[:, cp.POINT : cp.POINT + 3] = data[:, cl.POINT : cl.POINT + 3]
        numbers[:, cp.NORMAL : cp.NORMAL + 3] = normal
        numbers[:, cp.GAP] = data[:, cl.GAP]
        numbers[:, cp.IMPULSE : cp.IMPULSE + 3] = impulse
        numbers[:, cp.STEP] = self.arrays.totals[ca.STEP]
        return ContactRows(ids, numbers)

    def name_of(self, body: int, shape: int) -> str:
        """The name of a body, or of the obstacle that a shape is of where there is no body."""
        if body >= 0:
            return self.model.body_names[body]
        assert self.finder is not None
        return cp.name_of(self.model, int(self.finder.table.entity[shape]))

    @property
    def pressing(self) -> int:
        """Contacts of the last step that press."""
        return int((self.rows().ids[:, cp.STATE] > 0).sum())

    @property
    def all_energy_lost(self) -> float:
        """Energy lost to contact and limits since the beginning [J]."""
        return float(self.arrays.totals[ca.ALL_ENERGY_LOST])

    def reset(self) -> None:
        """No contact was found and no limit was reached before: as in the beginning, with the room there is now."""
        self.contacts.number[:] = 0
        self.contacts.impulse[...] = 0.0
        self.contacts.summed[...] = 0.0
        self.arrays.limit_impulse[...], self.arrays.limit_sums[...] = 0.0, 0.0
        self.arrays.totals[:], self.arrays.balance[:] = 0.0, 0.0
        self.arrays.counts[ca.CONTACT_BODIES : ca.RECENT + 1] = 0  # in use, needed, CHANGED and RECENT
        self.problem.loop_impulse[:] = 0.0
        self.system.state[:] = 0

    def clear_totals(self) -> None:
        self.arrays.totals[: ca.STEP] = 0.0

    def report(self) -> ContactReport:
        totals = self.arrays.totals
        return ContactReport(
            contacts=int(self.contacts.number[cl.COUNT]),
            limits=int(self.arrays.counts[ca.LIMITS]),
            residual=float(totals[ca.WORST_RESIDUAL]),
            sweeps=int(totals[ca.ALL_SWEEPS]),
            not_converged=int(totals[ca.NOT_CONVERGED]),
            deepest=float(totals[ca.DEEPEST]),
            energy_lost=float(totals[ca.ENERGY_LOST]),
            shortened=int(totals[ca.SHORTENED]),
            taken_back=float(totals[ca.TAKEN_BACK]),
        )

    @property
    def is_in_contact(self) -> bool:
        """Whether there are contacts, or joints near their limits, in the last step."""
        return bool(self.contacts.number[cl.COUNT] > 0 or self.arrays.counts[ca.LIMITS] > 0)

    @property
    def margin(self) -> float:
        """[m]"""
        return self.arrays.settings.item(ca.MARGIN)

    @property
    def weight(self) -> float:
        """Of all bodies [N]."""
        return float(self.model.mass.sum() * np.linalg.norm(self.model.gravity))

    @property
    def is_pushed_apart(self) -> bool:
        """Whether the last steps began with bodies deeper inside each other than the margin."""
        return bool(self.arrays.totals[ca.DEEPEST] > self.arrays.settings[ca.MARGIN])

    def explain(self, status: int) -> StateError | None:
        """Why a step failed, where contact or limits were the cause."""
        table = self.finder.table if self.finder is not None else None
        return explain_contact(self.model, status, self.arrays, table)
