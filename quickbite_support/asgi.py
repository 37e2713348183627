"""The web server's application: HTTP and WebSockets in one process.

``daphne quickbite_support.asgi:application``
"""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "quickbite_support.settings")
django_application = get_asgi_application()  # loads the apps; the imports below need them

from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import AllowedHostsOriginValidator  # noqa: E402
from channels.sessions import CookieMiddleware  # noqa: E402

from assistant.routing import websocket_urlpatterns  # noqa: E402
from quickbite_support.startup import WithStartup  # noqa: E402

application = WithStartup(
    ProtocolTypeRouter(
        {
            "http": django_application,
            "websocket": AllowedHostsOriginValidator(
                # Who it is, each frame asks anew (assistant/identity.py).
                CookieMiddleware(URLRouter(websocket_urlpatterns))
            ),
        }
    )
)
