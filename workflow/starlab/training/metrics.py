"""The vocabulary of `metrics.jsonl`: one line per step, every key named here with what it says."""

from __future__ import annotations

from collections.abc import Mapping

from ..protocol import FormatError

RL: Mapping[str, str] = {
    "reward": "mean reward of the scheduled prompts' episodes",
    "reward_spread": "mean over groups of the largest minus the smallest reward",
    "zero_spread": "share of groups whose rewards are all alike",
    "success_spread": "share of groups whose episodes differ in success: the signal of the adaptive reward",
    "delivered": "share of episodes with a plan that could be read",
    "cs_micro": "share of commonsense checks passed",
    "cs_macro": "share of episodes that pass all commonsense checks",
    "hard_micro": "share of hard constraints met",
    "hard_macro": "share of episodes that meet all hard constraints",
    "success": "share of episodes that pass everything",
    "format_errors": "share of episodes that break the protocol",
    **{f"format_error/{error.name.lower()}": f"share of episodes with {error.value}" for error in FormatError},
    "unparseable": "share of episodes with an answer that is no plan",
    "undelivered": "share of well-formed episodes without an answer",
    "overlong": "share of episodes that a limit cut off",
    "masked_episodes": "episodes of the step that are left out of the loss",
    "calls": "tool calls per episode",
    "call_failures": "share of tool calls that were made to fail",
    "turns": "assistant turns per episode",
    "sampled_tokens": "tokens sampled per episode",
    "sampled_tokens_max": "tokens sampled in the longest episode",
    "episode_tokens": "tokens per episode, prompt and observations included",
    "discarded_groups": "groups generated and thrown away (dynamic sampling)",
    "refill_rounds": "times that prompts were drawn again (dynamic sampling)",
    "unfilled_groups": "places that stayed without a useful group (dynamic sampling)",
    "episodes": "episodes generated in the step",
    "generated_tokens": "tokens sampled in the step; a branch's inherited ones count once",
    "rollout_turns": "assistant turns sampled in the step, those that a limit cut off included",
    "branches": "episodes of the step that branched off another (arpo)",
    "total_episodes": "episodes generated since the start",
    "total_generated_tokens": "tokens sampled since the start",
    "total_rollout_turns": "assistant turns sampled since the start",
    "total_seconds": "wall time of all steps so far",
    "total_processor_seconds": "processor time of all steps so far",
    "loss": "policy loss, mean of the step's updates",
    "entropy": "mean entropy of the policy at the tokens it sampled, at the sampling temperature, in nats",
    "clip_share": "share of trained tokens whose ratio was clipped",
    "clip_low_share": "share of trained tokens clipped below",
    "clip_high_share": "share of trained tokens clipped above",
    "ratio_mean": "probability ratio to the policy that sampled, mean over trained tokens",
    "ratio_min": "smallest ratio of a trained token, mean of the step's updates",
    "ratio_max": "largest ratio of a trained token, mean of the step's updates",
    "grad_norm": "norm of the gradient before clipping, mean of the step's updates",
    "lr": "learning rate",
    "rollout_seconds": "wall time of generation and scoring",
    "train_seconds": "wall time of the updates",
    "step_seconds": "wall time of the step",
    "processor_seconds": "processor time of the step",
}

PIVOT: Mapping[str, str] = {
    "answers": "share of turns that answer",
    "answer_reward": "mean reward of turns that answer",
    "call_reward": "mean reward of turns that call a tool",
    "kl": "mean estimate of the divergence from the frozen policy at trained tokens, in nats",
}
"""What runs on single turns have beside those of `RL` that make sense for one turn; `kl` only with a KL term."""

SFT: Mapping[str, str] = {
    "loss": "cross-entropy per assistant token",
    "token_accuracy": "share of assistant tokens that the policy puts first",
    "grad_norm": "norm of the gradient before clipping",
    "lr": "learning rate",
    "total_tokens": "tokens seen since the start",
    "step_seconds": "wall time of the step",
    "processor_seconds": "processor time of the step",
}

STEP: Mapping[str, str] = {**SFT, **PIVOT, **RL}
"""Every name."""
