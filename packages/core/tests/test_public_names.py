"""The public names of `glados.core` are a promise, and importing them stays cheap."""

from __future__ import annotations

import subprocess
import sys

import glados.core

HEAVY = ("openai", "httpx", "httpx2", "dynaconf", "sqlalchemy", "sqlmodel", "fastapi", "starlette", "platformdirs")
NAMES = """
Agent Answer App ArtifactStore ArtifactsSettings Charge CommandContext Compacted ConfigurationError Conflict
Draft Entry EntryCreated EntryNotFound Event EventBus ForbiddenAddress Found GladosError GladosSettings
HookTimeout ImagePart InvalidAnswer InvalidInput InvalidSetting Layer Limit Limits MemoryArtifactStore
MemorySessionStore Message MessageCreated MigrationError Migrator MissingSetting Model ModelChanged ModelCost
ModelDelta ModelDone ModelError ModelProvider ModelRequest ModelRetried ModelSettings NoSettings OnQuestion
OpenAISettings OpenRun PermissionDenied PermissionGranted PermissionRefused PermissionRequest
PermissionRequested PermissionService PermissionsSettings Plugin PluginError PluginRecord PluginsSettings
Prepare Price Question QuestionAnswered QuestionNotFound RequestError Rights Rule RuleNotFound RuleStore
RunFinished RunLost RunResult RunStart RunStarted Section ServiceConflict ServiceNotFound Services Session
SessionBusy SessionCreated SessionDeleted SessionEntry SessionExists SessionIdle SessionNotFound SessionStore
SessionUpdated Setting Settings SlowSubscriber Source Spent Step StoredRule StreamChunk Subscription TextDelta
TextPart ThinkingDelta ThinkingDone ThinkingPart Tool ToolAborted ToolCall ToolCallDelta ToolCallEnded
ToolCallPart ToolCallStarted ToolContext ToolError ToolFlags ToolNotFound ToolOutcome ToolProgress ToolResult
ToolResultPart ToolTimeout Truncation Usage Workspace discover hookimpl installed tool
"""


def test_the_public_names_are_these() -> None:
    assert glados.core.__all__ == NAMES.split()


def test_every_public_name_is_there() -> None:
    assert [name for name in glados.core.__all__ if not hasattr(glados.core, name)] == []


def test_importing_the_core_imports_no_heavy_library() -> None:
    program = f"import glados.core, sys; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"
