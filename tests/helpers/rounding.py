"""How far two right results may be apart: every tolerance that stands for rounding is made of the factors named here."""

EPS = 2.0**-52
OPERATIONS = (
    100  # roundings between the data and a number, unless a test says otherwise: ten times what is seen, or more
)


def rounding(*, condition: float = 1.0, scale: float = 1.0, steps: int = 1, operations: int = OPERATIONS) -> float:
    """ε · operations · condition · scale · steps.

    condition: how much larger the relative error of a result is than that of its data: of the matrix that is solved, or
        of a sum that cancels.
    scale: the largest number that went into the result, in the result's unit.
    steps: how often the result is the data of the next computation.
    Processors with fused multiply-add and without it, and other libraries of sines, differ by less than this.
    """
    return EPS * operations * condition * float(scale) * steps
