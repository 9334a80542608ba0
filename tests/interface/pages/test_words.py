"""Words that CONTRIBUTING.md rules out do not come back: in sources, help texts, messages, docs and tests."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PARTS = (
    "(step|joint|second|round|frame|change|turn|body|node|call|thread|update|solve|segment|file|line|degree|precision)"
)
A_FOR_PER = "'a' for 'per' in a name"
INDEX = "extras of an index that has none"
RIGID_GROUPS = "'rigid part' and 'rigid piece' for a rigid group"
SLIPS = {
    "'is no X' for 'is not a X'": r"(?<!here )\b(is|are|was|were) no (?!longer|more|less|worse|higher|lower)\w",
    A_FOR_PER: rf"(?i)(?<!in)(?<!of)(?<!after)_a_{PARTS}\b",
    "'a' for 'per' after a unit": rf"\b(µs|ns|ms|kB|MB|bytes|numbers|evaluations) an? (active )?{PARTS}\b",
    "'one a X' for 'one per X'": rf"\bone (row |node |sample |line )?a {PARTS}\b"
    r"|\b[Oo]ne (row|column|number|thread|launch|function|torsion|angle|rounding|climb|descent|joint) an? "
    r"(loop|link|JOIN|node|joint|level|screw|column|row|body|coordinate|freedom|pair|degree)\b"
    r"|\b(threads|starts|numbers|torsions|angles) a (node|level|column|body|coordinate|degree|joint|loop|link)\b",
    "doors": r"\b(at|of) the door\b|tests/doors",
    "floating or free figures": r"\b(floating|free) figures?\b",
    "figures of a simulation": r"\bsim\.figures\(|recording\.figures\b",
    "what is told": r"\b(is|are) told (together|as|with)\b",
    "gifts": r"\ba gift to\b",
    "'a' for 'per' after a noun": r"\b(torsions|legs?|rows? of numbers|ticks) an? (segment|residue|second|link)\b",
    "people for things": r"(?i)\bwho moves\b|\bnobody (asks|waits|checks)\b|\bbeginning badly\b",
    "arrows that hide": r"behind the arrows?\b",
    "obeyed and told": r"\bobeyed, and told\b",
    INDEX: r"pip install '?linkwork\[",
    "'touch' for what changed, and for memory": (
        r"\btouch_(path|bodies|joints)\b|\brenew_touched\b|\buntouched\(|\b(TOUCHED|mark_touched)\b"
    ),
    "pieces of kernels, runs and drawings": r"\b[Pp]ieces? of (a |the )?(compiled )?(kernels?|steps?)\b"
    r"|\bbetween two pieces\b|\bpieces? that (it|they) calls?\b|\bcut into pieces\b|\bjoint_pieces\b"
    r"|\bPiece(Compiler|Library)\b|\bpieces_of\(|\b(LARGEST_PIECE|PIECE_JOINT_STEPS)\b",
    "'ready' for what comes with Linkwork": r"(?i)\bready (linkage|scene|model)s?\b|\bscene/ready\b",
    "hands and eyes": r"(?i)\bhands and eyes\b",
    "quick parts of the compiler": r"\bquick_(calls|items|front_end)\b",
    "what a number or file tells": r"(?i)\b(numbers|notes?) (that )?(are|is) told in\b"
    r"|\b(file|model|browser)s? (always )?tells?\b",
    "efforts, limits and momenta under names of their own": (
        r"\b(s|moving|mechanism)\.(drive|resistance|strength|top_speed|judged|acted|kept)\b"
        r"|\bevaluated\[(DRIVE|RESISTS)\b|\b(forget|gather)_drives\b|\bdrive_coupled\b|\baccelerate_as_driven\b"
    ),
    "judging and noting for what is taken, checked and recorded": (
        r"\bjudge_(motors|along_way|motion|stiffness)\b|_steps_judged\b|\bnote_(efforts|joints?)\b"
    ),
    "wishes and doubts of step control": r"\b(SUBSTEP_WISH|WISH_BEFORE|IN_DOUBT|is_in_doubt|STEP_PAST|begin_past)\b"
    r"|\b(LENGTH|PART)_WISH\b|\bwish(es|ed) for\b|\b(past_of|forget_past)\b",
    "patience of contacts, whose timeouts are meant": r"\bpatience_of\b|\bPARTS_OF_PATIENCE\b"
    r"|\bwatch\(patience|\[PATIENCE\]",
    "held, kept and whole for three other things": (
        r"\brun\.(held_open|kept_q)\b|\bwhole_tree\b|\bstart_kept\b|\bws\.(KEPT|JOINED)\b"
    ),
    "messages that are left and taken": r"\b(leave|take)_(message|reading|snapshot)\b|\bDevicePump\b|\bCondenser\b",
    "fronts of rooms": r"\b(dynamics|gpu|derivatives|reaching|sensing)[./]front\b",
    "two names for one array of the assembly tree": r"\bsolver\.(hinge|coef|freedom|total)\b|\bc\.kept\b",
    "'touching' for the contact step": r"linkwork\.simulation\.touch|\b(touch_of|allocate_touch|advance_touching)\b"
    r"|\b(begin|end|try)_(un)?touch(ing|ed)\b|\bWAS_TOUCHING\b|\btouching: ContactState"
    r"|\btouch\.(back|half_way|wrenches)\b",
    "'answers' for responses": r"\banswer_matrix\b|\b(couple|switch|times)_answers?\b|\b(coupled|switched)_answer\b"
    r"|\banswer_(all|of|to)\w*|\b(free|own)_answers?\b|\bNO_ANSWERS\b|\.answers\(|\banswers to (unit|impulses|wrenches)\b",
    "'front' for a rigid group": r"\bfronts\.py|\bfront_(below|pose)\b|\bFRONTS\b|\badd_front\b",
    "'front' for the frontier": r"\*front\*|\bnodes? of the front\b|\bfinal front\b",
    RIGID_GROUPS: r"\b[Rr]igid[ _](part|piece)s?\b|\b(has|body_in|hang|find|load|follow|place_by|_on)_pieces?\b"
    r"|\bpiece_(forces|field|fluid)\b|\bPiece(Forces|Field|Fluid)\b|\bcounts\[PIECES\]|\breduced\.piece\b",
    "'carrier', 'whole' and 'kept' in steps": r"\b(find_carriers|carrier_of)\b|\bt\.(whole|held|reached)\b|\bs\.kept\b",
    "people for kernels": r"(?<!def )(?<!\.)\b(pose_(problem|again)|meet_with_motors|solve_and_judge|grow_older)\(",
    "'judged' for the law of a motor": r"\bs\.judged\b|\bjudge_(motors|along_way|impulses|balance)\b|as_judged\b",
    "'gone', 'stood' and 'beyond' for distances": r"\bvolumes\.(known|gone|stood|beyond|part_in|travel|made)\b",
    "'few' for small": r"\bsolve_few\w*|\bMOST_FEW\b|\bsystem\.few\b",
}

# What is ruled out beside the above where people describe tests, tools and the paper.
SLIPS_OF_TESTS = {
    "judges and twins for references": r"\b[Jj]udges?\b|(?<![/,])\b[Tt]win\b",
    "what is told": r"(?<!sensor\.0\.)\b([Tt]old|tells?)\b",
    "doors for refusals": r"- doors$|\bto the doors?\b",
    "answers for responses, solutions and results": r"\banswers? (as|to|for)\b|\b(dense|textbook|known|exact) answers?\b",
    "pieces of runs": r"\blast_piece\b|\brun\(pieces\)",
    "floating figures": r"_figures?_(keeps|has|stop|at)\b|\bfree_figures?\b",
}

# What the changelog said of a version stays as it was said; tests of what is printed and installed quote it.
AS_IT_WAS = {
    (RIGID_GROUPS, "CHANGELOG.md"),
    (INDEX, "test_first_look.py"),
    (INDEX, "test_packaging.py"),
}
SOURCES = (
    ("src/linkwork", ("*.py", "*.cuh", "*.toml")),
    ("docs", ("*.md",)),
    ("benchmarks", ("*.py",)),
    ("examples", ("*.py",)),
)
TESTS = (("tests", ("*.py",)), ("tools", ("*.py",)), ("paper", ("*.py", "*.md")), ("docs", ("*.py",)))


def files(folders) -> list[Path]:
    return sorted(
        path for folder, patterns in folders for pattern in patterns for path in (ROOT / folder).rglob(pattern)
    )


def lines_of(path: Path) -> list[str]:
    """Without what has to name the words: the section of words in CONTRIBUTING."""
    text = path.read_text(encoding="utf-8")
    if path.name == "CONTRIBUTING.md":
        text = re.sub(
            r"^## Words\n.*?(?=^## )", lambda m: "\n" * m[0].count("\n"), text, flags=re.MULTILINE | re.DOTALL
        )
    return text.splitlines()


TEXTS = {path: lines_of(path) for path in [ROOT / "README.md", ROOT / "CHANGELOG.md", *files(SOURCES)]}
TEXTS_OF_TESTS = {path: lines_of(path) for path in [ROOT / "CONTRIBUTING.md", *files(TESTS)] if path != Path(__file__)}


def found_in(texts: dict[Path, list[str]], slip: str, pattern: str) -> list[str]:
    """Lines with a slip. Names of tests are sentences, in which "a" may stand."""
    return [
        f"{path.relative_to(ROOT)}:{k}: {line.strip()}"
        for path, lines in texts.items()
        if (slip, path.name) not in AS_IT_WAS
        for k, line in enumerate(lines, start=1)
        if re.search(pattern, re.sub(r"\bdef test_\w+", "", line) if slip == A_FOR_PER else line)
    ]


@pytest.mark.parametrize("slip", SLIPS)
def test_no_slip(slip):
    found = found_in({**TEXTS, **TEXTS_OF_TESTS}, slip, SLIPS[slip])
    assert not found, "\n".join(found)


@pytest.mark.parametrize("slip", SLIPS_OF_TESTS)
def test_no_slip_in_tests(slip):
    found = found_in(TEXTS_OF_TESTS, slip, SLIPS_OF_TESTS[slip])
    assert not found, "\n".join(found)


def test_the_words_that_are_ruled_out_may_stand_in_their_table():
    lines = TEXTS_OF_TESTS[ROOT / "CONTRIBUTING.md"]
    assert not any("judge, twin" in line for line in lines)
    assert "## Names that change" in lines


@pytest.mark.parametrize(
    ("slip", "line"),
    [
        ("'is no X' for 'is not a X'", "this is no TOML"),
        ("'is no X' for 'is not a X'", "coordinates that are no vectors"),
        (A_FOR_PER, "work_a_step = 3"),
        (A_FOR_PER, "STEPS_A_SECOND = 3"),
        ("'a' for 'per' after a unit", "70.7 µs a step"),
        ("'one a X' for 'one per X'", "one row a body"),
        ("'one a X' for 'one per X'", "# Columns of `loop`, one row a loop: pose of B in A"),
        ("'one a X' for 'one per X'", "narrow levels with six threads a node"),
        ("doors", "checked at the door"),
        ("'a' for 'per' after a noun", "two torsions a residue"),
        ("people for things", "Who moves when: a map"),
        ("'touch' for what changed, and for memory", "touch_bodies(table, bodies)"),
        ("two names for one array of the assembly tree", "row = solver.hinge[i]"),
        ("efforts, limits and momenta under names of their own", "s.drive[j] += effort"),
        ("judging and noting for what is taken, checked and recorded", "note_efforts(table, h)"),
        ("wishes and doubts of step control", "s.numbers[mv.SUBSTEP_WISH] = 0.5 * span"),
        ("held, kept and whole for three other things", "quiet = run.held_open[node] == 0"),
        ("messages that are left and taken", "leave_message(memory, post, room, message)"),
        ("fronts of rooms", "from linkwork.dynamics.front import forward_dynamics"),
        ("arrows that hide", "prints what it says behind the arrows"),
        ("obeyed and told", "limits are obeyed, and told"),
        (INDEX, "pip install 'linkwork[plots]'"),
        ("floating or free figures", "bases of floating figures"),
        ("'touch' for what changed, and for memory", "work.counters[TOUCHED] = count"),
        ("efforts, limits and momenta under names of their own", "t.evaluated[RESISTS, j]"),
        ("efforts, limits and momenta under names of their own", "forget_drives(x)"),
        ("wishes and doubts of step control", "t.balance[ca.LENGTH_WISH] = 0.0"),
        ("wishes and doubts of step control", "the length wished for [s]"),
        ("wishes and doubts of step control", "forget_past(self.arrays)"),
        ("patience of contacts, whose timeouts are meant", "contact.watch(patience)"),
        ("'touching' for the contact step", "def rows(model: Model, touching: ContactState)"),
        ("'touching' for the contact step", "fast = touch.half_way(total, wrenches)"),
        ("'answers' for responses", "a = answer_of_stretch(node_data, at, f1, f2)"),
        ("'answers' for responses", "X, A = closed.answers(balance.r[None], W_)"),
        ("'front' for the frontier", "right below the active ones are the *front*"),
        ("'front' for a rigid group", "potential += add_front(s, c, reduced, root)"),
        (RIGID_GROUPS, "pairs inside a rigid part keep their distance"),
        (RIGID_GROUPS, "for r in range(reduced.counts[PIECES]):"),
        (RIGID_GROUPS, "from linkwork.adaptive.dynamics.reduced.rigid_pieces import place_nodes"),
        ("pieces of kernels, runs and drawings", "Forces that Python finds between two pieces of the compiled step"),
        ("'touching' for the contact step", "from linkwork.simulation.touching import arrays"),
        ("'touching' for the contact step", "status = end_untouched(table, h)"),
        ("'answers' for responses", "answer_matrix(table, limits, out)"),
        ("'front' for a rigid group", "row, node = front_below(volumes, k, part)"),
        ("'carrier', 'whole' and 'kept' in steps", "place = t.whole[j]"),
        ("people for kernels", "pose_problem(table, count, limits)"),
        ("'judged' for the law of a motor", "u = s.judged[j]"),
        ("'gone', 'stood' and 'beyond' for distances", "volumes.gone[row] += way"),
        ("'few' for small", "solve_few(system.few, n)"),
        ("pieces of kernels, runs and drawings", "marks a piece of kernels"),
        ("pieces of kernels, runs and drawings", "drawn = pieces_of(model)"),
        ("'ready' for what comes with Linkwork", "# Ready linkages"),
        ("hands and eyes", "**hands and eyes**: force feedback"),
        ("quick parts of the compiler", "from linkwork.core import quick_calls"),
        ("what a number or file tells", "Units that numbers are told in"),
    ],
)
def test_a_slip_would_be_found(slip, line):
    assert re.search(SLIPS[slip], line)


@pytest.mark.parametrize(
    ("slip", "line"),
    [
        ("judges and twins for references", "the judge of other balances"),
        ("judges and twins for references", "twin.restore(saved)"),
        ("what is told", "every fault is told, by name"),
        ("doors for refusals", "# ------- doors"),
        ("answers for responses, solutions and results", "closed chains with textbook answers"),
        ("pieces of runs", "def run(pieces):"),
        ("floating figures", "model = free_figures(rng, 2, 8)"),
    ],
)
def test_a_slip_of_tests_would_be_found(slip, line):
    assert re.search(SLIPS_OF_TESTS[slip], line)


@pytest.mark.parametrize(
    "line",
    [
        "there is no joint",
        "There are no special cases",
        "it is no longer part",
        "a gap is no more than",
        "one of a body",
        "a piece of rod",
        "in front of the plane",
        "a part of a rigid group",
        "wishes",
    ],
)
def test_plain_english_passes(line):
    assert not any(re.search(pattern, line) for pattern in SLIPS.values())
