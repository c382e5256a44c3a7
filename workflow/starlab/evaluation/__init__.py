"""Measuring a policy: frozen panels, one evaluate function, results written the same way twice."""
