"""Compare: assess models, test and bound what they gain, find where their curves cross."""
