"""Pages in a browser, animations and files that play offline. Loaded when first used."""

from linkwork.viewer.view import Viewer, view

__all__ = ["Viewer", "view"]
