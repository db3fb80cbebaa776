"""Evidence: influence, standard errors, tests and intervals from the units that rows form."""
