"""Every error that a person, a client or a model can meet: a stable code, one sentence, and data.

GladosError
├── ConfigurationError         the operator changes a setting
│   ├── InvalidSetting             a value that somebody gave is wrong
│   └── MissingSetting             a required value that nobody gave
├── PluginError                the plugin's author changes the plugin
│   ├── HookTimeout                a hook or an import took too long
│   ├── ServiceNotFound            a service that nobody provides
│   ├── ServiceConflict            a service that is provided twice
│   └── MigrationError             a migration that could not be applied
├── RequestError               the caller changes the request
│   ├── InvalidInput · ToolNotFound · InvalidAnswer · RuleNotFound
│   ├── SessionNotFound · SessionExists · SessionBusy · SessionIdle · EntryNotFound
│   └── QuestionNotFound · QuestionAnswered
├── PermissionDenied           a person decides
├── ToolError                  the model tries something else
│   ├── ToolTimeout
│   └── ToolAborted
├── ModelError                 the model's service is looked at
└── Conflict                   a lost race: try again
    └── RunLost                    another process has taken the run over
"""

from __future__ import annotations

from typing import Any, ClassVar


class GladosError(Exception):
    """The root of every error that glados raises on purpose."""

    code: ClassVar[str] = "internal_error"

    def __init__(self, message: str, **data: object) -> None:
        super().__init__(message)
        self.message = message
        self.data = data

    def __str__(self) -> str:
        return self.message

    def to_dict(self) -> dict[str, Any]:
        """The shape in which every way out (JSON, events, HTTP) tells an error."""
        return {"code": self.code, "message": self.message, "data": self.data}


class ConfigurationError(GladosError):
    """The operator has to change a setting or the machine."""

    code = "configuration_error"


class InvalidSetting(ConfigurationError):
    """Somebody gave a value that is not allowed; nothing starts until it is right."""

    code = "invalid_setting"


class MissingSetting(ConfigurationError):
    """A required value that nobody gave; it costs only the plugin that needs it."""

    code = "missing_setting"


class PluginError(GladosError):
    """A plugin did something that its author has to change."""

    code = "plugin_failed"


class HookTimeout(PluginError):
    """An import or a hook took longer than PLUGINS_TIMEOUT."""

    code = "plugin_timeout"


class ServiceNotFound(PluginError):
    """A service was asked for that no plugin provides."""

    code = "service_not_found"


class ServiceConflict(PluginError):
    """A second plugin provides the same service without saying that it replaces it."""

    code = "service_conflict"


class MigrationError(PluginError):
    """A plugin's tables could not be brought to the version that its code needs."""

    code = "migration_failed"


class RequestError(GladosError):
    """The caller has to change what it asks for."""

    code = "invalid_request"


class InvalidInput(RequestError):
    """A tool's input does not fit its schema or its meaning."""

    code = "invalid_input"


class ToolNotFound(RequestError):
    """No enabled plugin has this tool."""

    code = "tool_not_found"


class SessionNotFound(RequestError):
    """No session has this id."""

    code = "session_not_found"


class SessionExists(RequestError):
    """A session of that id is there already."""

    code = "session_exists"


class EntryNotFound(RequestError):
    """A session has no entry of that id."""

    code = "entry_not_found"


class SessionBusy(RequestError):
    """The session is running a prompt and the caller did not want to queue."""

    code = "session_busy"


class SessionIdle(RequestError):
    """Nothing runs in the session that could be steered."""

    code = "session_idle"


class QuestionNotFound(RequestError):
    """No permission question has this id."""

    code = "question_not_found"


class QuestionAnswered(RequestError):
    """The permission question was answered before, or timed out."""

    code = "question_answered"


class RuleNotFound(RequestError):
    """There is no such rule; it may have been revoked."""

    code = "rule_not_found"


class InvalidAnswer(RequestError):
    """An answer to a permission question that is none of the possible ones."""

    code = "invalid_answer"


class PermissionDenied(GladosError):
    """A rule, the mode or a person said no."""

    code = "permission_denied"


class ToolError(GladosError):
    """A tool could not do what was asked; features subclass it with codes of their own."""

    code = "tool_failed"


class ToolTimeout(ToolError):
    """A tool took longer than its timeout."""

    code = "tool_timeout"


class ToolAborted(ToolError):
    """The run was aborted before the tool had ended."""

    code = "aborted"


class ToolInterrupted(ToolError):
    """The process died in the middle of the call; whether it has done its work is unknown."""

    code = "interrupted"


class ModelError(GladosError):
    """The model's service refused, failed or could not be reached; `retryable` if the same request may succeed."""

    code = "model_failed"
    retryable: ClassVar[bool] = False


class Conflict(GladosError):
    """Somebody else changed the same thing first; the same call may succeed now."""

    code = "conflict"


class RunLost(Conflict):
    """Another process has taken a run over, because this one seemed to be dead: it must not go on."""

    code = "run_lost"
