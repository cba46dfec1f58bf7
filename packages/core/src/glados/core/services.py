"""The container: services by their type, each plugin's registrations taken back together.

dependency-injector holds the providers; this module gives them types, owners and a way back.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from dependency_injector import containers, providers

from glados.core.errors import PluginError, ServiceConflict, ServiceNotFound
from glados.core.resources import Resource

T = TypeVar("T")


@dataclass(slots=True)
class _Registration:
    """One `provide` or `add`, with what it replaced, so that it can be taken back."""

    service: type
    owner: str
    provider: Any
    previous: Any | None = None
    open: Callable[[], AbstractAsyncContextManager[Any]] | None = None


@dataclass(slots=True)
class _State:
    """What all views of one container share."""

    container: Any = field(default_factory=containers.DynamicContainer)
    owners: dict[str, str] = field(default_factory=dict[str, str])
    many: dict[type, list[tuple[str, Any]]] = field(default_factory=dict[type, "list[tuple[str, Any]]"])
    registrations: list[_Registration] = field(default_factory=list["_Registration"])
    resources: list[tuple[str, Resource]] = field(default_factory=list["tuple[str, Resource]"])
    opening: set[str] = field(default_factory=set[str])


class Services:
    """Typed access to what plugins provide; every plugin gets a view that knows who registers."""

    def __init__(self, owner: str = "glados", _state: _State | None = None) -> None:
        self._owner = owner
        self._state = _state if _state is not None else _State()

    def owned_by(self, owner: str) -> Services:
        """The same container, seen by another owner."""
        return Services(owner, self._state)

    def provide(
        self,
        service: type[T],
        factory: Callable[[], T] | Callable[[], AbstractAsyncContextManager[T]],
        *,
        replace: bool = False,
    ) -> None:
        """Register the one factory of a service: made when first asked for, or entered when setup ends.

        A factory made with `@asynccontextmanager` is entered when the plugin's setup ends and closed in reverse order.
        """
        key = _key(service)
        previous = self._state.container.providers.get(key)
        if previous is not None and not replace:
            raise ServiceConflict(
                f"{self._owner} provides {_name(service)}, which {self._state.owners[key]} provides already:"
                " pass replace=True to take its place.",
                service=_name(service),
            )
        if inspect.iscoroutinefunction(factory):
            raise PluginError(
                f"The factory of {_name(service)} is a coroutine function: make it an @asynccontextmanager,"
                " which is entered when setup ends.",
                service=_name(service),
            )
        opens = inspect.isasyncgenfunction(inspect.unwrap(factory))
        provider: Any = providers.Object(None) if opens else providers.Singleton(factory)
        registration = _Registration(service, self._owner, provider, previous)
        if opens:
            registration.open = cast("Callable[[], AbstractAsyncContextManager[Any]]", factory)
            self._state.opening.add(key)
        self._state.registrations.append(registration)
        self._state.owners[key] = self._owner
        self._state.container.set_provider(key, provider)

    def get(self, service: type[T]) -> T:
        """The service of that type; never an awaitable."""
        key = _key(service)
        provider = self._state.container.providers.get(key)
        if provider is None:
            raise ServiceNotFound(
                f"Nobody provides {_name(service)}: add the plugin that does to `requires`.", service=_name(service)
            )
        if key in self._state.opening:
            raise ServiceNotFound(
                f"{_name(service)} is opened when the setup of {self._state.owners[key]} ends; ask for it after that.",
                service=_name(service),
            )
        value = provider()
        if inspect.isawaitable(value) or isinstance(value, contextlib._AsyncGeneratorContextManager):  # pyright: ignore[reportPrivateUsage]
            raise PluginError(
                f"The factory of {_name(service)} gave {type(value).__name__}: pass the @asynccontextmanager function"
                " itself to provide(), so that it is entered for you.",
                service=_name(service),
            )
        return value

    def add(self, service: type[T], value: T) -> None:
        """Register one of many values of a type, side by side with those of other plugins."""
        self._state.many.setdefault(service, []).append((self._owner, value))

    def all(self, service: type[T]) -> list[T]:
        """Everything that was added for that type, in the order of the plugins."""
        return [value for _, value in self._state.many.get(service, [])]

    @contextlib.contextmanager
    def override(self, service: type[T], value: T) -> Iterator[None]:
        """Put a value in a service's place while the block runs; for tests."""
        key = _key(service)
        provider = self._state.container.providers.get(key)
        if provider is None:
            raise ServiceNotFound(f"Nobody provides {_name(service)}, so it cannot be overridden.")
        with provider.override(providers.Object(value)):
            yield

    async def open_resources(self, timeout: float) -> None:
        """Enter the async factories that this view's owner registered; core calls it when setup has ended."""
        for registration in self._state.registrations:
            if registration.owner != self._owner or registration.open is None:
                continue
            resource = Resource(registration.open, f"{self._owner}: {_name(registration.service)}")
            registration.open = None
            value = await resource.open(timeout)
            self._state.resources.append((self._owner, resource))
            self._state.opening.discard(_key(registration.service))
            registration.provider.override(providers.Object(value))

    async def close(self, timeout: float, owner: str | None = None) -> list[str]:
        """Close resources and take registrations back, of one owner or of all, last first; says what failed."""
        state, failures = self._state, list[str]()
        mine = [pair for pair in state.resources if owner in (None, pair[0])]
        for pair in reversed(mine):
            state.resources.remove(pair)
            failure = await pair[1].close(timeout)
            if failure:
                failures.append(failure)
        for registration in reversed([r for r in state.registrations if owner in (None, r.owner)]):
            state.registrations.remove(registration)
            self._take_back(registration)
        for key, values in list(state.many.items()):
            state.many[key] = [pair for pair in values if owner not in (None, pair[0])]
        return failures

    def _take_back(self, registration: _Registration) -> None:
        state, key = self._state, _key(registration.service)
        state.opening.discard(key)
        if state.container.providers.get(key) is not registration.provider:
            # A later plugin replaced it; what that one restores must not be what is gone.
            for later in state.registrations:
                if later.previous is registration.provider:
                    later.previous = registration.previous
            return
        if registration.previous is None:
            delattr(state.container, key)
            state.owners.pop(key, None)
        else:
            state.container.set_provider(key, registration.previous)
            state.owners[key] = next(r.owner for r in state.registrations if r.provider is registration.previous)


def _key(service: type[Any]) -> str:
    return f"{service.__qualname__}@{id(service):x}"


def _name(service: type[Any]) -> str:
    return service.__qualname__
