"""The HTTP application of a session: checks of what comes in, one call of the session, JSON out.

Requests are worked off one after the other in the event loop: each is short, and the journal has one order anyway. An
answer is sent when the disk holds what it rests on; requests that come meanwhile are written and then flushed together.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import math
import time
import urllib.parse
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route as Path

from steering.errors import DiskFull, InvalidOption, SteeringError, UnknownName
from steering.session.errors import Conflict, NothingAllowed
from steering.session.openapi import ROUTES, Route, document
from steering.session.session import Session

LARGEST_BODY = 1 << 20
MOST_EVENTS = 10_000
MOST_STEPS = 1000
LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")


class Refused(Exception):
    """A request that is answered with an error code."""

    def __init__(self, code: int, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


class Rate:
    """So many requests a second for each address, with a burst of one second's worth."""

    def __init__(self, most: float) -> None:
        self.most = most
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, address: str) -> None:
        """Count a request, or refuse it."""
        now = time.monotonic()
        left, before = self._left.get(address, (self.most, now))
        left = min(self.most, left + (now - before) * self.most)
        if left < 1.0:
            raise Refused(429, f"more than {self.most:g} requests a second; slow down.")
        if len(self._left) > 10_000:  # addresses that were heard of once
            self._left.clear()
        self._left[address] = left - 1.0, now


class Service:
    """The session behind the application."""

    def __init__(self, session: Session, token: str | None, rate: float, *, sync: bool = False) -> None:
        self.session, self.token, self.sync = session, token, sync
        self._rate = Rate(rate)
        self._flushed = session.position
        self._flushing = asyncio.Lock()

    def app(self) -> Starlette:
        """The application."""
        routes = [Path(one.path, self._endpoint(one), methods=[one.method]) for one in ROUTES]
        return Starlette(routes=routes, exception_handlers={404: self._no_route, 405: self._no_route})

    def _endpoint(self, route: Route) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            try:
                self._admit(request)
                given = await _body(request) if route.method == "POST" else _query(request, route)
                found = self._call(route, _checked(route, given))
                if self.sync:
                    await self._flush(self.session.position)
                return _json(found)
            except Refused as error:
                return _refusal(error)
            except (Conflict, NothingAllowed) as error:
                return _json({"error": str(error)}, 409)
            except DiskFull as error:
                return _json({"error": str(error)}, 507)
            except SteeringError as error:
                return _json({"error": str(error)}, 404 if isinstance(error, UnknownName) else 400)
            except (OSError, MemoryError) as error:
                return _json({"error": f"{type(error).__name__}: {error}."}, 500)

        return answer

    async def _no_route(self, request: Request, error: Exception) -> Response:
        """What is not answered; without the token not even that is said."""
        try:
            self._admit(request)
        except Refused as refused:
            return _refusal(refused)
        known = ", ".join(f"{one.method} {one.path}" for one in ROUTES)
        sentence = f"{request.method} {request.url.path[:100]} is not answered; there are: {known}."
        return _json({"error": sentence}, getattr(error, "status_code", 404))

    async def _flush(self, position: int) -> None:
        """Wait until the disk holds the journal up to a position."""
        async with self._flushing:
            if self._flushed < position:
                reached = self.session.position
                await asyncio.to_thread(self.session.flush)
                self._flushed = reached

    def _admit(self, request: Request) -> None:
        """Who may ask: those with the token, or without one whoever reaches the loopback by its own name."""
        self._rate.take(request.client.host if request.client is not None else "")
        if self.token is not None:
            given = request.headers.get("authorization", "")
            kind, _, token = given.partition(" ")
            same = hmac.compare_digest(token.strip().encode("utf-8", "replace"), self.token.encode())
            if kind.lower() != "bearer" or not same:
                raise Refused(401, "the token is missing or wrong; send the header Authorization: Bearer TOKEN.")
            return
        try:
            host = urllib.parse.urlsplit(f"//{request.headers.get('host', 'localhost')}").hostname
        except ValueError:
            host = None
        if host not in LOCAL_NAMES:  # a page elsewhere whose name was pointed at this machine
            raise Refused(403, "without a token the server answers to localhost only.")

    def _call(self, route: Route, given: dict[str, Any]) -> Any:
        session = self.session
        match route.path:
            case "/ask":
                return session.ask(given.pop("state"), **given).to_dict()
            case "/tell":
                session.tell(given.pop("id"), **given)
            case "/add":
                session.add(**given)
            case "/cancel":
                session.cancel(given["id"])
            case "/start":
                session.start(given["state"], unit=given.get("unit"))
            case "/policy":
                state = given.get("state")
                return session.recommend() if state is None else {state: session.recommend(state)}
            case "/explain":
                return session.explain(given["state"]).to_dict()
            case "/belief":
                return session.belief(given.get("state"), level=given.get("level", 0.95)).to_dict("records")
            case "/forecast":
                steps, level = given["steps"], given.get("level", 0.95)
                if steps > MOST_STEPS:
                    raise Refused(400, f"steps is {steps}; the server looks at most {MOST_STEPS} steps ahead.")
                return session.forecast(given["state"], steps, level=level).to_dict("records")
            case "/journal":
                return session.events(given.get("after", 0), min(given.get("limit", 1000), MOST_EVENTS))
            case "/openapi.json":
                return document(self.token is not None)
            case _:
                return session.summary()
        return {"ok": True}


def _refusal(error: Refused) -> Response:
    headers = {"WWW-Authenticate": "Bearer"} if error.code == 401 else None
    return _json({"error": str(error)}, error.code, headers)


async def _body(request: Request) -> dict[str, Any]:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":  # what other pages may send without being asked is never JSON
        raise Refused(415, "the body must be JSON; send the header Content-Type: application/json.")
    content = b""
    async for part in request.stream():
        content += part
        if len(content) > LARGEST_BODY:
            raise Refused(413, f"the body is larger than {LARGEST_BODY} bytes; import a file instead.")
    try:
        given = json.loads(content)
    except (ValueError, RecursionError):
        raise Refused(400, "the body is not JSON.") from None
    if not isinstance(given, dict):
        raise Refused(400, "the body must be a JSON object.")
    return given


def _query(request: Request, route: Route) -> dict[str, Any]:
    """Values of the query in the types that the route wants."""
    found: dict[str, Any] = {}
    for name, text in request.query_params.items():
        kind = route.fields.get(name, {}).get("type")
        try:
            found[name] = int(text) if kind == "integer" else float(text) if kind == "number" else text
        except ValueError:
            raise Refused(400, f"{name} is '{text[:50]}'; it must be a number.") from None
    return found


def _checked(route: Route, given: dict[str, Any]) -> dict[str, Any]:
    """Refuse fields that a route does not know or that have another type; None is as good as nothing."""
    for name, value in given.items():
        if name not in route.fields:
            known = ", ".join(route.fields) or "none"
            raise Refused(400, f"'{str(name)[:50]}' is not a field of {route.path}; there are: {known}.")
        if value is not None and not _fits(value, route.fields[name]):
            raise Refused(400, f"{name} has the wrong type; see /openapi.json.")
    for name in route.required:
        if given.get(name) is None:
            raise Refused(400, f"{name} is missing; {route.path} needs it.")
    return {name: value for name, value in given.items() if value is not None}


def _fits(value: Any, kind: dict[str, Any]) -> bool:
    if "oneOf" in kind:
        return any(_fits(value, one) for one in kind["oneOf"])
    match kind["type"]:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53
        case "number":
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case _:
            return isinstance(value, list) and all(_fits(one, kind["items"]) for one in value)


def _json(value: Any, code: int = 200, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse(_finite(value), code, {"Cache-Control": "no-store", **(headers or {})})


def _finite(value: Any) -> Any:
    """JSON has no infinity; there it is null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


def read_token(path: str | None) -> str | None:
    """The token of a file: its first line."""
    if path is None:
        return None
    try:
        with open(path, encoding="utf-8") as file:
            token = file.readline(4096).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidOption(f"the token file {path} cannot be read ({error}).") from None
    if len(token) < 16 or not token.isascii() or not token.isprintable() or " " in token:
        raise InvalidOption(f"the token in {path} must be at least 16 ASCII characters without spaces, on one line.")
    return token
