from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer
from django.urls import path, re_path

from assistant.consumers import ChatConsumer


class Nowhere(AsyncWebsocketConsumer):  # type: ignore[misc]
    """Refuses sockets to addresses that do not exist, without a traceback in the log."""

    async def connect(self) -> Any:
        await self.close()


websocket_urlpatterns = [
    path("ws/chat/", ChatConsumer.as_asgi()),
    re_path(r"", Nowhere.as_asgi()),
]
