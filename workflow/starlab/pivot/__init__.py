"""PivotRL (arXiv 2603.21383): reinforcement learning on single turns of demonstrations, where they carry signal."""
