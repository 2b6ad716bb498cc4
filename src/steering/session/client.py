"""A client of `steering serve`: one small class, nothing but the standard library."""

from __future__ import annotations

import http.client
import json
import urllib.parse
import uuid
from typing import Any

from steering.errors import InvalidOption, SteeringError, Unreachable
from steering.session.errors import Conflict


class Client:
    """Ask and tell a session that is served elsewhere.

    Parameters
    ----------
    address
        What `steering serve` says, for example "http://127.0.0.1:8765".
    token
        If the server has one.
    timeout
        Seconds to wait for an answer.

    Examples
    --------
    >>> client = Client("http://127.0.0.1:8765")                        # doctest: +SKIP
    >>> suggestion = client.ask("worn")                                 # doctest: +SKIP
    >>> client.tell(suggestion["id"], reward=-2.0, next_state="good")   # doctest: +SKIP
    """

    def __init__(self, address: str, token: str | None = None, timeout: float = 30.0) -> None:
        parts = urllib.parse.urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidOption(f"'{address}' is not the address of a server; write http://127.0.0.1:8765.")
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(parts.hostname, parts.port, timeout=timeout)
        self._headers = {"Content-Type": "application/json"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"

    def ask(self, state: Any, allowed: Any = None, **more: Any) -> dict[str, Any]:
        """A suggestion: `id`, `state`, `action`, `why`."""
        found: dict[str, Any] = self._post("/ask", state=state, allowed=allowed, **more)
        return found

    def tell(
        self, id: int, reward: float | None = None, next_state: Any = None, done: bool = False, action: Any = None
    ) -> None:
        """What happened after a suggestion; harmless to repeat."""
        self._post("/tell", id=id, reward=reward, next_state=next_state, done=done, action=action)

    def add(self, state: Any, action: Any, reward: float, next_state: Any = None, **more: Any) -> None:
        """What happened without being asked for; with a key= of your own the call can be repeated after a crash."""
        more.setdefault("key", uuid.uuid4().hex)  # a request that is sent again counts once
        self._post("/add", state=state, action=action, reward=reward, next_state=next_state, **more)

    def cancel(self, id: int) -> None:
        """Forget a suggestion."""
        self._post("/cancel", id=id)

    def start(self, state: Any, unit: Any = None) -> None:
        """An episode begins."""
        self._post("/start", state=state, unit=unit)

    def get(self, what: str, **query: Any) -> Any:
        """What the server answers to GET: session, policy, belief, explain, forecast, journal, openapi.json."""
        text = urllib.parse.urlencode({name: value for name, value in query.items() if value is not None})
        return self._request("GET", f"/{what}?{text}" if text else f"/{what}", None)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _post(self, path: str, **given: Any) -> Any:
        return self._request("POST", path, json.dumps({k: v for k, v in given.items() if v is not None}))

    def _request(self, method: str, path: str, body: str | None) -> Any:
        fresh = self._connection.sock is None
        try:
            self._connection.request(method, path, body, self._headers)
            answer = self._connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            if (not fresh and method == "GET") or (isinstance(error, http.client.RemoteDisconnected) and not fresh):
                return self._request(method, path, body)  # the server closed a connection that nobody used
            raise Unreachable(f"the server does not answer ({type(error).__name__}: {error}).") from None
        try:
            found = json.loads(content)
        except ValueError:
            raise Unreachable(f"the server answers {answer.status} and no JSON.") from None
        if answer.status != 200:
            kind = Conflict if answer.status == 409 else SteeringError
            raise kind(str(found.get("error", answer.status) if isinstance(found, dict) else answer.status))
        return found
