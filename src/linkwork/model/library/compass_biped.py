"""The compass walker: two straight legs joined at the hip, all mass in points.

Numbers of table 1 in J. Stępień, A. Polański and K. Wojciechowski, "A general on-the-fly algorithm for modifying the
kinematic tree hierarchy", Int. J. Appl. Math. Comput. Sci. 22(2), 2012, after I. Hiskens (2001).
"""

from __future__ import annotations

from linkwork.model.inertia import Inertia
from linkwork.model.joints import Fixed, Revolute
from linkwork.model.library.parts import positive, shifted
from linkwork.model.linkage import Linkage
from linkwork.model.shapes import Capsule, Sphere

HINGE = Revolute((0.0, -1.0, 0.0))  # positive angles lean a leg back, as the source counts them; it walks towards +x
BAR = 0.012  # half thickness of a drawn leg, in leg lengths
BALL = 0.05  # drawn radius of a mass, in leg lengths


def compass_biped(
    leg_length: float = 1.0, hip_mass: float = 2.0, leg_mass: float = 1.0, mass_from_hip: float = 0.5
) -> Linkage:
    """A walker of two stiff legs in the x-z plane, standing on its left foot at the world's origin.

    leg_length [m]; hip_mass, leg_mass [kg]; mass_from_hip: where on the leg its mass sits, in leg lengths from the hip.
    q[0] is the angle of the left leg from the vertical, q[1] that of the right leg from the left one [rad], both positive
    backwards. "left_foot" and "right_foot" are frames at the tips. Its bodies are point masses: use `aba` or `dense`.
    """
    length = positive(leg_length, "leg_length", "compass_biped")
    hip, leg = positive(hip_mass, "hip_mass", "compass_biped"), positive(leg_mass, "leg_mass", "compass_biped")
    down = length * positive(mass_from_hip, "mass_from_hip", "compass_biped")
    linkage = Linkage("compass_biped")
    top, middle, half = (
        shifted((0.0, 0.0, length)),
        shifted((0.0, 0.0, length - down)),
        shifted((0.0, 0.0, 0.5 * length)),
    )
    bar, dot = BAR * length, BALL * length
    linkage.add_body(
        "left_leg", "world", HINGE,
        inertia=Inertia.point_mass(leg, middle.xyz) + Inertia.point_mass(hip, top.xyz),
        shapes=(Capsule(bar, length, placement=half), Sphere(dot, placement=middle), Sphere(1.5 * dot, placement=top)),
    )  # fmt: skip
    below, low = shifted((0.0, 0.0, -down)), shifted((0.0, 0.0, -0.5 * length))
    linkage.add_body(
        "right_leg", "left_leg", HINGE, top, Inertia.point_mass(leg, below.xyz), joint_name="hip",
        shapes=(Capsule(bar, length, placement=low), Sphere(dot, placement=below)),
    )  # fmt: skip
    linkage.add_body("left_foot", "left_leg", Fixed())
    linkage.add_body("right_foot", "right_leg", Fixed(), shifted((0.0, 0.0, -length)))
    return linkage
