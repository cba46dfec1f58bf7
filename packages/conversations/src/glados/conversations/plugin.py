"""The session store as a plugin: sessions, rules and artifacts that outlast the process."""

from __future__ import annotations

from glados.conversations.artifacts import SqlArtifactStore
from glados.conversations.rules import SqlRuleStore
from glados.conversations.settings import ConversationsSettings
from glados.conversations.store import SqlSessionStore
from glados.core import (
    ArtifactsSettings,
    ArtifactStore,
    GladosSettings,
    Plugin,
    RuleStore,
    Services,
    SessionStore,
    Settings,
    hookimpl,
)
from glados.database import DatabaseService

RULES_FILE = "rules.json"  # where core keeps rules without this plugin


class ConversationsPlugin(Plugin[ConversationsSettings]):
    """Keeps conversations in the database."""

    id = "conversations"
    requires = ("database",)
    migrations = "migrations"

    @hookimpl
    async def setup(self, services: Services) -> None:
        """Take the place of what core keeps in memory and in a file."""
        database = services.get(DatabaseService)
        limits = services.get(Settings).section("artifacts", ArtifactsSettings).load()
        rules = SqlRuleStore(database)
        await rules.take_over(services.get(GladosSettings).data_dir / RULES_FILE)
        services.provide(SessionStore, lambda: SqlSessionStore(database, self.settings), replace=True)
        services.provide(RuleStore, lambda: rules, replace=True)
        services.provide(ArtifactStore, lambda: SqlArtifactStore(database, limits), replace=True)
