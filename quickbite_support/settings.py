"""Settings of every role: web server, GPU host, worker.

Every value has a default that works for ``make run``; production sets the environment instead.
A value that cannot be read stops the process at once with the variable's name. What the values
must satisfy together is checked by the apps (``manage.py check``).
"""

import logging
import sys
from pathlib import Path

from django.templatetags.static import static
from environs import Env, EnvError

BASE_DIR = Path(__file__).resolve().parent.parent

env = Env()
env.read_env(str(BASE_DIR / ".env"), recurse=False)


def _path(name: str, default: Path) -> Path:
    return Path(env.str(name, default=str(default))).expanduser().resolve()


try:
    # ---- this deployment -------------------------------------------------------------------
    #: Development conveniences: plain-text secrets, no TLS. Off wherever customers are served.
    DEBUG = env.bool("DEBUG", default=True)
    #: Everything this checkout writes at run time: database, models, Redis data, logs.
    VAR_DIR = _path("QUICKBITE_VAR", BASE_DIR / "var")
    SECRET_KEY = env.str("SECRET_KEY", default="development-only-secret" if DEBUG else "")
    ALLOWED_HOSTS = env.list(
        "ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "[::1]"] if DEBUG else []
    )
    CSRF_TRUSTED_ORIGINS: list[str] = env.list("CSRF_TRUSTED_ORIGINS", default=[])

    #: Failed sign-ins a minute for each user name and each address, after which one has to wait.
    SIGN_IN_FAILURES_PER_MINUTE = env.int("SIGN_IN_FAILURES_PER_MINUTE", default=10)

    # ---- backing services ------------------------------------------------------------------
    #: Where ``make run`` keeps its own Redis; a command in a second terminal finds it there.
    _own_redis = VAR_DIR / "redis" / "redis.sock"
    REDIS_URL = env.str(
        "REDIS_URL",
        default=f"unix://{_own_redis}?db=0" if _own_redis.exists() else "redis://127.0.0.1:6379/0",
    )
    INFERENCE_REDIS_URL = env.str("INFERENCE_REDIS_URL", default=REDIS_URL)
    CHANNEL_REDIS_URLS = env.list("CHANNEL_REDIS_URLS", default=[REDIS_URL])
    CACHE_REDIS_URL = env.str("CACHE_REDIS_URL", default=REDIS_URL)
    # Celery has a scheme of its own for Unix sockets.
    CELERY_BROKER_URL = env.str(
        "CELERY_BROKER_URL", default=REDIS_URL.replace("unix://", "redis+socket://")
    )
    DATABASE = env.dj_db_url("DATABASE_URL", default=f"sqlite:///{VAR_DIR / 'db.sqlite3'}")
    #: Threads that run a web server's queries: a slow one stalls its own chat only.
    DB_POOL_THREADS = env.int("DB_POOL_THREADS", default=8)

    # ---- the engine ------------------------------------------------------------------------
    #: ``vllm`` or ``simulated`` (the reference timing, no model: for load and chaos tests).
    ENGINE = env.str("ENGINE", default="vllm")
    QUICKBITE_MODEL = env.str(
        "QUICKBITE_MODEL",
        default="qwen2.5-coder-0.5b-instruct" if ENGINE == "vllm" else "simulated",
    )
    ENGINE_DTYPE = env.str("ENGINE_DTYPE", default="bfloat16")
    ENGINE_MAX_MODEL_LEN = env.int("ENGINE_MAX_MODEL_LEN", default=4096)
    ENGINE_MAX_NUM_SEQS = env.int("ENGINE_MAX_NUM_SEQS", default=32)
    ENGINE_MAX_NUM_BATCHED_TOKENS = env.int("ENGINE_MAX_NUM_BATCHED_TOKENS", default=512)
    ENGINE_BLOCK_SIZE = env.int("ENGINE_BLOCK_SIZE", default=32)
    ENGINE_GPU_MEMORY_UTILIZATION = env.float("ENGINE_GPU_MEMORY_UTILIZATION", default=0.90)
    #: GiB of KV cache on the CPU (whole numbers); a GPU's follows from its memory.
    ENGINE_CPU_KV_CACHE_GIB = env.int("ENGINE_CPU_KV_CACHE_GIB", default=1)
    #: vLLM threads' cores on the CPU, such as ``0-1``; ``auto`` binds all that this process has.
    ENGINE_CPU_THREADS_BIND = env.str("ENGINE_CPU_THREADS_BIND", default="auto")
    ENGINE_PREFIX_CACHING = env.bool("ENGINE_PREFIX_CACHING", default=True)
    ENGINE_ENFORCE_EAGER = env.bool("ENGINE_ENFORCE_EAGER", default=True)
    ENGINE_TENSOR_PARALLEL_SIZE = env.int("ENGINE_TENSOR_PARALLEL_SIZE", default=1)
    ENGINE_PIPELINE_PARALLEL_SIZE = env.int("ENGINE_PIPELINE_PARALLEL_SIZE", default=1)
    #: ``uni``, ``mp`` or ``ray``; empty lets vLLM choose.
    ENGINE_DISTRIBUTED_EXECUTOR = env.str("ENGINE_DISTRIBUTED_EXECUTOR", default="")
    #: vLLM's own JSON, such as {"method": "ngram", "num_speculative_tokens": 4, …}; empty is off.
    ENGINE_SPECULATIVE_CONFIG = env.json("ENGINE_SPECULATIVE_CONFIG", default={})
    ENGINE_SCHEDULING_POLICY = env.str("ENGINE_SCHEDULING_POLICY", default="priority")
    ENGINE_QUANTIZATION = env.str("ENGINE_QUANTIZATION", default="")
    ENGINE_KV_CACHE_DTYPE = env.str("ENGINE_KV_CACHE_DTYPE", default="auto")

    #: Tokens of a simulated answer, and its speed beside the reference timing.
    ENGINE_SIMULATED_ANSWER_TOKENS = env.int("ENGINE_SIMULATED_ANSWER_TOKENS", default=150)
    ENGINE_SIMULATED_SPEED = env.float("ENGINE_SIMULATED_SPEED", default=1.0)

    # ---- inference -------------------------------------------------------------------------
    INFERENCE_PARTITIONS = env.int("INFERENCE_PARTITIONS", default=1)
    #: Seconds of silence after which a host's jobs go to another host.
    INFERENCE_LEASE_S = env.float(
        "INFERENCE_LEASE_S", default=2.0 if ENGINE == "simulated" else 5.0
    )
    #: Times a failed job is tried again, each time by another process incarnation.
    INFERENCE_MAX_RETRIES = env.int("INFERENCE_MAX_RETRIES", default=2)
    #: Seconds over which the host gathers text after an answer's first write.
    INFERENCE_COALESCE_S = env.float("INFERENCE_COALESCE_S", default=0.04)
    #: Seconds for the first token and for the whole answer. The service promises 0.8 and 15 at
    #: p99 on GPUs; two CPU cores cannot, so the one-command start waits longer before it gives up:
    #: long enough for its only host to be started again.
    INFERENCE_FIRST_TOKEN_DEADLINE_S = env.float("INFERENCE_FIRST_TOKEN_DEADLINE_S", default=75.0)
    INFERENCE_TOTAL_DEADLINE_S = env.float("INFERENCE_TOTAL_DEADLINE_S", default=120.0)
    #: Seconds that a finished answer's journal is kept for late readers.
    INFERENCE_JOURNAL_TTL_S = env.int("INFERENCE_JOURNAL_TTL_S", default=3600)
    #: Seconds without a token, while sequences run, after which a host counts as stuck.
    INFERENCE_STALL_S = env.float("INFERENCE_STALL_S", default=20.0)
    #: Seconds that a host has to finish its running answers after SIGTERM.
    INFERENCE_DRAIN_S = env.float("INFERENCE_DRAIN_S", default=15.0)
    INFERENCE_TEXT_FILTER = env.str(
        "INFERENCE_TEXT_FILTER", default="inference.filters.PassThrough"
    )

    # ---- the assistant ---------------------------------------------------------------------
    ASSISTANT_MAX_QUESTION_CHARS = env.int("ASSISTANT_MAX_QUESTION_CHARS", default=2000)
    ASSISTANT_MAX_ANSWER_TOKENS = env.int("ASSISTANT_MAX_ANSWER_TOKENS", default=150)
    #: Tokens that system text, policies and examples may take together.
    ASSISTANT_PREFIX_TOKEN_BUDGET = env.int("ASSISTANT_PREFIX_TOKEN_BUDGET", default=1800)
    #: Tokens of earlier messages that a prompt may take.
    ASSISTANT_HISTORY_TOKEN_BUDGET = env.int("ASSISTANT_HISTORY_TOKEN_BUDGET", default=600)
    #: Messages of a conversation that the widget loads at once.
    ASSISTANT_HISTORY_PAGE = env.int("ASSISTANT_HISTORY_PAGE", default=50)
    #: Seconds between two sweeps for answers that nobody dispatched or finalised.
    ASSISTANT_SWEEP_S = env.float("ASSISTANT_SWEEP_S", default=2.0)
    #: Seconds between two looks for changed answers, should the message about them be lost; 0
    #: looks at every reading instead.
    ANSWER_CACHE_CHECK_S = env.float("ANSWER_CACHE_CHECK_S", default=0.5)
    #: Seconds between two writes of how often each answer was given.
    ANSWER_CACHE_HITS_S = env.float("ANSWER_CACHE_HITS_S", default=5.0)

    LOG_LEVEL = env.log_level("LOG_LEVEL", default=logging.INFO)
except EnvError as error:
    sys.exit(f"Settings: {error}. Correct the environment variable or the .env file.")

# ---- Django ------------------------------------------------------------------------------------

INSTALLED_APPS = [
    "daphne",
    "unfold",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "orders",
    "inference",
    "assistant",
    "quickbite_support",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "quickbite_support.urls"
ASGI_APPLICATION = "quickbite_support.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

DATABASES = {"default": DATABASE}
if DATABASE["ENGINE"] == "django.db.backends.sqlite3":
    VAR_DIR.mkdir(parents=True, exist_ok=True)
    DATABASE["OPTIONS"] = {
        # Readers never wait for the writer; a write takes its lock at BEGIN, so that two writers
        # queue up (busy_timeout) instead of failing half-way.
        "transaction_mode": "IMMEDIATE",
        "timeout": 10,
        "init_command": (
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA busy_timeout=10000;"
        ),
    }
    # Tests use a file, not memory: the pool's threads each hold a connection of their own.
    DATABASE["TEST"] = {"NAME": str(VAR_DIR / "test.sqlite3")}
else:
    # Under ASGI every request has a thread of its own: connections kept per thread would pile up,
    # so a pool of this process's own keeps them, checked before each use.
    DATABASE["CONN_HEALTH_CHECKS"] = True
    DATABASE["OPTIONS"] = {
        "pool": {"min_size": 2, "max_size": DB_POOL_THREADS + 4, "timeout": 5},
        "connect_timeout": 3,
        "options": "-c statement_timeout=10000 -c lock_timeout=5000",
    }

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "/accounts/login/"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/accounts/login/"
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = not DEBUG
CSRF_COOKIE_SECURE = not DEBUG
SECURE_SSL_REDIRECT = env.bool("SECURE_SSL_REDIRECT", default=not DEBUG)
SECURE_HSTS_SECONDS = env.int("SECURE_HSTS_SECONDS", default=0 if DEBUG else 31_536_000)
SECURE_HSTS_INCLUDE_SUBDOMAINS = not DEBUG
SECURE_HSTS_PRELOAD = not DEBUG
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if not DEBUG else None
# Probes come from inside, without TLS.
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True
FORMAT_MODULE_PATH = ["quickbite_support.formats"]

STATIC_URL = "/static/"
STATIC_ROOT = VAR_DIR / "static"
WHITENOISE_USE_FINDERS = DEBUG
WHITENOISE_AUTOREFRESH = DEBUG

# ---- Channels, cache, Celery -------------------------------------------------------------------

CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {
            # A subscription waits for as long as nothing happens: no time-out on its socket.
            "hosts": [
                {
                    "address": url,
                    "socket_timeout": None,
                    "socket_connect_timeout": 2,
                    "health_check_interval": 30,
                }
                for url in CHANNEL_REDIS_URLS
            ],
            "prefix": "qb-layer",
        },
    }
}

CACHES = {
    "default": {
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": CACHE_REDIS_URL,
        "KEY_PREFIX": "qb-cache",
        "OPTIONS": {"SOCKET_CONNECT_TIMEOUT": 1, "SOCKET_TIMEOUT": 1},
    }
}

CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {"global_keyprefix": "qb-celery:", "visibility_timeout": 600}
CELERY_BEAT_SCHEDULE_FILENAME = str(VAR_DIR / "celerybeat-schedule")
CELERY_TASK_TIME_LIMIT = 300
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULE = {
    "sweep-answers": {
        "task": "assistant.sweep_answers",
        "schedule": ASSISTANT_SWEEP_S,
        # A sweep that waited longer than its period is worth nothing: the next one does its work.
        "options": {"expires": ASSISTANT_SWEEP_S},
    },
    "forget-runs": {"task": "assistant.forget_runs", "schedule": 600.0},
}

# ---- admin -------------------------------------------------------------------------------------

#: The theme's ramps hold the values of ``assistant/static/assistant/tokens.css``, which has no
#: names for the steps between them.
UNFOLD = {
    "SITE_TITLE": "QuickBite Support",
    "SITE_HEADER": "QuickBite Support",
    "SITE_SUBHEADER": f"Times in {TIME_ZONE}",
    "SITE_ICON": lambda request: static("assistant/icon.svg"),
    "SITE_FAVICONS": [
        {
            "rel": "icon",
            "type": "image/svg+xml",
            "href": lambda request: static("assistant/icon.svg"),
        }
    ],
    "SHOW_VIEW_ON_SITE": False,
    "ENVIRONMENT": "quickbite_support.dashboard.environment",
    "DASHBOARD_CALLBACK": "quickbite_support.dashboard.dashboard",
    "STYLES": [lambda request: static("quickbite_support/admin.css")],
    "SIDEBAR": {"navigation": "quickbite_support.navigation.sidebar"},
    "BORDER_RADIUS": "8px",
    "COLORS": {
        "base": {
            "50": "#faf7f3",
            "100": "#f5f0ea",
            "200": "#e8e0d8",
            "300": "#d6ccc3",
            "400": "#b5a99f",
            "500": "#7b6f66",
            "600": "#6a5f57",
            "700": "#4d443d",
            "800": "#393129",
            "900": "#1f1b18",
            "950": "#161311",
        },
        "primary": {
            "50": "#fdf5ef",
            "100": "#fdeee4",
            "200": "#fbd9c4",
            "300": "#fbbd98",
            "400": "#ff9d6c",
            "500": "#f47a3c",
            "600": "#c2410c",
            "700": "#b33a0a",
            "800": "#9a3412",
            "900": "#6b2710",
            "950": "#3b2318",
        },
    },
}

# ---- logging -----------------------------------------------------------------------------------

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"format": "{asctime} {levelname} {name} {message}", "style": "{"},
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": LOG_LEVEL},
    "loggers": {
        "django.channels.server": {"level": "WARNING"},
        "daphne": {"level": "WARNING"},
    },
}
