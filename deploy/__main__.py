"""``python -m deploy run|test|test-slow|lint|cluster|clean``: what the Makefile calls."""

# Nothing in this file may need a new Python: an old one must get as far as the message below.
import sys

if sys.version_info < (3, 11):
    sys.exit(
        "This Python is %d.%d; QuickBite Support needs 3.11, 3.12 or 3.13. Install one (Debian 12 "
        "and Ubuntu 24.04 have it: apt install python3 python3-venv), or name it: "
        "make run PYTHON=/path/to/python3.11" % sys.version_info[:2]
    )

from deploy.commands import main

sys.exit(main(sys.argv[1:]))
