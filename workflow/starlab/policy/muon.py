"""Muon in single precision: momentum, orthogonalised, for the matrices of small models on a CPU.

`torch.optim.Muon` orthogonalises in bfloat16, matrix by matrix, which on CPUs without bfloat16 instructions costs more
than the backward pass of a tiny model. This one works in float32 and on all matrices of one shape at once.
Source: Jordan et al. 2024, "Muon: An optimizer for hidden layers in neural networks".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import torch

_QUINTIC = (3.4445, -4.7750, 2.0315)
_ITERATIONS = 5


def orthogonalise(matrices: torch.Tensor) -> torch.Tensor:
    """The nearest (semi-)orthogonal matrices, roughly: singular values end between 0.7 and 1.2.

    `matrices`: (count, rows, columns). Five Newton-Schulz steps with the quintic of the source.
    """
    tall = matrices.size(1) > matrices.size(2)
    x = matrices.mT if tall else matrices
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    a, b, c = _QUINTIC
    for _ in range(_ITERATIONS):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    result: torch.Tensor = x.mT if tall else x
    return result


class Muon(torch.optim.Optimizer):
    """Nesterov momentum, orthogonalised, scaled by sqrt(max(1, rows / columns))."""

    def __init__(self, matrices: Iterable[torch.nn.Parameter], lr: float, momentum: float = 0.95) -> None:
        super().__init__(matrices, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            shapes: defaultdict[torch.Size, list[torch.nn.Parameter]] = defaultdict(list)
            for matrix in group["params"]:
                if matrix.grad is not None:
                    shapes[matrix.shape].append(matrix)
            for (rows, columns), matrices in shapes.items():
                gradients = torch.stack([matrix.grad for matrix in matrices if matrix.grad is not None])
                buffers = [self.state[m].setdefault("momentum", torch.zeros_like(m)) for m in matrices]
                for buffer, gradient in zip(buffers, gradients, strict=True):
                    buffer.lerp_(gradient, 1 - group["momentum"])
                updates = orthogonalise(gradients.lerp_(torch.stack(buffers), group["momentum"]))
                scale = max(1.0, rows / columns) ** 0.5
                for matrix, update in zip(matrices, updates, strict=True):
                    matrix.sub_(update, alpha=group["lr"] * scale)
