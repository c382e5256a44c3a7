"""Supervised fine-tuning and reinforcement learning with TRL; `algorithms/` has one file each."""
