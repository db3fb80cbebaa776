"""The command line as ``python -m uccurve``."""

from uccurve.cli.app import main

if __name__ == "__main__":
    main()
