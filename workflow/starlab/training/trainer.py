"""TRL's GRPO trainer with our rollouts and a forward pass that computes only what the loss needs.

Differences from the stock trainer, each in one method:
- completions come from `Collector` through `rollout_func`; masks, rewards and log-probabilities come with
  them;
- the log-probabilities of the behaviour policy are those recorded while sampling (equal to a forward at the
  same temperature to 1e-5), so no extra pass computes them;
- with hard attribution (ARPO) every token has the advantage that it shares with other episodes;
- episodes with advantage zero are skipped: they have no gradient (they do count in every normaliser);
- logits are computed at trained tokens only, and tokens that episodes of a group have in common once
  (`forward`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import PrinterCallback
from trl import GRPOConfig, GRPOTrainer

from ..policy import forward, lean
from ..rollout.episode import Episode
from .checkpoints import WholeCheckpoints
from .collection import Collected
from .groups import hard_advantages

BUCKET_ROWS = 16
"""Rows that share a padded length in the training forward."""

Collect = Callable[[Sequence[str], int], Collected]
"""(scheduled prompts, step from 0) -> the step's groups."""


class RolloutTrainer(WholeCheckpoints, GRPOTrainer):
    """Prompts are task ids (strings); a step is one collection followed by its minibatch updates."""

    def __init__(
        self,
        model: Any,
        args: GRPOConfig,
        ids: Sequence[str],
        collect: Collect,
        attribution: str = "soft",
        **kwargs: Any,
    ) -> None:
        from datasets import Dataset

        self._collect = collect
        self._attribution = attribution
        self._episodes: list[Episode] = []
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
        trainer._episodes = episodes
        trainer._sampled_logprobs = [episode.logprobs for episode in episodes]
        return {
            "prompt_ids": [episode.prompt_ids for episode in episodes],
            "completion_ids": [episode.completion_ids for episode in episodes],
            "logprobs": trainer._sampled_logprobs,
            "env_mask": collected.loss_masks(),
            "given": collected.rewards(),
        }

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        outputs: dict[str, Any] = super()._generate_and_score_completions(inputs)
        if self._attribution == "hard":
            outputs["advantages"] = self._by_token(outputs["advantages"], outputs["completion_ids"].shape[1])
        return outputs

    def _by_token(self, advantages: Tensor, width: int) -> Tensor:
        """Advantages [B, width] from those of the episodes [B], as `groups.hard_advantages` shares them."""
        spread = torch.zeros(len(advantages), width, device=advantages.device)
        for start in range(0, len(advantages), self.num_generations):
            part = slice(start, start + self.num_generations)
            lines = hard_advantages(self._episodes[part], advantages[part].tolist())
            for row, line in zip(spread[part], lines, strict=True):
                row[: len(line)] = torch.tensor(line)
        return spread

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> Tensor:
        pulls = inputs["advantages"] != 0
        pulls = pulls if pulls.dim() == 2 else pulls[:, None]
        self._loss_mask = (inputs["completion_mask"] * inputs["tool_mask"]).bool() & pulls
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
        """Log-probabilities [B, logits_to_keep], computed where there is a gradient.

        Elsewhere they are those of the old policy, so that the ratio is 1. Called without a loss mask, it is TRL asking
        for the old policy right after a rollout. Entropies are 0: those of the rollout are reported, and no loss that
        we use contains them.
        """
        if self._loss_mask is None:
            old = torch.zeros(len(input_ids), logits_to_keep, device=input_ids.device)
            for row, logprobs in zip(old, self._sampled_logprobs, strict=True):
                row[: len(logprobs)] = torch.tensor(logprobs)
            return old, torch.zeros_like(old), None
        logps = self._score(model, input_ids, attention_mask, self._loss_mask)
        if self._elsewhere is not None:
            self._note_ratios((logps - self._elsewhere)[self._loss_mask])
            logps = torch.where(self._loss_mask, logps, self._elsewhere)
        return logps, torch.zeros_like(logps), None

    def _score(self, model: Any, input_ids: Tensor, attention_mask: Tensor, mask: Tensor) -> Tensor:
        """Log-probabilities [B, T] where `mask` is set, 0 elsewhere."""
        wanted = mask.any(1).nonzero()[:, 0]
        if not len(wanted):
            # keeps the graph: a minibatch without loss has a zero gradient
            nothing = sum(
                (0.0 * weight.sum() for weight in model.parameters() if weight.requires_grad), torch.zeros(())
            )
            return torch.zeros_like(mask, dtype=torch.float) + nothing.to(mask.device)
        score = forward.logprobs if lean.supports(model) else padded_logprobs
        prompt = input_ids.shape[1] - mask.shape[1]
        begins = attention_mask.argmax(1)  # prompts are padded on the left
        rows, trained = [], []
        for row in wanted.tolist():
            begin = int(begins[row])
            rows.append(input_ids[row, begin : begin + int(attention_mask[row].sum())].tolist())
            trained.append((mask[row].nonzero()[:, 0] + (prompt - begin)).tolist())
        scores = score(model, rows, trained, self.temperature)
        return torch.zeros_like(mask, dtype=torch.float).masked_scatter(mask, scores)

    def _note_ratios(self, logs: Tensor) -> None:
        """Statistics of the probability ratios [M] of the trained tokens, given as logarithms, for the next log."""
        ratios = logs.detach().exp() if len(logs) else torch.ones(1)
        for name, value in (("mean", ratios.mean()), ("min", ratios.min()), ("max", ratios.max())):
            self._metrics["train"][f"ratio/{name}"].append(value.item())

    def create_model_card(self, *args: Any, **kwargs: Any) -> None:
        """Our runs describe themselves in train.json."""


def padded_logprobs(
    model: Any, rows: Sequence[list[int]], trained: Sequence[Sequence[int]], temperature: float
) -> Tensor:
    """As `forward.logprobs`, through the forward pass of any `transformers` model: rows are padded to the longest of
    a few similar ones, on the right, so that attention needs no mask.
    """
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    device = inner.get_input_embeddings().weight.device
    order = sorted(range(len(rows)), key=lambda row: -len(rows[row]))
    scores: dict[int, Tensor] = {}
    for start in range(0, len(order), BUCKET_ROWS):
        bucket = order[start : start + BUCKET_ROWS]
        longest = len(rows[bucket[0]])
        ids = torch.tensor([[*rows[row], *[0] * (longest - len(rows[row]))] for row in bucket], device=device)
        hidden = inner.base_model(input_ids=ids, use_cache=False).last_hidden_state
        line = torch.tensor([line for line, row in enumerate(bucket) for _ in trained[row]], device=device)
        place = torch.tensor([place for row in bucket for place in trained[row]], device=device)
        logits = inner.get_output_embeddings()(hidden[line, place - 1]) / temperature
        table = torch.log_softmax(logits.float(), dim=-1)
        values = table.gather(1, ids[line, place][:, None])[:, 0]
        scores.update(zip(bucket, values.split([len(trained[row]) for row in bucket]), strict=True))
    return torch.cat([scores[row] for row in range(len(rows))])


def given_reward(given: list[float], **_: Any) -> list[float]:
    """Episodes are scored when they are collected, since algorithms select on rewards."""
    return given
