"""The agent, its tools and its plugins: everything that a plugin's author or a program needs.

Each name is loaded when it is first asked for: the module of a plugin needs little of what a daemon needs.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from glados.core.agents import Agent, Rights
    from glados.core.app import App
    from glados.core.artifacts import ArtifactsSettings, ArtifactStore, MemoryArtifactStore
    from glados.core.bus import EventBus, SlowSubscriber, Subscription
    from glados.core.commands import CommandContext
    from glados.core.discovery import PluginsSettings, discover, installed
    from glados.core.errors import (
        ConfigurationError,
        Conflict,
        EntryNotFound,
        GladosError,
        HookTimeout,
        InvalidAnswer,
        InvalidInput,
        InvalidSetting,
        MigrationError,
        MissingSetting,
        ModelError,
        PermissionDenied,
        PluginError,
        QuestionAnswered,
        QuestionNotFound,
        RequestError,
        RuleNotFound,
        RunLost,
        ServiceConflict,
        ServiceNotFound,
        SessionBusy,
        SessionExists,
        SessionIdle,
        SessionNotFound,
        ToolAborted,
        ToolError,
        ToolNotFound,
        ToolTimeout,
    )
    from glados.core.events import (
        Compacted,
        EntryCreated,
        Event,
        MessageCreated,
        ModelChanged,
        ModelRetried,
        PermissionGranted,
        PermissionRefused,
        PermissionRequested,
        RunFinished,
        RunStarted,
        SessionCreated,
        SessionDeleted,
        SessionUpdated,
        StreamChunk,
        ToolCallEnded,
        ToolCallStarted,
        ToolProgress,
    )
    from glados.core.home import GladosSettings
    from glados.core.hookspecs import hookimpl
    from glados.core.limits import Limits
    from glados.core.messages import ImagePart, Message, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, Usage
    from glados.core.migrations import Migrator
    from glados.core.model import (
        Model,
        ModelDelta,
        ModelDone,
        ModelProvider,
        ModelRequest,
        TextDelta,
        ThinkingDelta,
        ThinkingDone,
        ToolCallDelta,
    )
    from glados.core.models.settings import ModelSettings, OpenAISettings
    from glados.core.network import ForbiddenAddress
    from glados.core.notices import Limit, Source, Truncation
    from glados.core.permissions import PermissionService, PermissionsSettings
    from glados.core.plugins import Plugin, PluginRecord, Prepare
    from glados.core.prices import Price
    from glados.core.questions import Answer, OnQuestion, Question
    from glados.core.results import RunResult, Spent, Step
    from glados.core.rule_store import RuleStore, StoredRule
    from glados.core.rules import Rule
    from glados.core.services import Services
    from glados.core.session_entries import SessionEntry
    from glados.core.session_memory import MemorySessionStore
    from glados.core.sessions import (
        Charge,
        Draft,
        Entry,
        Found,
        ModelCost,
        OpenRun,
        RunStart,
        Session,
        SessionStore,
    )
    from glados.core.settings import Layer, NoSettings, Section, Setting, Settings
    from glados.core.tool_hooks import ToolCall, ToolOutcome
    from glados.core.tools import PermissionRequest, Tool, ToolContext, ToolFlags, ToolResult, tool
    from glados.core.workspaces import Workspace

_MODULES = {
    "agents": "Agent Rights",
    "app": "App",
    "artifacts": "ArtifactStore ArtifactsSettings MemoryArtifactStore",
    "bus": "EventBus SlowSubscriber Subscription",
    "commands": "CommandContext",
    "discovery": "PluginsSettings discover installed",
    "errors": "ConfigurationError Conflict EntryNotFound GladosError HookTimeout InvalidAnswer InvalidInput "
    "InvalidSetting MigrationError MissingSetting ModelError PermissionDenied PluginError QuestionAnswered "
    "QuestionNotFound RequestError RuleNotFound RunLost ServiceConflict ServiceNotFound SessionBusy SessionExists "
    "SessionIdle SessionNotFound ToolAborted ToolError ToolNotFound ToolTimeout",
    "events": "Compacted EntryCreated Event MessageCreated ModelChanged ModelRetried PermissionGranted "
    "PermissionRefused PermissionRequested RunFinished RunStarted SessionCreated SessionDeleted SessionUpdated "
    "StreamChunk ToolCallEnded ToolCallStarted ToolProgress",
    "hookspecs": "hookimpl",
    "limits": "Limits",
    "messages": "ImagePart Message TextPart ThinkingPart ToolCallPart ToolResultPart Usage",
    "migrations": "Migrator",
    "model": "Model ModelDelta ModelDone ModelProvider ModelRequest TextDelta ThinkingDelta ThinkingDone ToolCallDelta",
    "models.settings": "ModelSettings OpenAISettings",
    "network": "ForbiddenAddress",
    "notices": "Limit Source Truncation",
    "permissions": "PermissionService PermissionsSettings",
    "prices": "Price",
    "plugins": "Plugin PluginRecord Prepare",
    "questions": "Answer OnQuestion Question",
    "results": "RunResult Spent Step",
    "rule_store": "RuleStore StoredRule",
    "rules": "Rule",
    "services": "Services",
    "session_entries": "SessionEntry",
    "session_memory": "MemorySessionStore",
    "sessions": "Charge Draft Entry Found ModelCost OpenRun RunStart Session SessionStore",
    "home": "GladosSettings",
    "settings": "Layer NoSettings Section Setting Settings",
    "tool_hooks": "ToolCall ToolOutcome",
    "tools": "PermissionRequest Tool ToolContext ToolFlags ToolResult tool",
    "workspaces": "Workspace",
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = [
    "Agent",
    "Answer",
    "App",
    "ArtifactStore",
    "ArtifactsSettings",
    "Charge",
    "CommandContext",
    "Compacted",
    "ConfigurationError",
    "Conflict",
    "Draft",
    "Entry",
    "EntryCreated",
    "EntryNotFound",
    "Event",
    "EventBus",
    "ForbiddenAddress",
    "Found",
    "GladosError",
    "GladosSettings",
    "HookTimeout",
    "ImagePart",
    "InvalidAnswer",
    "InvalidInput",
    "InvalidSetting",
    "Layer",
    "Limit",
    "Limits",
    "MemoryArtifactStore",
    "MemorySessionStore",
    "Message",
    "MessageCreated",
    "MigrationError",
    "Migrator",
    "MissingSetting",
    "Model",
    "ModelChanged",
    "ModelCost",
    "ModelDelta",
    "ModelDone",
    "ModelError",
    "ModelProvider",
    "ModelRequest",
    "ModelRetried",
    "ModelSettings",
    "NoSettings",
    "OnQuestion",
    "OpenAISettings",
    "OpenRun",
    "PermissionDenied",
    "PermissionGranted",
    "PermissionRefused",
    "PermissionRequest",
    "PermissionRequested",
    "PermissionService",
    "PermissionsSettings",
    "Plugin",
    "PluginError",
    "PluginRecord",
    "PluginsSettings",
    "Prepare",
    "Price",
    "Question",
    "QuestionAnswered",
    "QuestionNotFound",
    "RequestError",
    "Rights",
    "Rule",
    "RuleNotFound",
    "RuleStore",
    "RunFinished",
    "RunLost",
    "RunResult",
    "RunStart",
    "RunStarted",
    "Section",
    "ServiceConflict",
    "ServiceNotFound",
    "Services",
    "Session",
    "SessionBusy",
    "SessionCreated",
    "SessionDeleted",
    "SessionEntry",
    "SessionExists",
    "SessionIdle",
    "SessionNotFound",
    "SessionStore",
    "SessionUpdated",
    "Setting",
    "Settings",
    "SlowSubscriber",
    "Source",
    "Spent",
    "Step",
    "StoredRule",
    "StreamChunk",
    "Subscription",
    "TextDelta",
    "TextPart",
    "ThinkingDelta",
    "ThinkingDone",
    "ThinkingPart",
    "Tool",
    "ToolAborted",
    "ToolCall",
    "ToolCallDelta",
    "ToolCallEnded",
    "ToolCallPart",
    "ToolCallStarted",
    "ToolContext",
    "ToolError",
    "ToolFlags",
    "ToolNotFound",
    "ToolOutcome",
    "ToolProgress",
    "ToolResult",
    "ToolResultPart",
    "ToolTimeout",
    "Truncation",
    "Usage",
    "Workspace",
    "discover",
    "hookimpl",
    "installed",
    "tool",
]


def __getattr__(name: str) -> Any:
    """Load one of the names, and keep it."""
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
