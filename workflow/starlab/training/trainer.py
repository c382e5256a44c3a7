"""TRL's GRPO trainer with our rollouts and a forward pass that computes only what the loss needs.

Differences from the stock trainer, each in one method:
- completions come from `Collector` through `rollout_func`; masks, rewards and log-probabilities come with
  them;
- the log-probabilities of the behaviour policy are those recorded while sampling (equal to a forward at the
  same temperature to 1e-5), so no extra pass computes them;
- episodes with advantage zero are skipped: they have no gradient (they do count in every normaliser);
- logits are computed at trained tokens only, and rows are padded to the longest of a few similar ones, on the
  right, so that attention needs no mask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import PrinterCallback
from trl import GRPOConfig, GRPOTrainer

from .checkpoints import WholeCheckpoints
from .collection import Collected

BUCKET_ROWS = 16
"""Rows that share a padded length in the training forward."""

Collect = Callable[[Sequence[str], int], Collected]
"""(scheduled prompts, step from 0) -> the step's groups."""


class RolloutTrainer(WholeCheckpoints, GRPOTrainer):
    """Prompts are task ids (strings); a step is one collection followed by its minibatch updates."""

    def __init__(self, model: Any, args: GRPOConfig, ids: Sequence[str], collect: Collect, **kwargs: Any) -> None:
        from datasets import Dataset

        self._collect = collect
        self._sampled_logprobs: list[list[float]] = []
        self._loss_mask: Tensor | None = None
        self._elsewhere: Tensor | None = None
        dataset = Dataset.from_dict({"prompt": list(ids)})
        super().__init__(
            model, [given_reward], args, train_dataset=dataset, rollout_func=RolloutTrainer._rollout, **kwargs
        )
        self.remove_callback(PrinterCallback)

    @property
    def updates_per_step(self) -> int:
        return int(self.args.steps_per_generation * self.num_iterations // self.args.gradient_accumulation_steps)

    @staticmethod
    def _rollout(prompts: list[str], trainer: RolloutTrainer) -> dict[str, Any]:
        """One completion per prompt row; TRL has repeated every prompt `num_generations` times."""
        ids = prompts[:: trainer.num_generations]
        collected = trainer._collect(ids, trainer.state.global_step // trainer.updates_per_step)
        episodes = [sample.episode for sample in collected.samples]
        trainer._sampled_logprobs = [episode.logprobs for episode in episodes]
        return {
            "prompt_ids": [episode.prompt_ids for episode in episodes],
            "completion_ids": [episode.completion_ids for episode in episodes],
            "logprobs": trainer._sampled_logprobs,
            "env_mask": collected.loss_masks(),
            "given": [sample.scored.value for sample in collected.samples],
        }

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> Tensor:
        pulls = inputs["advantages"] != 0
        self._loss_mask = (inputs["completion_mask"] * inputs["tool_mask"]).bool() & pulls[:, None]
        self._elsewhere = inputs.get("old_per_token_logps")
        try:
            loss: Tensor = super()._compute_loss(model, inputs)
            return loss
        finally:
            self._loss_mask = self._elsewhere = None

    def _get_per_token_logps_and_entropies(
        self,
        model: Any,
        input_ids: Tensor,
        attention_mask: Tensor,
        logits_to_keep: int,
        *args: Any,
        **kwargs: Any,
    ) -> tuple[Tensor, Tensor, None]:
        """Log-probabilities and entropies [B, logits_to_keep], computed where there is a gradient.

        Elsewhere the log-probabilities are those of the old policy, so that the ratio is 1. Called without a loss
        mask, it is TRL asking for the old policy right after a rollout.
        """
        if self._loss_mask is None:
            old = torch.zeros(len(input_ids), logits_to_keep, device=input_ids.device)
            for row, logprobs in zip(old, self._sampled_logprobs, strict=True):
                row[: len(logprobs)] = torch.tensor(logprobs)
            return old, torch.zeros_like(old), None
        logps, entropies = self._score(model, input_ids, attention_mask, self._loss_mask)
        if self._elsewhere is not None:
            self._note_ratios((logps - self._elsewhere)[self._loss_mask])
            logps = torch.where(self._loss_mask, logps, self._elsewhere)
        return logps, entropies, None

    def _score(self, model: Any, input_ids: Tensor, attention_mask: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        rows, width = input_ids.shape
        columns = mask.shape[1]
        inner = model.get_base_model() if hasattr(model, "get_base_model") else model
        lengths = attention_mask.sum(1)
        left = attention_mask.argmax(1)  # prompts are padded on the left
        wanted = mask.any(1).nonzero()[:, 0]
        if not len(wanted):
            wanted = wanted.new_zeros(1)  # keeps the graph: a minibatch without loss has a zero gradient
        order = wanted[lengths[wanted].argsort(descending=True, stable=True)]
        places: list[Tensor] = []
        logps: list[Tensor] = []
        entropies: list[Tensor] = []
        for bucket in order.split(BUCKET_ROWS):
            longest = int(lengths[bucket].max())
            index = (left[bucket, None] + torch.arange(longest, device=left.device)).clamp(max=width - 1)
            ids = input_ids[bucket].gather(1, index)
            hidden = inner.base_model(input_ids=ids, use_cache=False).last_hidden_state
            row, column = mask[bucket].nonzero(as_tuple=True)
            position = width - columns + column - left[bucket][row]
            logits = inner.get_output_embeddings()(hidden[row, position - 1]) / self.temperature
            logp, entropy = _logprobs(logits, ids[row, position])
            places.append(bucket[row] * columns + column)
            logps.append(logp)
            entropies.append(entropy)
        place = torch.cat(places)
        blank = torch.zeros(rows * columns, device=input_ids.device)
        scattered = blank.index_put((place,), torch.cat(logps)).view(rows, columns)
        return scattered, blank.index_put((place,), torch.cat(entropies)).view(rows, columns)

    def _note_ratios(self, logs: Tensor) -> None:
        """Statistics of the probability ratios [M] of the trained tokens, given as logarithms, for the next log."""
        ratios = logs.detach().exp() if len(logs) else torch.ones(1)
        for name, value in (("mean", ratios.mean()), ("min", ratios.min()), ("max", ratios.max())):
            self._metrics["train"][f"ratio/{name}"].append(value.item())

    def create_model_card(self, *args: Any, **kwargs: Any) -> None:
        """Our runs describe themselves in train.json."""


def _logprobs(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Log-probability of each target and entropy (without gradient) of each row of logits [M, vocabulary]."""
    table = torch.log_softmax(logits.float(), dim=-1)
    with torch.no_grad():
        entropy = -(table.exp() * table).sum(-1)
    return table.gather(1, targets[:, None])[:, 0], entropy


def given_reward(given: list[float], **_: Any) -> list[float]:
    """Episodes are scored when they are collected, since algorithms select on rewards."""
    return given
