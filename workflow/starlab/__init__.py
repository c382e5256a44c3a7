"""starlab: reproduce the Agent-STAR and PivotRL findings about RL for long-horizon tool-using agents."""

__version__ = "0.1.0"
