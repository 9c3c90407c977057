"""`python -m ident` is the command `ident`."""

from ident.cli.main import main

if __name__ == "__main__":
    main()
