"""The sixty orders that the demo starts with, over every status and delivery state.

`ago` is how many minutes ago the order reached the stage in the fourth column. Numbers follow the
time of placing, so the latest order has the greatest.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache

from .journeys import Journey

HOUR, DAY = 60, 24 * 60


@dataclass(frozen=True, slots=True)
class Row:
    who: str
    where: str
    journey: Journey
    reached: str
    ago: int
    basket: tuple[tuple[str, int], ...] = ()  # drawn by chance where it is empty
    discount: int = 0

    @property
    def done(self) -> int:
        """How many steps of the journey lie behind it."""
        return (
            len(self.journey.steps())
            if self.reached == "end"
            else self.journey.reached(self.reached)
        )

    @property
    def placed_ago(self) -> timedelta:
        gone = sum(step.minutes for step in self.journey.steps()[: self.done])
        return timedelta(minutes=self.ago + gone)


@dataclass(slots=True)
class _Table:
    rows: list[Row] = field(default_factory=list)

    def add(
        self,
        who: str,
        where: str,
        route: str,
        reached: str,
        ago: int,
        *,
        rider: str = "mateo-02",
        late: tuple[int, str] = (0, ""),
        ending: str = "delivered",
        refund: tuple[str, ...] = (),
        basket: tuple[tuple[str, int], ...] = (),
        discount: int = 0,
    ) -> None:
        journey = Journey(route, ending, late[0], late[1], rider, refund)
        if ago >= DAY:
            ago += 37 * len(self.rows) % (4 * HOUR)  # nobody always eats at the same time
        self.rows.append(Row(who, where, journey, reached, ago, basket, discount))


def _rows() -> list[Row]:
    table = _Table()
    add = table.add
    # Still under way: maya and four others have one, four have several, three have none.
    add(
        *("maya", "napoli", "usual", "picked_up", 4),
        rider="asha-01",
        late=(17, "kitchen_busy"),
        basket=(("Margherita", 2), ("Tiramisu", 1)),
    )
    add("liam", "burger", "usual", "placed", 1)
    add("sofia", "pho", "usual", "rider_arrived", 1, rider="bao-05")
    add("kenji", "zoe", "usual", "preparing", 2)
    add("omar", "sol", "rider_last", "ready", 1, late=(12, "no_rider"))
    add("amara", "olive", "usual", "accepted", 1)
    add("amara", "sakura", "rider_last", "rider_nearby", 2, rider="ingrid-03")
    add("zoe", "zoe", "rider_first", "rider_assigned", 1, rider="chloe-06")
    add("zoe", "dragon", "usual", "rider_at_restaurant", 1, rider="tariq-04", late=(9, ""))
    add("elena", "spice", "rider_last", "rider_assigned", 1, rider="diego-07")
    add("elena", "nord", "usual", "ready", 1, rider="ruth-08", late=(35, "rider_delayed"))
    add("elena", "sol", "usual", "rider_assigned", 3, rider="mateo-02")
    add("jonas", "nord", "usual", "rider_nearby", 1, rider="ruth-08", late=(20, "address"))
    add("jonas", "spice", "usual", "picked_up", 3, rider="diego-07", late=(8, "traffic"))
    add("jonas", "sol", "usual", "rider_assigned", 1, rider="tariq-04", late=(14, "kitchen_busy"))

    # Not delivered.
    add("noah", "burger", "usual", "end", 25, ending="failed:nobody_home", rider="tariq-04")
    add("priya", "spice", "usual", "end", 40, ending="failed:accident", refund=("requested",))
    add("liam", "dragon", "usual", "end", 2 * DAY, ending="failed:damaged", refund=("under_way",))
    add(
        *("linh", "olive", "usual", "end", 3 * HOUR),
        ending="failed:address_not_found+cancelled",
        refund=("requested", "under_way"),
    )
    add(
        *("omar", "nord", "usual", "end", 6 * DAY),
        ending="failed:nobody_home+cancelled",
        refund=("requested", "declined"),
    )

    # Cancelled.
    add("linh", "pho", "usual", "end", 50, ending="cancelled:sold_out", refund=("under_way",))
    add(
        "noah",
        "sakura",
        "usual",
        "end",
        5 * HOUR,
        ending="cancelled:customer",
        refund=("refunded",),
    )
    add("maya", "zoe", "usual", "end", 3 * DAY, ending="cancelled:restaurant_closed")
    add("priya", "sol", "usual", "end", 2 * DAY, ending="cancelled:payment")
    add(
        "sofia",
        "burger",
        "rider_last",
        "end",
        1 * DAY,
        ending="cancelled:no_rider",
        refund=("refunded",),
    )
    add(
        "kenji",
        "dragon",
        "usual",
        "end",
        8 * DAY,
        ending="cancelled:customer",
        refund=("refunded",),
    )
    add(
        "amara",
        "napoli",
        "usual",
        "end",
        5 * DAY,
        ending="cancelled:sold_out",
        refund=("refunded",),
    )

    # Delivered late.
    add("noah", "olive", "usual", "end", 70, late=(25, "weather"), refund=("requested",))
    add("maya", "pho", "usual", "end", 1 * DAY, rider="bao-05", late=(18, "traffic"))
    add("liam", "napoli", "rider_last", "end", 4 * DAY, late=(40, "no_rider"), refund=("refunded",))
    add("zoe", "burger", "usual", "end", 2 * DAY, late=(7, ""), rider="ingrid-03")
    add("priya", "nord", "usual", "end", 3 * DAY, late=(22, "kitchen_busy"), refund=("declined",))
    add("jonas", "sol", "usual", "end", 9 * DAY, late=(16, "rider_delayed"), rider="diego-07")
    add("linh", "sakura", "usual", "end", 11 * DAY, late=(10, "address"), rider="chloe-06")

    # Delivered on time.
    add("linh", "zoe", "usual", "end", 20, rider="chloe-06", discount=300)
    add("maya", "burger", "usual", "end", 5 * DAY, rider="tariq-04")
    add("maya", "olive", "rider_last", "end", 12 * DAY, rider="ingrid-03", discount=500)
    add("liam", "zoe", "usual", "end", 7 * DAY, rider="chloe-06")
    add("liam", "sakura", "rider_first", "end", 13 * DAY)
    add("sofia", "napoli", "usual", "end", 3 * DAY, rider="asha-01")
    add("sofia", "olive", "usual", "end", 9 * DAY, rider="bao-05", discount=250)
    add("sofia", "dragon", "rider_last", "end", 16 * DAY)
    add("kenji", "sakura", "usual", "end", 2 * DAY, rider="ingrid-03")
    add("kenji", "pho", "rider_first", "end", 4 * DAY, rider="bao-05")
    add("kenji", "burger", "usual", "end", 15 * DAY, rider="tariq-04")
    add("amara", "zoe", "usual", "end", 8 * DAY, rider="chloe-06")
    add("amara", "dragon", "rider_last", "end", 14 * DAY)
    add("zoe", "napoli", "usual", "end", 6 * DAY, rider="asha-01", refund=("requested",))
    add("zoe", "pho", "usual", "end", 17 * DAY, rider="bao-05")
    add("noah", "napoli", "rider_first", "end", 1 * DAY, rider="asha-01")
    add("noah", "dragon", "usual", "end", 10 * DAY)
    add("linh", "burger", "usual", "end", 4 * DAY, rider="tariq-04")
    add("omar", "spice", "usual", "end", 1 * DAY, rider="diego-07")
    add("omar", "sol", "usual", "end", 3 * DAY, rider="ruth-08", discount=400)
    add("omar", "spice", "rider_last", "end", 18 * DAY, rider="ruth-08")
    add("elena", "nord", "usual", "end", 2 * DAY, rider="ruth-08")
    add("elena", "sol", "rider_first", "end", 7 * DAY, rider="diego-07")
    add("jonas", "spice", "usual", "end", 5 * DAY, rider="diego-07")
    add("priya", "spice", "usual", "end", 6 * DAY, rider="ruth-08")
    add("priya", "sol", "usual", "end", 19 * DAY, rider="diego-07")
    return sorted(table.rows, key=lambda row: row.placed_ago, reverse=True)


@cache
def rows() -> dict[str, Row]:
    """The rows by order number, oldest first."""
    return {f"QB-{1001 + i}": row for i, row in enumerate(_rows())}


@cache
def active_pattern() -> dict[str, int]:
    """How many orders each customer always has under way."""
    return dict(Counter(row.who for row in rows().values() if row.reached != "end"))
