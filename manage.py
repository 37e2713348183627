#!/usr/bin/env python
"""Django's command line; also what vLLM's spawned children import as ``__mp_main__``."""

import os
import sys

if __name__ == "__mp_main__":
    # A child of the engine outlives its parent otherwise: ask the kernel to end it together with
    # the engine host (prctl PR_SET_PDEATHSIG = 1, SIGKILL = 9), however the host went.
    import ctypes

    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, 9)
        if os.getppid() == 1:
            os._exit(1)


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "quickbite_support.settings")
    try:
        from django.core.management import execute_from_command_line
    except ImportError as error:
        raise SystemExit(
            "Django is not installed in this Python. Run `make run` once, "
            "then use `.venv/bin/python manage.py …`."
        ) from error
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
