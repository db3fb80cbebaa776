"""Watching: whether a promise still holds, day after day, and which factor to use tomorrow."""
