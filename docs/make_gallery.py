"""Draws a thumbnail of every built-in scene and writes the page of the gallery.

    python docs/make_gallery.py              # all
    python docs/make_gallery.py snake_robot  # these, and the page

A scene runs for a part of its length, and is drawn as it is then. The page lists title, picture and command of each.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

from matplotlib.figure import Figure

import linkwork as lw
from linkwork.plotting import draw
from linkwork.scene.builtin_scenes import builtin_scenes, scene_titles

DOCS = Path(__file__).parent
PICTURES = DOCS / "pictures" / "gallery"
SECONDS = 3.0  # of the processor per scene, at most
HEAD = """# Gallery

The scenes that come with Linkwork. `linkwork run NAME` computes one; `linkwork view NAME` shows it in the browser while it
runs, where a body can be pulled with the mouse. [Scenes](scenes.md) says how to write one. Pictures and page are made by
`python docs/make_gallery.py`.

"""


def thumbnail(name: str) -> None:
    """Runs a scene for a while and draws where it has come to."""
    scene = lw.Scene.read(builtin_scenes()[name])
    sim = scene.build()
    begun, steps = time.process_time(), 0
    while time.process_time() - begun < SECONDS and steps * scene.h < 0.4 * scene.steps * scene.h:
        sim.step(scene.h, 20)
        steps += 20
    figure = Figure(figsize=(3.2, 2.4))
    axes = figure.add_axes((0, 0, 1, 1), projection="3d")
    draw(sim.model, sim.state, axes)
    axes.set_axis_off()
    PICTURES.mkdir(parents=True, exist_ok=True)
    figure.savefig(PICTURES / f"{name}.png", dpi=70)


def main(wanted: list[str]) -> None:
    titles = scene_titles()
    for name in wanted or titles:
        print(name, flush=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                thumbnail(name)
            except lw.LinkworkError as error:  # a scene whose file is not there
                print(f"  no picture: {error}")
    rows = []
    for name, title in titles.items():
        if not (PICTURES / f"{name}.png").exists():
            continue
        rows.append(
            f'<figure markdown="span">\n![{title}](pictures/gallery/{name}.png)\n'
            f"<figcaption>{title}<br><code>linkwork view {name}</code></figcaption>\n</figure>\n"
        )
    page = HEAD + '<div class="gallery" markdown="1">\n' + "\n".join(rows) + "</div>\n"
    (DOCS / "gallery.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
