"""What the server offers: one table, from which requests are checked and the OpenAPI document is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from steering._version import __version__

NAME: dict[str, Any] = {"oneOf": [{"type": "string"}, {"type": "integer"}]}
NUMBER: dict[str, Any] = {"type": "number"}
FLAG: dict[str, Any] = {"type": "boolean"}
WHOLE: dict[str, Any] = {"type": "integer"}
NAMES: dict[str, Any] = {"type": "array", "items": NAME}
PAIR: dict[str, Any] = {"type": "array", "items": NUMBER, "minItems": 2, "maxItems": 2}


@dataclass(frozen=True)
class Route:
    """One thing that can be asked of the server.

    Attributes
    ----------
    method, path, summary
        Of the request.
    fields
        What the body (POST) or the query (GET) may hold, each with its type as a JSON schema.
    required
        Fields that must be there.
    """

    method: str
    path: str
    summary: str
    fields: dict[str, dict[str, Any]]
    required: tuple[str, ...] = ()


_STEP = {"reward": NUMBER, "next_state": NAME, "done": FLAG, "action": NAME}

ROUTES = (
    Route(
        "POST",
        "/ask",
        "What to do in a state; the same until its outcome is told.",
        {"state": NAME, "allowed": NAMES, "risk": PAIR, "unit": NAME, "why": FLAG},
        ("state",),
    ),
    Route("POST", "/tell", "What happened after a suggestion.", {"id": WHOLE, **_STEP}, ("id",)),
    Route(
        "POST",
        "/add",
        "What happened without being asked for; with a key it can be repeated.",
        {"state": NAME, **_STEP, "unit": NAME, "key": NAME},
        ("state", "action", "reward"),
    ),
    Route("POST", "/cancel", "Forget a suggestion.", {"id": WHOLE}, ("id",)),
    Route("POST", "/start", "An episode begins in a state.", {"state": NAME, "unit": NAME}, ("state",)),
    Route("GET", "/session", "What there is, in a few numbers.", {}),
    Route("GET", "/policy", "The best known action of every state, or of one.", {"state": NAME}),
    Route("GET", "/explain", "What is known about each action of a state.", {"state": NAME}, ("state",)),
    Route("GET", "/belief", "Transitions and rewards with intervals.", {"state": NAME, "level": NUMBER}),
    Route(
        "GET",
        "/forecast",
        "Expected rewards of the next steps.",
        {"state": NAME, "steps": WHOLE, "level": NUMBER},
        ("state", "steps"),
    ),
    Route(
        "GET",
        "/journal",
        "Events after number `after`, `limit` of them at most.",
        {"after": WHOLE, "limit": WHOLE},
    ),
    Route("GET", "/openapi.json", "This document.", {}),
)

ERRORS = {
    "400": "The request is wrong; `error` says what.",
    "401": "The token is missing or wrong.",
    "409": "Something else was told before, or no action is allowed.",
    "413": "The body is too large.",
    "429": "Too many requests.",
}


def document(with_token: bool) -> dict[str, Any]:
    """The OpenAPI document of the server."""
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    error = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}
    found: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "STEERING session", "version": __version__},
        "paths": paths,
        "components": {"schemas": {"Error": error}},
    }
    if with_token:
        found["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        found["security"] = [{"token": []}]
    return found


def _operation(route: Route) -> dict[str, Any]:
    problem = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    responses: dict[str, Any] = {"200": {"description": "Done.", "content": {"application/json": {}}}}
    responses |= {code: {"description": text, "content": problem} for code, text in ERRORS.items()}
    operation: dict[str, Any] = {
        "operationId": f"{route.method.lower()}_{route.path.strip('/').replace('.', '_')}",
        "summary": route.summary,
        "responses": responses,
    }
    if route.method == "POST":
        body: dict[str, Any] = {"type": "object", "properties": route.fields, "required": list(route.required)}
        body["additionalProperties"] = False
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    elif route.fields:
        operation["parameters"] = [
            {"name": name, "in": "query", "required": name in route.required, "schema": kind}
            for name, kind in route.fields.items()
        ]
    return operation
