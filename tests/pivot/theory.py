"""The closed forms of PivotRL's section 3, for one state with finitely many actions. Tests hold training to them.

Vectors are [actions]; probabilities sum to 1. All of it is about the exact tabular optimum: a neural policy need not
keep the ratios that theorem 3.3 promises.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


def tilted(reference: Vector, rewards: Vector, beta: float) -> Vector:
    """The policy that maximises E[r] - beta * KL(pi || reference): reference * exp(r / beta), normalised."""
    weights = reference * np.exp((rewards - rewards.max()) / beta)
    return np.asarray(weights / weights.sum())


def accepted_mass(mass: float, beta: float) -> float:
    """Theorem 3.3 for binary rewards: the optimum's mass on the accepted actions, of which the reference has `mass`.

    q = mass e^(1/beta) / (mass e^(1/beta) + 1 - mass), which is above `mass` wherever 0 < mass < 1.
    """
    lifted = mass * np.exp(1.0 / beta)
    return float(lifted / (lifted + 1.0 - mass))


def natural_gradient_norm(policy: Vector, rewards: Vector) -> float:
    """Fisher norm of the natural gradient of E[r] in the logits of a softmax: sqrt(g' F^+ g).

    Theorem 3.2: it equals the standard deviation of the reward under the policy (and, along the path `tilted`, the
    speed of that path times beta squared).
    """
    gradient = policy * (rewards - policy @ rewards)
    fisher = np.diag(policy) - np.outer(policy, policy)
    squared = gradient @ np.linalg.pinv(fisher) @ gradient
    return float(np.sqrt(max(squared, 0.0)))  # rounding may leave less than nothing
