from django.apps import AppConfig, apps
from django.db.models.signals import post_migrate


class QuickBiteSupportConfig(AppConfig):
    name = "quickbite_support"
    verbose_name = "QuickBite Support"

    def ready(self) -> None:
        from quickbite_support import roles

        # This app has no models, so Django sends it no signal of its own; the assistant's comes
        # after those of the apps that it stands on, whose permissions exist by then.
        post_migrate.connect(
            roles.install,
            sender=apps.get_app_config("assistant"),
            dispatch_uid="quickbite_support.roles",
        )
