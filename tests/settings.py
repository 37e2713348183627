"""The service's settings in the tests' own surroundings.

A folder of their own for everything written, a private Redis on a Unix socket, the simulated
engine. ``TEST_DATABASE_URL`` runs them on another database, such as Postgres.
"""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: Short: a Unix socket's path may have 108 characters.
VAR = Path(tempfile.mkdtemp(prefix="qb-tests-"))
REDIS_SOCKET = VAR / "redis.sock"

(VAR / "models").symlink_to(ROOT / "var" / "models")
atexit.register(shutil.rmtree, VAR, ignore_errors=True)

os.environ.update(
    QUICKBITE_VAR=str(VAR),
    REDIS_URL=f"unix://{REDIS_SOCKET}",
    ENGINE="simulated",
    QUICKBITE_MODEL="simulated",
    DEBUG="true",
    INFERENCE_LEASE_S="1.0",
    # No thread that reads the database between two tests.
    ANSWER_CACHE_CHECK_S="0",
    DATABASE_URL=os.environ.get("TEST_DATABASE_URL", f"sqlite:///{VAR / 'db.sqlite3'}"),
)
for name in ("INFERENCE_REDIS_URL", "CHANNEL_REDIS_URLS", "CACHE_REDIS_URL", "CELERY_BROKER_URL"):
    os.environ.pop(name, None)

from quickbite_support.settings import *  # noqa: E402, F403  (reads the environment above)
