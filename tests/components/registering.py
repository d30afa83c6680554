"""Run a declaration against Pulumi's mocks and see what was registered, options included."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi.runtime import mocks, rpc
from pulumi.runtime.stack import Stack, run_pulumi_func


@dataclass(frozen=True)
class Registration:
    """One RegisterResource call. ``dependencies`` are resource names, ``secret`` the names of secret properties."""

    token: str
    name: str
    urn: str
    parent: str
    custom: bool
    provider: str
    retain: bool
    protect: bool
    dependencies: tuple[str, ...]
    secret: tuple[str, ...]
    inputs: dict[str, Any]


class _Monitor(mocks.MockMonitor):
    def __init__(self) -> None:
        super().__init__(_Echo())
        self.seen: list[Registration] = []

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802
        # The mock makes an event loop in every thread that it is called on and leaves it open; ours is closed.
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        try:
            answer = super().RegisterResource(request)  # type: ignore[no-untyped-call]
        finally:
            asyncio.set_event_loop(None)
            loop.close()
        if request.type != "pulumi:pulumi:Stack":
            raw = rpc.deserialize_properties(request.object, keep_unknowns=True)
            secret = tuple(sorted(key for key, value in raw.items() if rpc.is_rpc_secret(value)))
            self.seen.append(
                Registration(
                    token=request.type,
                    name=request.name,
                    urn=answer.urn,
                    parent=request.parent.rpartition("::")[2],
                    custom=request.custom,
                    provider=request.provider,
                    retain=request.retainOnDelete,
                    protect=request.protect,
                    dependencies=tuple(sorted(urn.partition("::")[2].split("::", 2)[-1] for urn in request.dependencies)),
                    secret=secret,
                    inputs=raw,
                )
            )
        return answer


class _Echo(mocks.Mocks):
    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[Any, Any]]:
        return f"{args.name}-id", args.inputs

    def call(self, args: mocks.MockCallArgs) -> tuple[dict[Any, Any], list[tuple[str, str]] | None]:
        raise AssertionError(f"the program calls {args.token}; it must not ask the provider for anything")


def register(program: Callable[[], object]) -> tuple[list[Registration], dict[str, Any]]:
    """What ``program`` registers, in order of name within kind, and the stack outputs it exports."""
    monitor = _Monitor()

    def call() -> None:
        program()

    async def run() -> dict[str, Any]:
        mocks.set_mocks(monitor.mocks, project="chandlery", stack="synthetic", preview=False, monitor=monitor)
        await run_pulumi_func(call)
        root = pulumi.runtime.get_root_resource()
        assert isinstance(root, Stack)
        return {key: await pulumi.Output.from_input(value).future() for key, value in root.outputs.items()}

    pulumi.runtime.settings.reset_options()
    exported = asyncio.run(run())
    return sorted(monitor.seen, key=lambda r: (r.token, r.name)), exported
