"""Writes the demo's people and orders, in a handful of queries."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group, User
from django.db import transaction

from orders.feed import OrderEventIn
from orders.models import Customer, Order, OrderQuerySet, Restaurant, Rider
from orders.services import NewItem, NewOrder, erase_orders, place_orders, record_events, start_over

from . import people
from .journeys import PROMISE_MINUTES, event
from .table import Row, rows

SEED = 20


@dataclass(frozen=True, slots=True)
class Loaded:
    customers: int
    restaurants: int
    orders: int
    fresh: bool  # whether orders were written by this call


@dataclass(frozen=True, slots=True)
class Cast:
    """The demo's rows by the keys that the tables use."""

    customers: Mapping[str, Customer]
    restaurants: Mapping[str, Restaurant]


def demo_orders() -> OrderQuerySet:
    names = [person.username for person in people.CUSTOMERS]
    return Order.objects.filter(customer__user__username__in=names)


@transaction.atomic
def load(now: datetime, *, refresh: bool = False) -> Loaded:
    """Write what is missing. With `refresh`, put the orders back to where they start, as of `now`.

    Orders that are there already are left alone otherwise: they may have moved along since.
    """
    load_people()
    cast = cast_now()
    present = demo_orders().exists()
    if refresh or not present:
        if present:
            erase_orders(demo_orders().exclude(number__in=rows()))
        write = start_over if present else place_orders
        write([new_order(number, row, cast, now) for number, row in rows().items()])
        record_events(
            event for number, row in rows().items() for event in _past(number, row, cast, now)
        )
    return Loaded(
        len(cast.customers), len(cast.restaurants), demo_orders().count(), refresh or not present
    )


def load_people() -> None:
    _load_users()
    users = {user.username: user for user in User.objects.all()}
    Customer.objects.bulk_create(
        (
            Customer(
                user=users[person.username],
                name=person.name,
                phone=f"+1 555 01{i:02d}",
                time_zone=people.TIME_ZONES[person.city],
            )
            for i, person in enumerate(people.CUSTOMERS, start=10)
        ),
        ignore_conflicts=True,
    )
    Restaurant.objects.bulk_create(
        (
            Restaurant(
                name=kitchen.name,
                cuisine=kitchen.cuisine,
                city=kitchen.city,
                address=kitchen.address,
                phone=f"+1 555 01{i:02d}",
            )
            for i, kitchen in enumerate(people.RESTAURANTS, start=40)
        ),
        ignore_conflicts=True,
    )
    Rider.objects.bulk_create(
        (
            Rider(code=code, first_name=name, vehicle=vehicle, phone=f"+1 555 01{i:02d}")
            for i, (code, name, vehicle) in enumerate(people.RIDERS, start=60)
        ),
        ignore_conflicts=True,
    )


def cast_now() -> Cast:
    """Who of the demo is there: somebody may have deleted a restaurant in the admin."""
    names = [person.username for person in people.CUSTOMERS]
    customers = Customer.objects.select_related("user").filter(user__username__in=names)
    by_name = {(r.name, r.city): r for r in Restaurant.objects.all()}
    return Cast(
        {c.user.username: c for c in customers},
        {
            kitchen.key: by_name[kitchen.name, kitchen.city]
            for kitchen in people.RESTAURANTS
            if (kitchen.name, kitchen.city) in by_name
        },
    )


def _load_users() -> None:
    """Hash the password once: fourteen slow hashes would take longer than all the rest."""
    password = make_password(people.PASSWORD)
    customers = [
        User(
            username=person.username,
            password=password,
            email=f"{person.username}@example.com",
            first_name=person.name.split()[0],
            last_name=person.name.split()[1],
        )
        for person in people.CUSTOMERS
    ]
    staff = [
        User(
            username=name,
            password=password,
            email=f"{name}@example.com",
            first_name=name.title(),
            is_staff=True,
            is_superuser=superuser,
        )
        for name, superuser, _ in people.STAFF
    ]
    User.objects.bulk_create(customers + staff, ignore_conflicts=True)
    for name, _, role in people.STAFF:
        for group in Group.objects.filter(name=role):
            group.user_set.add(User.objects.get(username=name))


def new_order(number: str, row: Row, cast: Cast, now: datetime, *, speed: float = 1) -> NewOrder:
    """The order of a row as it was placed. The same number gives the same basket every time."""
    chance = random.Random(f"{SEED}:{number}")  # noqa: S311 - reproducible demo data
    person = next(p for p in people.CUSTOMERS if p.username == row.who)
    kitchen = next(k for k in people.RESTAURANTS if k.key == row.where)
    prices = dict(kitchen.menu)
    mains = list(prices)[:2]
    basket = row.basket or tuple(
        (name, chance.choice((1, 1, 2)))
        for name in sorted(chance.sample(list(prices), chance.randint(1, 3)), key=[*prices].index)
    )
    options = people.OPTIONS if not row.basket else ("",)
    placed_at = now - row.placed_ago / speed
    return NewOrder(
        number=number,
        customer=cast.customers[row.who],
        restaurant=cast.restaurants[row.where],
        items=tuple(
            NewItem(name, n, prices[name], chance.choice(options) if name in mains else "")
            for name, n in basket
        ),
        placed_at=placed_at,
        promised_at=placed_at + timedelta(minutes=PROMISE_MINUTES / speed),
        delivery_address=f"{person.address}, {person.city}",
        delivery_instructions=person.instructions,
        delivery_fee=kitchen.fee,
        discount=row.discount,
        tip=0 if row.basket else chance.choice((0, 0, 200)),
        payment_label=chance.choice(("Card", "Card", "Wallet", "Cash")),
    )


def _past(number: str, row: Row, cast: Cast, now: datetime) -> Iterator[OrderEventIn]:
    steps = row.journey.steps()
    at = now - row.placed_ago
    total = new_order(number, row, cast, now).total
    for done in range(row.done):
        at += timedelta(minutes=steps[done].minutes)
        yield event(number, steps, done, at, total=total)
