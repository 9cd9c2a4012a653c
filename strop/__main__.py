"""`python -m strop`, and with it `torchrun -m strop`: the command line."""

from strop.cli.main import main

if __name__ == "__main__":
    main()
