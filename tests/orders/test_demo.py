"""The demo's data: what it covers, that loading twice is harmless, and how it moves along."""

import os
import signal
import threading
import time
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import OperationalError
from django.utils import timezone

from orders.demo.advancing import KEEP, journey_of, step
from orders.demo.loading import demo_orders, load
from orders.demo.table import active_pattern
from orders.management.commands import advance_demo
from orders.models import Customer, Order, OrderEvent, Restaurant
from orders.selectors import order_facts, recent_order_facts
from orders.states import DeliveryState, RefundState, Status

pytestmark = pytest.mark.django_db

NOW = timezone.now()


@pytest.fixture
def demo() -> None:
    load(NOW)


def active_of(username: str) -> list[Order]:
    return list(Order.objects.active().filter(customer__user__username=username))


def snapshot() -> list[tuple[Any, ...]]:
    return list(Order.objects.order_by("number").values_list("pk", "number", "status", "placed_at"))


def test_it_has_the_promised_size_and_covers_every_state(demo: None) -> None:
    sizes = (Customer.objects.count(), Restaurant.objects.count(), Order.objects.count())
    assert sizes == (12, 10, 60)
    for field, values in (
        ("status", Status),
        ("delivery_state", DeliveryState),
        ("refund_state", RefundState),
    ):
        assert set(Order.objects.values_list(field, flat=True)) == set(values.values)
    assert not OrderEvent.objects.exclude(outcome="applied").exists()


def test_maya_has_one_active_order_late_and_on_the_way_with_a_rider(demo: None) -> None:
    (order,) = active_of("maya")
    facts = order_facts(order.customer, order.number, now=NOW)
    assert (facts.status, facts.delivery_state, facts.rider) == ("picked_up", "on_the_way", "Asha")
    assert (facts.minutes_late, facts.expected_in_minutes) == (15, 12)


def test_customers_have_no_one_or_several_active_orders(demo: None) -> None:
    counts = [len(active_of(c.user.username)) for c in Customer.objects.select_related("user")]
    assert {0, 1, 2, 3} == set(counts)
    for customer in Customer.objects.all():
        assert len(recent_order_facts(customer, now=NOW)) == 5
        for facts in recent_order_facts(customer, now=NOW):
            assert facts.sentences()


def test_everyone_can_log_in(demo: None) -> None:
    assert authenticate(username="maya", password="demo") is not None
    editor, admin = (User.objects.get(username=name) for name in ("editor", "admin"))
    assert (editor.is_staff, editor.is_superuser) == (True, False)
    assert (admin.is_staff, admin.is_superuser) == (True, True)
    assert admin.check_password("demo")


def test_loading_again_changes_nothing(demo: None) -> None:
    before = snapshot(), OrderEvent.objects.count(), User.objects.count()
    out = StringIO()
    call_command("load_demo", stdout=out)
    assert (snapshot(), OrderEvent.objects.count(), User.objects.count()) == before
    assert out.getvalue() == "Already there: 12 customers, 10 restaurants, 60 orders.\n"


def test_a_refresh_starts_over_from_now_in_the_same_rows(demo: None) -> None:
    before = {number: pk for pk, number, *_ in snapshot()}
    placed = Order.objects.get(number="QB-1001").placed_at
    later = NOW + timedelta(hours=30)
    step(later)
    load(later, refresh=True)
    assert {number: pk for pk, number, *_ in snapshot()} == before
    assert Order.objects.get(number="QB-1001").placed_at == placed + timedelta(hours=30)
    (order,) = active_of("maya")
    assert order_facts(order.customer, order.number, now=later).expected_in_minutes == 12


def test_loading_takes_few_queries(django_assert_max_num_queries: Any) -> None:
    with django_assert_max_num_queries(40):
        load(NOW)


# ---- moving along ----------------------------------------------------------------------------


def test_a_step_without_demo_data_finds_nothing_to_do() -> None:
    assert not step(NOW)


def test_a_quiet_step_only_reads(demo: None, django_assert_max_num_queries: Any) -> None:
    with django_assert_max_num_queries(1):
        assert not step(NOW)


def test_the_same_question_has_another_true_answer_minutes_later(demo: None) -> None:
    (order,) = active_of("maya")

    def answer(minutes: float) -> str:
        now = NOW + timedelta(minutes=minutes)
        step(now)
        return order_facts(order.customer, order.number, now=now).sentences()[0]

    where = [answer(minutes) for minutes in (0, 9, 13, 15)]
    assert "on the way: Asha has picked it up" in where[0]
    assert "Asha is near your address" in where[1]
    assert "waiting outside" in where[2]
    assert "was delivered at" in where[3]


def test_an_order_arrives_when_its_facts_said_it_would(demo: None) -> None:
    (order,) = active_of("maya")
    expected = order.expected_at
    step(NOW + timedelta(minutes=13))
    order.refresh_from_db()
    assert (order.delivery_state, order.status_changed_at) == ("arrived", expected)


def test_everyone_keeps_their_number_of_active_orders_for_days(demo: None) -> None:
    now = NOW
    for _ in range(15):
        now += timedelta(minutes=67)
        step(now)
        active = {name: len(active_of(name)) for name in active_pattern()}
        assert active == active_pattern()
    assert not active_of("noah")
    per_customer = [Order.objects.for_customer(c).count() for c in Customer.objects.all()]
    assert max(per_customer) <= KEEP
    assert not OrderEvent.objects.filter(outcome="refused").exists()
    endings = {journey_of(f"QB-{n}").ending for n in range(1061, 1161)}
    assert endings == {"delivered", "cancelled:sold_out", "failed:nobody_home"}


def test_at_a_higher_speed_new_orders_promise_and_arrive_sooner(demo: None) -> None:
    step(NOW + timedelta(minutes=30))
    now = NOW + timedelta(minutes=30)
    fresh = demo_orders().filter(placed_at=now).first()
    assert fresh is not None
    assert fresh.promised_at - fresh.placed_at == timedelta(minutes=40)
    for _ in range(12):
        now += timedelta(minutes=1)
        step(now, speed=10)
    quick = demo_orders().filter(placed_at__gt=NOW + timedelta(minutes=31)).first()
    assert quick is not None
    assert quick.promised_at - quick.placed_at == timedelta(minutes=4)


def test_once_does_what_is_due(demo: None) -> None:
    out = StringIO()
    call_command("advance_demo", once=True, speed=1000, stdout=out)
    assert "orders placed" in out.getvalue()


def test_it_goes_on_without_a_customer_that_somebody_deleted(demo: None) -> None:
    for order in demo_orders().filter(customer__user__username="maya"):
        order.delete()
    User.objects.get(username="maya").delete()
    assert step(NOW + timedelta(minutes=60)).placed
    assert not active_of("maya")


def test_a_speed_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(CommandError, match="--speed"):
        call_command("advance_demo", speed=0)


def test_once_says_in_one_line_that_the_database_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*args: object, **kwargs: object) -> None:
        raise OperationalError("database is locked")

    monkeypatch.setattr(advance_demo, "step", away)
    with pytest.raises(CommandError, match="database is locked"):
        call_command("advance_demo", once=True)


def test_it_waits_while_the_database_is_away_and_stops_when_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = 0

    def away(*args: object, **kwargs: object) -> None:
        nonlocal calls
        calls += 1
        raise OperationalError("database is locked")

    monkeypatch.setattr(advance_demo, "step", away)
    monkeypatch.setattr(advance_demo.connection, "close", lambda: None)
    monkeypatch.setattr(advance_demo, "close_old_connections", lambda: None)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    told_at: list[float] = []

    def tell() -> None:
        told_at.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGTERM)

    timer = threading.Timer(0.7, tell)
    timer.start()
    out = StringIO()
    try:
        call_command("advance_demo", speed=1000, stdout=out)
        assert time.monotonic() - told_at[0] < 1
    finally:
        timer.cancel()
        for number, handler in handlers.items():
            signal.signal(number, handler)
    assert 1 <= calls <= 3
    assert out.getvalue().endswith("Stopped.\n")
