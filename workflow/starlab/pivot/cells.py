"""Which algorithms of the matrix train on demonstrations' turns, and how they differ. Knows nothing of torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PivotKind:
    """One algorithm on single turns."""

    verifier: str = "functional"
    filtered: bool = True
    """Whether only pivots are trained on, which takes a profile."""


PIVOTS: Mapping[str, PivotKind] = {
    "pivot": PivotKind(),
    "pivotall": PivotKind(filtered=False),
    "pivotcalls": PivotKind(verifier="calls"),
    "pivotstrict": PivotKind(verifier="strict"),
}
"""`pivot` is PivotRL; `pivotall` leaves out its filter, `pivotcalls` what thoughts pick, `pivotstrict` its functional
reward, one thing each."""

SFTLONG = "sftlong"
"""Supervised fine-tuning on the same demonstrations for longer: what PivotRL is compared with."""

ON_DEMONSTRATIONS = frozenset((*PIVOTS, SFTLONG))
"""Algorithms that train on the demonstrations, not on a query set of their own."""
