"""Shows the checks of one linkage."""

import sys

from .checks import check_in_motion, check_linkage

seed, number = int(sys.argv[1]), int(sys.argv[2])
for check in (*(check_linkage(seed, number) or []), *(check_in_motion(seed, number) or [])):
    print(check, "WRONG" if check.is_wrong_in_any_case else "")
