"""The server of the live page: this machine only, one run at a time, agents in threads of their own.

It answers requests for its own names only (`TrustedHostMiddleware`), and changes anything only when asked in JSON by
its own page: a form or script of another site cannot do that.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from steering._checks import whole
from steering.agents import Agent, make_agent
from steering.envs import Environment, make_env
from steering.errors import InvalidOption, SteeringError
from steering.lab.chart import chart, require, script
from steering.lab.journal import SessionLab
from steering.lab.page import ASSETS, LIVE_POLICY, asset, live_page, tracks_pack, world_pack
from steering.lab.recorder import Track, You
from steering.runs.runner import refuse_too_long, refuse_twice

HOST = "127.0.0.1"
MOST_AGENTS = 4
HEADERS = {
    "Content-Security-Policy": LIVE_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
KINDS = {"css": "text/css", "js": "text/javascript"}


@dataclass(frozen=True)
class Setup:
    """What is run: checked once, by the command line and by the page alike."""

    environment: Environment
    agents: Sequence[Agent]
    steps: int
    seed: int

    @classmethod
    def checked(cls, env: Any, agents: Any, steps: Any, seed: Any) -> Setup:
        """Read names and numbers; the first thing that is wrong is refused in a sentence."""
        from steering.lab.world import refuse_large

        if not isinstance(env, str) or not isinstance(agents, list) or not all(isinstance(a, str) for a in agents):
            raise InvalidOption("give an environment and a list of agents, as text.")
        if not 1 <= len(agents) <= MOST_AGENTS:
            raise InvalidOption(f"{len(agents)} agents are given; the lab shows 1 to {MOST_AGENTS} side by side.")
        environment = make_env(env)
        refuse_large(environment)
        learners = [make_agent(text) for text in agents]
        refuse_twice(learners)
        steps = whole("steps", steps, 1)
        refuse_too_long(steps, len(learners) + 1)
        return cls(environment, learners, steps, whole("seed", seed, 0))


class Lab:
    """The run that is shown now."""

    def __init__(self, setup: Setup) -> None:
        self.number = 0
        self.tracks: list[Track] = []
        self._lock = threading.Lock()
        self.start(setup)

    def start(self, setup: Setup) -> None:
        """Stop what runs and begin anew."""
        with self._lock:
            self.stop()
            environment, steps, seed = setup.environment, setup.steps, setup.seed
            tracks = [Track(environment, agent, steps, seed) for agent in setup.agents]
            self.world = world_pack(environment, tracks, steps, seed, live=True)
            self.setup, self.tracks, self.number = setup, tracks, self.number + 1
            self.you = You(environment, steps, seed)
            for track in tracks:
                threading.Thread(target=track.run, daemon=True, name=f"lab {track.name}").start()

    def chart(self) -> dict[str, Any]:
        """The chart of regret, for Bokeh's script."""
        return chart([track.name for track in self.tracks], live=True)

    def begin(self, given: dict[str, Any]) -> None:
        """Begin anew as the page asks for it."""
        self.start(Setup.checked(*(given.get(key) for key in ("environment", "agents", "steps", "seed"))))

    def stop(self) -> None:
        """End the agents at their next plan."""
        for track in self.tracks:
            track.stop()

    def news(self, seen: str) -> bytes:
        """What is new since the page had so many steps, plans, frames and policies of each agent: ``1,2,3,4;...``."""
        try:
            counts = [tuple(max(int(part), 0) for part in one.split(",")) for one in seen.split(";")]
        except ValueError:
            counts = []
        if len(counts) != len(self.tracks) or any(len(one) != 4 for one in counts):
            raise InvalidOption("the page asks about another run; load it again.")
        return tracks_pack(self.tracks, [(a, b, c, d) for a, b, c, d in counts], self.number)

    def act(self, action: Any) -> dict[str, Any]:
        """Let the person act; without an action they begin anew."""
        with self._lock:
            if action is None:
                self.you = You(self.setup.environment, self.setup.steps, self.setup.seed)
                return {"now": self.you.simulator.state}
            return self.you.act(whole("action", action, 0))


def application(lab: Lab | SessionLab, speed: float | None) -> Any:
    """The Starlette application."""
    applications, middleware, trusted, responses, routing = require(
        "starlette.applications",
        "starlette.middleware",
        "starlette.middleware.trustedhost",
        "starlette.responses",
        "starlette.routing",
    )
    texts = {name: asset(name) for name in ASSETS} | {"bokeh.min.js": script()}

    def answer(content: Any, kind: str = "text/html", status: int = 200) -> Any:
        return responses.Response(content, status, HEADERS, f"{kind}; charset=utf-8" if kind != BYTES else kind)

    def page(request: Any) -> Any:
        return answer(live_page(speed))

    def file(request: Any) -> Any:
        name = request.path_params["name"]
        if name not in texts:
            return answer("there is no such file.", "text/plain", 404)
        return answer(texts[name], KINDS[name.rpartition(".")[2]])

    def world(request: Any) -> Any:
        return answer(lab.world, BYTES)

    def figure(request: Any) -> Any:
        return responses.JSONResponse(lab.chart(), headers=HEADERS)

    def record(request: Any) -> Any:
        return refusing(lambda: answer(lab.news(request.query_params.get("seen", "")), BYTES))

    async def start(request: Any) -> Any:
        given = await body(request)

        def begin() -> Any:
            lab.begin(given)
            return responses.JSONResponse({"run": lab.number}, headers=HEADERS)

        return await in_thread(lambda: refusing(begin) if given is not None else foreign())

    async def act(request: Any) -> Any:
        given = await body(request)

        def step() -> Any:
            return responses.JSONResponse(lab.act(given.get("action")), headers=HEADERS)

        return await in_thread(lambda: refusing(step) if given is not None else foreign())

    async def body(request: Any) -> Any:
        """The JSON of our own page; None for anything else."""
        origin = request.headers.get("origin")
        own = f"http://{request.headers.get('host', '')}"
        if request.headers.get("content-type") != "application/json" or origin not in (None, own):
            return None
        try:
            given = await request.json()
        except ValueError:
            return None
        return given if isinstance(given, dict) else None

    async def in_thread(work: Callable[[], Any]) -> Any:
        (concurrency,) = require("starlette.concurrency")
        return await concurrency.run_in_threadpool(work)

    def refusing(work: Callable[[], Any]) -> Any:
        try:
            return work()
        except SteeringError as error:
            return responses.JSONResponse({"error": str(error)}, 400, HEADERS)

    def foreign() -> Any:
        return responses.JSONResponse({"error": "only the page of this lab may ask that."}, 403, HEADERS)

    route = routing.Route
    return applications.Starlette(
        routes=[
            route("/", page),
            route("/assets/{name}", file),
            route("/api/world", world),
            route("/api/chart", figure),
            route("/api/record", record),
            route("/api/start", start, methods=["POST"]),
            route("/api/act", act, methods=["POST"]),
        ],
        middleware=[middleware.Middleware(trusted.TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"])],
    )


BYTES = "application/octet-stream"


def bound(port: int) -> Any:
    """A socket on this machine only, on a port that may be 0 for any free one."""
    import socket

    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((HOST, port))
    except (OSError, OverflowError) as error:
        made.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidOption(f"--port {port} cannot be used ({reason}); give another, or 0 for any free one.") from None
    return made


def serve(lab: Lab | SessionLab, made: Any, speed: float | None) -> None:
    """Answer until interrupted."""
    (uvicorn,) = require("uvicorn")
    config = uvicorn.Config(application(lab, speed), log_level="warning", access_log=False, lifespan="off")
    try:
        uvicorn.Server(config).run(sockets=[made])
    finally:
        lab.stop()
        made.close()
