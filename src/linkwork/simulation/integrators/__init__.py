"""Integrators on the manifold of joint coordinates. Theory, and which to take when: docs/integrators.md.

Each is written as `begin` and `resume`: where it wants the accelerations, what it does with them. Who computes them is not
its business: the compiled step calls `aba` in between, other algorithms are called from Python. All of them move
coordinates by q ⊕ u only, so that orientations stay orientations.
"""
