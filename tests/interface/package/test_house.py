"""The count of what the house holds: it runs, and sees what it is to see."""

import re

from benchmarks import house

TWO_FORMS = """
def advance(table, h, n):
    while made < n and status == OK:
        pass


def advance_again(table, h, n):
    for done in range(n):
        self.other._hidden()


def many(a, b, c, d, e, f, g, h, i, j, k):
    pass
"""


def test_the_table_of_this_checkout(capsys):
    """Every kernel that is counted is there: each draws on more files than itself."""
    assert house.main([]) == 0
    printed = capsys.readouterr().out.splitlines()
    for words in ("full Euler step", "adaptive step with contact", "largest of its kernels"):
        row = next(line for line in printed if words in line)
        assert int(re.search(r"(\d+) / ", row)[1]) > 1


def test_loops_and_long_signatures_are_found(tmp_path):
    package = tmp_path / "src/linkwork"
    (package / "simulation").mkdir(parents=True)
    (package / "simulation/steps.py").write_text(TWO_FORMS)
    assert [name.split()[-1] for name in house.loops_over_steps(package)] == ["advance", "advance_again"]
    assert house.long_signatures(package) == ["simulation/steps.py: many (11)"]
    assert house.private_uses([package / "simulation/steps.py"], set()) == ["steps.py:9 _hidden"]
    assert not house.private_uses([package / "simulation/steps.py"], {"_hidden"})


def test_every_file_that_a_kernel_draws_on_is_counted(tmp_path):
    (tmp_path / "a.py").write_text("from linkwork.b import x\n")
    (tmp_path / "b.py").write_text("import linkwork.c\n")
    (tmp_path / "c.py").write_text("x = 1\n")
    (tmp_path / "d.py").write_text("from linkwork.a import x\n")
    assert {path.stem for path in house.drawn_on(tmp_path, "a")} == {"a", "b", "c"}
