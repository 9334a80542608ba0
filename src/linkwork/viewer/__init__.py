"""Pages in a browser, animations and files that play offline. Loaded when first used."""

from linkwork.opening import view
from linkwork.viewer.view import Viewer

__all__ = ["Viewer", "view"]
