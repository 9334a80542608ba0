"""Shows the checks of one linkage."""

import sys

from .checks import check_linkage

for check in check_linkage(int(sys.argv[1]), int(sys.argv[2])) or []:
    print(check, "WRONG" if check.is_wrong_in_any_case else "")
