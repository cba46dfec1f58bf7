"""The services that core itself provides; plugins find them there, and may replace some."""

from __future__ import annotations

from glados.core.artifacts import ArtifactsSettings, ArtifactStore, MemoryArtifactStore
from glados.core.bus import EventBus
from glados.core.errors import ConfigurationError
from glados.core.home import GladosSettings
from glados.core.permissions import PermissionService, PermissionsSettings
from glados.core.rule_file import FileRuleStore
from glados.core.rule_store import RuleStore
from glados.core.services import Services
from glados.core.session_memory import MemorySessionStore
from glados.core.sessions import SessionStore
from glados.core.settings import Settings


def own_services(settings: Settings) -> Services:
    """The services that core itself provides."""
    own = settings.section("glados", GladosSettings).load()
    rights = settings.section("permissions", PermissionsSettings).load()
    kept = settings.section("artifacts", ArtifactsSettings).load()
    try:
        own.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(
            f"The data directory {str(own.data_dir)!r} cannot be made ({error.strerror}): set GLADOS_DATA_DIR."
        ) from None
    services = Services()
    services.provide(GladosSettings, lambda: own)
    services.provide(Settings, lambda: settings)
    services.provide(EventBus, EventBus)
    services.provide(SessionStore, MemorySessionStore)
    services.provide(ArtifactStore, lambda: MemoryArtifactStore(kept))
    services.provide(RuleStore, lambda: FileRuleStore(own.data_dir / "rules.json"))
    services.provide(PermissionService, lambda: PermissionService(rights, lambda: services.get(RuleStore)))
    return services
