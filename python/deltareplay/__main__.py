"""``python -m deltareplay``: the command ``deltareplay``."""

import sys

from deltareplay.cli import main

if __name__ == "__main__":
    sys.exit(main())
