"""What TRL's trainers are told: every argument that matters, as its defaults change between versions."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..device import device
from ..seeds import derive
from .algorithms import Algorithm

if TYPE_CHECKING:
    from .rl import RlSpec
    from .sft import SftSpec


def trainer_arguments(spec: RlSpec, algorithm: Algorithm, folder: Path) -> Any:
    """The arguments of a run whose checkpoints go to `folder`."""
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    from trl import GRPOConfig

    episodes = spec.prompts * spec.group
    updates = spec.minibatches * algorithm.num_iterations
    vllm: dict[str, Any] = {}
    if spec.backend != "engine":
        # what vLLM reports while sampling is the old policy, as with our engine: nothing is left to correct
        vllm = {
            "use_vllm": True,
            "vllm_mode": spec.backend.removeprefix("vllm_"),
            "vllm_max_model_length": spec.max_tokens,
            "vllm_importance_sampling_correction": False,
        }
    return GRPOConfig(
        **vllm,
        output_dir=str(folder),
        seed=derive("trainer", spec.seed) % 2**32,
        max_steps=spec.steps * updates,
        per_device_train_batch_size=episodes // spec.minibatches,
        gradient_accumulation_steps=1,
        steps_per_generation=spec.minibatches,
        num_generations=spec.group,
        num_iterations=algorithm.num_iterations,
        shuffle_dataset=False,
        loss_type=algorithm.loss_type,
        epsilon=algorithm.epsilon_low,
        epsilon_high=algorithm.epsilon_high,
        beta=algorithm.beta,
        scale_rewards=algorithm.scale_rewards,
        importance_sampling_level=algorithm.importance_sampling_level,
        mask_truncated_completions=False,  # cut-off episodes are masked by us: they stay in the statistics
        temperature=spec.temperature,
        top_p=1.0,
        max_completion_length=spec.max_tokens,
        learning_rate=spec.lr,
        lr_scheduler_type="warmup_stable_decay",
        lr_scheduler_kwargs={"num_decay_steps": round(spec.decay * spec.steps * updates), "decay_type": "linear"},
        warmup_steps=0,
        weight_decay=0.0,
        max_grad_norm=spec.max_grad_norm,
        optim="adamw_torch",
        use_cpu=device().type == "cpu",
        bf16=False,
        gradient_checkpointing=False,
        logging_strategy="steps",
        logging_steps=updates,
        # a checkpoint between the updates of one step would generate the step again on resume
        save_strategy="steps",
        save_steps=spec.save_every * updates,
        save_total_limit=None,  # ours are rotated once they are sealed, see checkpoints.WholeCheckpoints
        logging_nan_inf_filter=False,
        report_to="none",
        disable_tqdm=True,
        dataloader_pin_memory=False,
    )


def sft_arguments(spec: SftSpec, steps: int, folder: Path) -> Any:
    """The arguments of fine-tuning for `steps` steps, with checkpoints in `folder`."""
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    from trl import SFTConfig

    return SFTConfig(
        output_dir=str(folder),
        seed=derive("trainer", spec.seed) % 2**32,
        max_steps=steps,
        per_device_train_batch_size=spec.batch,
        gradient_accumulation_steps=1,
        train_sampling_strategy="sequential",  # the mixture is in its order already
        learning_rate=spec.lr,
        lr_scheduler_type="cosine",
        warmup_steps=round(spec.warmup * steps),
        weight_decay=spec.weight_decay,
        max_grad_norm=spec.max_grad_norm,
        optim="adamw_torch",
        use_cpu=device().type == "cpu",
        bf16=False,
        gradient_checkpointing=False,
        packing=False,
        max_length=None,
        logging_strategy="steps",
        logging_steps=1,
        save_strategy="steps",
        save_steps=spec.save_every,
        save_total_limit=None,  # ours are rotated once they are sealed, see checkpoints.WholeCheckpoints
        logging_nan_inf_filter=False,
        report_to="none",
        disable_tqdm=True,
        dataloader_pin_memory=False,
        dataset_kwargs={"skip_prepare_dataset": True},
    )
