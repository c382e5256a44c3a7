"""TRL's SFT trainer, whose loss comes from a forward pass that computes only what it needs.

For the families that `lean` knows the loss is that of the stock trainer, with what a batch's examples have in common
(all begin with one of two system prompts) computed once, nothing padded and logits at assistant tokens only. Other
models, and adapters, take the stock trainer's way.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor
from trl import SFTTrainer

from ..policy import forward, lean
from ..policy.encoding import IGNORED
from .checkpoints import WholeCheckpoints


class SupervisedTrainer(WholeCheckpoints, SFTTrainer):
    """On examples that were tokenised already, padded on the right."""

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Tensor | None = None,
    ) -> Any:
        if return_outputs or not lean.supports(model):
            return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        lengths = inputs["attention_mask"].sum(1).tolist()
        rows = [ids[:length].tolist() for ids, length in zip(inputs["input_ids"], lengths, strict=True)]
        spoken = (inputs["labels"] != IGNORED).int()
        spoken[:, 0] = 0  # nothing stands before it to tell it by
        trained = [row.nonzero()[:, 0].tolist() for row in spoken]
        logprobs, first = forward.score(model, rows, trained)
        self._total_train_tokens += sum(lengths)
        metrics = self._metrics["train"]
        metrics["num_tokens"] = [self._total_train_tokens]
        metrics["mean_token_accuracy"].append(first.float().mean().item())
        return -logprobs.sum() / (len(logprobs) if num_items_in_batch is None else num_items_in_batch)

    def create_model_card(self, *args: Any, **kwargs: Any) -> None:
        """Our runs describe themselves in done.json."""
