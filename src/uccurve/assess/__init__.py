"""Assess: which model to ship, how sure that is, and why."""
