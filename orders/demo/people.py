"""Who orders, who cooks and who rides in the demo. All invented; prices in cents."""

from __future__ import annotations

from dataclasses import dataclass

PASSWORD = "demo"  # noqa: S105 - printed by the start-up for everyone to log in with


@dataclass(frozen=True, slots=True)
class Person:
    username: str
    name: str
    city: str
    address: str
    instructions: str = ""


@dataclass(frozen=True, slots=True)
class Kitchen:
    key: str
    name: str
    cuisine: str
    city: str
    address: str
    fee: int
    menu: tuple[tuple[str, int], ...]


TIME_ZONES = {"Harborview": "America/New_York", "Redstone": "America/Denver"}

CUSTOMERS = (
    Person("maya", "Maya Patel", "Harborview", "14 Lantern Street, apartment 3", "Ring twice"),
    Person("liam", "Liam O'Brien", "Harborview", "208 Quayside Road"),
    Person("sofia", "Sofía Ramírez", "Harborview", "77 Mulberry Lane", "Leave at reception"),
    Person("kenji", "Kenji Tanaka", "Harborview", "5 Old Mill Court, floor 2"),
    Person("amara", "Amara Okafor", "Harborview", "31 Chestnut Avenue", "The blue door"),
    Person("zoe", "Zoë Lambert", "Harborview", "9 Harbor Steps"),
    Person("noah", "Noah Cohen", "Harborview", "450 Fairview Drive", "Beware of the dog"),
    Person("linh", "Linh Nguyễn", "Harborview", "62 Orchard Row"),
    Person("omar", "Omar Haddad", "Redstone", "118 Canyon Way", "Side entrance"),
    Person("elena", "Elena Petrova", "Redstone", "23 Juniper Close"),
    Person("jonas", "Jonas Bäcker", "Redstone", "340 Sandstone Boulevard, unit 7"),
    Person("priya", "Priya Nair", "Redstone", "86 Mesa Trail", "Please call on arrival"),
)

# Username, superuser, and the group whose rights the person has, where the deployment has it.
STAFF = (("editor", False, "Staff editors"), ("admin", True, ""))

RESTAURANTS = (
    Kitchen(
        *("napoli", "Bella Napoli", "Italian", "Harborview", "3 Market Square", 299),
        (("Margherita", 1050), ("Quattro Formaggi", 1290), ("Lasagna", 1375), ("Tiramisu", 625)),
    ),
    Kitchen(
        *("pho", "Phở Sao Mai", "Vietnamese", "Harborview", "41 Canal Street", 249),
        (("Phở bò", 1325), ("Bánh mì", 895), ("Summer rolls", 750), ("Iced coffee", 475)),
    ),
    Kitchen(
        *("zoe", "Café Zoë", "Café", "Harborview", "12 Harbor Steps", 199),
        (("Croque monsieur", 1150), ("Quiche", 980), ("Crème brûlée", 690), ("Cappuccino", 450)),
    ),
    Kitchen(
        *("sakura", "Sakura Corner", "Japanese", "Harborview", "90 Fairview Drive", 349),
        (("Salmon maki", 1240), ("Chicken katsu", 1480), ("Miso soup", 420), ("Mochi", 560)),
    ),
    Kitchen(
        *("burger", "The Burger Yard", "Burgers", "Harborview", "17 Depot Road", 0),
        (("Cheeseburger", 1095), ("Veggie burger", 1045), ("Fries", 395), ("Lemonade", 350)),
    ),
    Kitchen(
        *("dragon", "Dragon Garden", "Chinese", "Harborview", "8 Willow Street", 275),
        (("Kung pao chicken", 1395), ("Fried rice", 920), ("Dumplings", 845), ("Jasmine tea", 300)),
    ),
    Kitchen(
        *("olive", "Olive & Fig", "Mediterranean", "Harborview", "55 Mulberry Lane", 325),
        (("Falafel plate", 1190), ("Lamb kofta", 1520), ("Hummus", 640), ("Baklava", 530)),
    ),
    Kitchen(
        *("sol", "Taquería El Sol", "Mexican", "Redstone", "200 Canyon Way", 225),
        (("Tacos al pastor", 1180), ("Burrito", 1125), ("Guacamole", 680), ("Churros", 570)),
    ),
    Kitchen(
        *("spice", "Spice Route", "Indian", "Redstone", "71 Mesa Trail", 310),
        (
            ("Butter chicken", 1490),
            ("Palak paneer", 1285),
            ("Garlic naan", 375),
            ("Mango lassi", 480),
        ),
    ),
    Kitchen(
        *("nord", "Nordlys Kjøkken", "Nordic", "Redstone", "15 Juniper Close", 399),
        (("Salmon plate", 1690), ("Meatballs", 1380), ("Rye bread", 450), ("Apple cake", 590)),
    ),
)

RIDERS = (  # code, first name, vehicle
    ("asha-01", "Asha", "scooter"),
    ("mateo-02", "Mateo", "bicycle"),
    ("ingrid-03", "Ingrid", "bicycle"),
    ("tariq-04", "Tariq", "car"),
    ("bao-05", "Bảo", "scooter"),
    ("chloe-06", "Chloé", "bicycle"),
    ("diego-07", "Diego", "scooter"),
    ("ruth-08", "Ruth", "car"),
)

OPTIONS = ("", "", "large", "extra sauce", "no onions")  # for a kitchen's first two dishes
