"""The container: services by their type, each plugin's registrations taken back together.

dependency-injector's providers make, keep and override the values; this module gives them types, owners and a way
back. Its container classes are left alone: importing them imports whatever web framework is installed.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import threading
from collections.abc import Callable, Generator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from dependency_injector import providers

from glados.core.errors import GladosError, PluginError, ServiceConflict, ServiceNotFound
from glados.core.resources import Resource

T = TypeVar("T")
_ENTERED_BY_US = type(contextlib.asynccontextmanager(lambda: cast("Any", None))())


@dataclass(slots=True, eq=False)
class _Registration:
    """One `provide`: who registered it, and how its value is made or opened."""

    service: type
    owner: str
    provider: Any
    open: Callable[[], AbstractAsyncContextManager[Any]] | None = None


@dataclass(slots=True)
class _State:
    """What all views of one container share; of several registrations for one type the last one counts."""

    single: dict[type, list[_Registration]] = field(default_factory=dict[type, "list[_Registration]"])
    many: dict[type, list[tuple[str, Any]]] = field(default_factory=dict[type, "list[tuple[str, Any]]"])
    resources: list[tuple[str, Resource]] = field(default_factory=list["tuple[str, Resource]"])
    opening: list[_Registration] = field(default_factory=list[_Registration])
    closed: set[str | None] = field(default_factory=set["str | None"])
    lock: threading.Lock = field(default_factory=threading.Lock)  # plain hooks register from threads


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
        if inspect.iscoroutinefunction(factory):
            raise PluginError(
                f"The factory of {service.__qualname__} is a coroutine function: make it an @asynccontextmanager,"
                " which is entered when setup ends.",
                service=service.__qualname__,
            )
        opens = cast("Callable[[], AbstractAsyncContextManager[Any]]", factory) if _is_context(factory) else None
        provider: Any = providers.ThreadSafeSingleton(_make, service, cast("Callable[[], Any]", factory))
        registration = _Registration(service, self._owner, provider, opens)
        with self._registering(service):
            registered = self._state.single.setdefault(service, [])
            if registered and not replace:
                raise ServiceConflict(
                    f"{self._owner} provides {service.__qualname__}, which {registered[-1].owner} provides already:"
                    " pass replace=True to take its place.",
                    service=service.__qualname__,
                )
            registered.append(registration)
            if opens is not None:
                self._state.opening.append(registration)

    def get(self, service: type[T]) -> T:
        """The service of that type; never an awaitable."""
        registration = self._registration(service)
        if registration.open is not None:
            raise ServiceNotFound(
                f"{service.__qualname__} is opened when the setup of {registration.owner} ends; ask for it after that.",
                service=service.__qualname__,
            )
        return cast("T", registration.provider())

    def add(self, service: type[T], value: T) -> None:
        """Register one of many values of a type, side by side with those of other plugins."""
        with self._registering(service):
            self._state.many.setdefault(service, []).append((self._owner, value))

    def all(self, service: type[T]) -> list[T]:
        """Everything that was added for that type, in the order of the plugins."""
        return [value for _, value in self._state.many.get(service, [])]

    @contextlib.contextmanager
    def override(self, service: type[T], value: T) -> Generator[None]:
        """Put a value in a service's place while the block runs; for tests."""
        with self._registration(service).provider.override(_object(value)):
            yield

    async def open_resources(self, timeout: float) -> None:
        """Enter the async factories that this view's owner registered; core calls it when setup has ended."""
        for registration in [r for r in self._state.opening if r.owner == self._owner]:
            assert registration.open is not None
            resource = Resource(registration.open, f"{self._owner}: {registration.service.__qualname__}")
            value = await resource.open(timeout)
            self._state.resources.append((self._owner, resource))
            registration.provider.override(_object(value))
            registration.open = None
            self._state.opening.remove(registration)

    async def close(self, timeout: float, owner: str | None = None) -> list[str]:
        """Close resources and take registrations back, of one owner or of all, last first; says what failed.

        Who was closed registers nothing any more: one of its hooks may have been left behind and still run.
        """
        state, failures = self._state, list[str]()
        with state.lock:
            state.closed.add(owner)
        for pair in reversed([pair for pair in state.resources if owner in (None, pair[0])]):
            state.resources.remove(pair)
            failure = await pair[1].close(timeout)
            if failure:
                failures.append(failure)
        state.opening = [registration for registration in state.opening if owner not in (None, registration.owner)]
        for service, registered in state.single.items():
            state.single[service] = [one for one in registered if owner not in (None, one.owner)]
        for service, values in state.many.items():
            state.many[service] = [pair for pair in values if owner not in (None, pair[0])]
        return failures

    def _registration(self, service: type[Any]) -> _Registration:
        registered = self._state.single.get(service)
        if not registered:
            raise ServiceNotFound(
                f"Nobody provides {service.__qualname__}: add the plugin that does to `requires`.",
                service=service.__qualname__,
            )
        return registered[-1]

    @contextlib.contextmanager
    def _registering(self, service: type[Any]) -> Generator[None]:
        with self._state.lock:
            if not self._state.closed.isdisjoint((None, self._owner)):
                raise PluginError(
                    f"{self._owner} registers {service.__qualname__} after it was stopped.",
                    service=service.__qualname__,
                )
            yield


def _is_context(factory: Callable[[], Any]) -> bool:
    """Whether it was made with `@asynccontextmanager`, perhaps with some of its arguments bound."""
    while isinstance(factory, functools.partial):
        factory = cast("functools.partial[Any]", factory).func
    return inspect.isasyncgenfunction(inspect.unwrap(factory))


def _make(service: type[Any], factory: Callable[[], Any]) -> Any:
    """What a factory makes; one that fails is named, and nothing that would have to be awaited comes out."""
    try:
        value: Any = factory()
    except GladosError:
        raise
    except (Exception, SystemExit) as error:
        told = f"{type(error).__name__}: {error}".removesuffix(": ")
        raise PluginError(
            f"The factory of {service.__qualname__} raised {told}.", service=service.__qualname__
        ) from error
    if not inspect.isawaitable(value) and not isinstance(value, _ENTERED_BY_US):
        return value
    if inspect.iscoroutine(cast("object", value)):
        cast("Any", value).close()
    raise PluginError(
        f"The factory of {service.__qualname__} gave {type(cast('object', value)).__name__}: pass the"
        " @asynccontextmanager function itself to provide(), with functools.partial if it takes arguments, so that it"
        " is entered for you.",
        service=service.__qualname__,
    )


def _object(value: Any) -> Any:
    """A provider that gives the value as it is."""
    return cast("Any", providers).Object(value)
