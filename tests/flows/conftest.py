from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from inference.host import EngineHost
from inference.store import JobStore
from inference.tokenizer import ChatTokenizer
from orders.models import Customer
from tests.chats import Chat, running_host, socket
from tests.orders.builders import a_customer, an_order


@pytest.fixture
def maya(transactional_db: Any) -> Customer:
    """A customer with one active order."""
    customer = a_customer("maya")
    an_order(customer, "QB-2000", restaurant="Bella Napoli")
    return customer


@pytest_asyncio.fixture
async def host(store: JobStore, tokenizer: ChatTokenizer) -> AsyncIterator[EngineHost]:
    async with running_host(store, tokenizer) as found:
        yield found


@pytest_asyncio.fixture
async def chat(maya: Customer, store: JobStore) -> AsyncIterator[Chat]:
    async with socket(maya) as found:
        yield found
