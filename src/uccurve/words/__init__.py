"""Words: numbers, tables and sentences that people read."""
