"""Where models are trained and measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def device() -> torch.device:
    """The first GPU that speaks CUDA (or ROCm), else the processor.

    Apple's GPUs are left alone: the tiny ladder is no faster there, and runs would not give the same bytes twice.
    """
    import torch

    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
