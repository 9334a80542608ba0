"""Names that users mistype, and array types: linkwork.core.messages.names and linkwork.core.arrays."""

import numpy as np
import pytest

from linkwork.core.arrays import frozen
from linkwork.core.messages.names import close_names, did_you_mean, did_you_mean_or_list, matching

NAMES = ["hip", "knee", "ankle", "knee_left", "knee[1]"]


def test_the_nearest_names_come_first():
    assert close_names("kne", NAMES, most=1) == ["knee"]
    assert did_you_mean("kne", NAMES, most=1) == "; did you mean 'knee'?"
    assert did_you_mean("anlke", ["ankle", "ankles"]) == "; did you mean 'ankle' or 'ankles'?"
    assert did_you_mean("zzz", NAMES) == ""
    assert did_you_mean(3, NAMES) == ""  # whatever was given


def test_without_a_near_name_there_is_a_list():
    assert did_you_mean_or_list("hipp", NAMES) == "; did you mean 'hip'?"
    assert did_you_mean_or_list("zzz", NAMES[:2]) == "; there are hip, knee."
    assert did_you_mean_or_list("zzz", NAMES, shown=2) == "; there are hip, knee, ...."
    assert did_you_mean_or_list("zzz", []) == "."


def test_a_million_names_are_not_all_compared():
    """Comparing takes some 10 µs per name; the hint may miss one that is far behind, but comes at once."""
    seen = []

    def many():
        for k in range(1_000_000):
            seen.append(k)
            yield f"joint_{k}"

    assert did_you_mean("joint_7x", many())
    assert len(seen) <= 10_001


@pytest.mark.parametrize(
    ("pattern", "indices"),
    [("knee", [1]), ("knee*", [1, 3, 4]), ("?ip", [0]), ("knee[1]", [4]), ("toe", []), ("*", [0, 1, 2, 3, 4])],
)
def test_patterns(pattern, indices):
    assert matching(pattern, NAMES) == indices


def test_frozen_arrays():
    array = np.zeros(3)
    assert frozen(array) is array
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 3.0
