"""Durable sessions: entries, branches, runs, costs, search, rules and artifacts, on SQLite or PostgreSQL."""

from glados.conversations.artifacts import SqlArtifactStore
from glados.conversations.rules import SqlRuleStore
from glados.conversations.settings import ConversationsSettings
from glados.conversations.store import SqlSessionStore

__all__ = ["ConversationsSettings", "SqlArtifactStore", "SqlRuleStore", "SqlSessionStore"]
