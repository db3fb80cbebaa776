"""Command line: files in, tables, plots and reports out."""
