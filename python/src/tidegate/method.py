"""Methods out of commands, for both shells at once.

A link's `call` answers, or in asyncio is awaited for the answer; what leads there is the same. So operations are listed
once, in groups that are generic over the link, and the link tells the type checker what comes of a call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from .aio.link import Link as AioLink
from .protocol.command import Command
from .sync.link import Link as SyncLink

P = ParamSpec("P")
T = TypeVar("T")
L = TypeVar("L", bound=AioLink | SyncLink)


class Group(Generic[L]):
    """Operations of one subject."""

    def __init__(self, link: L) -> None:
        self._link = link


class NamedGroup(Group[L]):
    """Operations on one thing that has a name."""

    def __init__(self, link: L, name: str) -> None:
        super().__init__(link)
        self.name = name


class Method(Generic[P, T]):
    """A method that sends the command that a function builds. Its arguments and its text are the function's."""

    def __init__(self, build: Callable[P, Command[T]]) -> None:
        self._build = build
        self.__doc__ = build.__doc__

    @overload
    def __get__(self, group: Group[AioLink], owner: Any = None) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, group: Group[SyncLink], owner: Any = None) -> Callable[P, T]: ...
    def __get__(self, group: Any, owner: Any = None) -> Any:
        return self if group is None else _bound(group, self._build)


class NamedMethod(Generic[P, T]):
    """The same for a command whose first argument is the group's name."""

    def __init__(self, build: Callable[Concatenate[str, P], Command[T]]) -> None:
        self._build = build
        self.__doc__ = build.__doc__

    @overload
    def __get__(self, group: NamedGroup[AioLink], owner: Any = None) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, group: NamedGroup[SyncLink], owner: Any = None) -> Callable[P, T]: ...
    def __get__(self, group: Any, owner: Any = None) -> Any:
        return self if group is None else _bound(group, self._build, group.name)


def _bound(group: Any, build: Callable[..., Command[Any]], *first: str) -> Callable[..., Any]:
    @functools.wraps(build)
    def method(*args: Any, **kwargs: Any) -> Any:
        return group._link.call(build(*first, *args, **kwargs))

    return method
