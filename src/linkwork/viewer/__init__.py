"""Pages in a browser, animations and files that play offline. Loaded when first used."""

from linkwork.viewer.view import Viewer  # isort: skip
from linkwork.opening import view  # isort: skip  (last: the module above has the same name, and importing it sets that)

__all__ = ["Viewer", "view"]
