"""A plugin of dask workers, in a module of its own because its base class needs dask when it is imported."""

from __future__ import annotations

from typing import Any

from distributed import WorkerPlugin


class WithoutHttp(WorkerPlugin):
    """Stops the HTTP server of a worker: nobody needs its pages."""

    name = "steering-without-http"

    def setup(self, worker: Any) -> None:
        """Called in every worker when it starts."""
        worker.http_server.stop()
