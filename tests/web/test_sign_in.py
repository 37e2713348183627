"""Guessing passwords is slowed down; signing in is not."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from quickbite_support import sign_in
from quickbite_support.sign_in import LocalCounts

SIGN_IN = "/accounts/login/"
AWAY = "redis://127.0.0.1:1"


@pytest.fixture(autouse=True)
def maya(db: Any, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    User.objects.create_user("maya", password="demo")
    User.objects.create_user("staff", password="demo", is_staff=True)
    monkeypatch.setattr(sign_in, "local_counts", LocalCounts())
    # The end of a minute must not fall into a test.
    monkeypatch.setattr("time.time", lambda: 1_800_000_001.0)


def attempt(
    name: str, password: str = "wrong", address: str = "10.0.0.1", page: str = SIGN_IN
) -> Any:
    data = {"username": name, "password": password}
    return Client().post(page, data, REMOTE_ADDR=address)


@pytest.fixture(params=["shared", "alone"])
def failures(request: pytest.FixtureRequest, clean_redis: Any, settings: Any) -> int:
    """How many may fail: with Redis, and on a web server that cannot reach it."""
    if request.param == "alone":
        settings.CACHES = {
            "default": {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": AWAY}
        }
        return 3
    return 10


@pytest.mark.parametrize("page", [SIGN_IN, "/admin/login/"])
def test_a_user_names_password_cannot_be_guessed_from_many_addresses(
    failures: int, page: str
) -> None:
    for n in range(failures):
        assert attempt("staff", address=f"10.0.1.{n}", page=page).status_code == 200
    # Nor does another spelling, or the right password, get through.
    refused = attempt(" staff", "demo", address="10.0.2.1", page=page)
    assert refused.status_code == 429
    seconds = int(refused["Retry-After"])
    assert 0 < seconds <= 60
    assert f"please wait {seconds} second" in refused.content.decode()
    assert page in refused.content.decode()  # the way back
    assert attempt("maya", "demo", address="10.0.2.1").status_code == 302


def test_an_address_cannot_try_many_user_names(failures: int) -> None:
    for n in range(failures):
        assert attempt(f"somebody-{n}").status_code == 200
    assert attempt("maya", "demo").status_code == 429
    assert attempt("maya", "demo", address="10.0.0.2").status_code == 302


def test_signing_in_does_not_count(failures: int) -> None:
    for _ in range(failures + 2):
        assert attempt("maya", "demo").status_code == 302
    for _ in range(failures):
        assert attempt("maya").status_code == 200
    assert attempt("maya").status_code == 429


def test_after_the_minute_one_may_try_again(failures: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(failures + 1):
        answer = attempt("maya")
    wait_s = int(answer["Retry-After"])
    monkeypatch.setattr("time.time", lambda: 1_800_000_002.0 + wait_s)
    assert attempt("maya", "demo").status_code == 302


def test_the_page_itself_is_never_refused(failures: int) -> None:
    for _ in range(failures + 1):
        attempt("maya")
    assert Client().get(SIGN_IN, REMOTE_ADDR="10.0.0.1").status_code == 200


def test_without_an_address_the_name_is_limited(failures: int) -> None:
    for _ in range(failures):
        assert attempt("maya", address="").status_code == 200
    assert attempt("maya", address="").status_code == 429
