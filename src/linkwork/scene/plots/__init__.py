"""One picture of a recording: energies, joints at work, error bound, moving joints, chosen joints, paths of chosen points.

Needs matplotlib, the extra `plots`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from linkwork.core.messages.extras import needed
from linkwork.core.units import given_in
from linkwork.errors import LinkworkError
from linkwork.record.recording import Recording
from linkwork.scene.plots.joints import effort_panels, joint_panels, sensor_panels
from linkwork.scene.plots.motion import motion_panels
from linkwork.scene.plots.paths import path_panels
from linkwork.scene.plots.rods import rod_panels
from linkwork.scene.plots.work import energy_panels, work_panels

SIZE = (4.6, 3.5)  # width and height of a panel [inch]
IN_A_ROW = 3


def save_plot(
    recording: Recording,
    path: str | Path,
    joints: Sequence[str] = (),
    bodies: Sequence[str] = (),
    efforts: Sequence[str] = (),
) -> list[str]:
    """Draws a recording into a file; returns the titles of its panels.

    joints: names or patterns; efforts: likewise, whose efforts to show; bodies: names of bodies or frames. Without them:
    what the scene asked for, or what moves most.
    """
    message = "drawing needs matplotlib; install it with: pip install '.[plots]'"
    FigureCanvasAgg = needed("matplotlib.backends.backend_agg", message).FigureCanvasAgg
    Figure = needed("matplotlib.figure", message).Figure
    if len(recording) < 2:
        raise LinkworkError(f"recording '{recording.path}' has {len(recording)} frame; a plot over time needs two.")
    panels = [
        *energy_panels(recording),
        *work_panels(recording),
        *motion_panels(recording),
        *joint_panels(recording, joints),
        *effort_panels(recording, efforts),
        *path_panels(recording, bodies),
        *sensor_panels(recording),
        *rod_panels(recording),
    ]
    if not panels:
        raise LinkworkError(f"recording '{recording.path}' has nothing to draw: no scalars, and nothing moved.")
    columns = min(IN_A_ROW, len(panels)) if len(panels) != 4 else 2
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(SIZE[0] * columns, SIZE[1] * rows + 0.4), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(str(recording.metadata.get("title", recording.path.name)), fontsize=12)
    for k, panel in enumerate(panels):
        axes = figure.add_subplot(rows, columns, k + 1)
        axes.set_title(panel.title, fontsize=10)
        axes.tick_params(which="both", labelsize=8)
        axes.grid(color="0.92")
        axes.set_axisbelow(True)
        with given_in(recording.units):
            panel.draw(axes)
    figure.savefig(path, dpi=130)
    return [panel.title for panel in panels]
