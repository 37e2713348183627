"""A second process of a test: prints what the answer cache gives, whenever that changes.

Run as ``python -m tests.assistant.answer_reader CATEGORY``; ends when its input closes.
"""

import os
import sys
import threading
import time

import django


def main(category: str) -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "quickbite_support.settings"
    django.setup()
    from assistant import answer_cache

    answer_cache.start()
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    last = ""
    while True:
        hit = answer_cache.find(category, "", None, "en")
        text = hit.text if hit else "-"
        if text != last:
            print(text, flush=True)
            last = text
        time.sleep(0.005)


if __name__ == "__main__":
    main(sys.argv[1])
