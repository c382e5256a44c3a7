"""The rollout trainer with a KL term to the frozen policy, for cells that set `beta`.

    J = E[ min(w A, clip(w) A) ] - beta * KL(pi || pi_0)

pi_0 is the policy that was profiled, where training starts. The divergence is estimated per token by k3 = x - ln x - 1,
x = pi_0 / pi at the sampled token and at the sampling temperature. Without `beta` this is `RolloutTrainer`, and no
reference model is loaded.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from trl import GRPOTrainer

from ..training.trainer import RolloutTrainer

NEXT_TO_NOTHING = 1e-30
"""An advantage that does not pull and is not zero, which would take its turn out of the loss."""


class PivotTrainer(RolloutTrainer):
    """Two things change when beta > 0: log-probabilities under the frozen policy are really computed, and turns whose
    advantage is zero stay in the loss, since the KL term moves weights there too (proposition 3.1)."""

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> Tensor:
        if self.beta != 0.0:
            advantages = inputs["advantages"]
            kept = advantages.masked_fill(advantages == 0, NEXT_TO_NOTHING)
            inputs = {**inputs, "advantages": kept}
        return super()._compute_loss(model, inputs)

    def _get_per_token_logps_and_entropies(
        self, model: Any, input_ids: Tensor, attention_mask: Tensor, logits_to_keep: int, *args: Any, **kwargs: Any
    ) -> Any:
        if self._loss_mask is None and self._is_reference(model):
            with torch.no_grad():  # the stock forward: every token of every turn is wanted
                return GRPOTrainer._get_per_token_logps_and_entropies(
                    self, model, input_ids, attention_mask, logits_to_keep, *args, **kwargs
                )
        return super()._get_per_token_logps_and_entropies(
            model, input_ids, attention_mask, logits_to_keep, *args, **kwargs
        )

    def _is_reference(self, model: Any) -> bool:
        """Whether TRL asks for the frozen policy: a model of its own, or this one with its adapters turned off."""
        if self.beta == 0.0:
            return False
        if self.ref_model is not None:
            return model is self.ref_model
        return any(getattr(module, "disable_adapters", False) is True for module in model.modules())
