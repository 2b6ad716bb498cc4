"""Who can talk to a cluster, and what is said when there is none, none to work, or something else."""

import gc
import os
import socket
import ssl
import threading

import distributed
import pytest
from engine_helpers import descendants

import steering
from steering.errors import Unreachable
from steering.sweeps.executors import dask
from steering.sweeps.executors.base import Limits, Setup
from steering.sweeps.executors.dask import DaskExecutor, NoWorkersWarning

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")


def listening(pids):
    """Ports on which some processes listen, and on which address, from what the system knows of their sockets."""
    inodes = set()
    for pid in pids:
        for name in os.listdir(f"/proc/{pid}/fd"):
            try:
                target = os.readlink(f"/proc/{pid}/fd/{name}")
            except OSError:
                continue
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
    found = set()
    for table in ("tcp", "tcp6"):
        with open(f"/proc/self/net/{table}") as file:
            for line in file.readlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and fields[9] in inodes:
                    address, port = fields[1].split(":")
                    found.add((address, int(port, 16)))
    return found


def test_a_local_cluster_talks_to_its_owner_only():
    before = listening([os.getpid()])
    executor = DaskExecutor("local", 1, Limits(), Setup())
    try:
        executor._client.wait_for_workers(1)
        address = executor._address
        assert address.startswith("tls://127.0.0.1:")
        ports = listening([os.getpid(), *descendants([os.getpid()])]) - before
        assert all(place == "0100007F" for place, _ in ports), ports
        # The scheduler, the worker and its nanny: nothing else, and all of them ask for a certificate.
        assert len(ports) == 3, ports
        assert 8787 not in {port for _, port in ports}
        for _, port in ports:
            careless = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            careless.check_hostname, careless.verify_mode = False, ssl.CERT_NONE
            with pytest.raises(OSError), socket.create_connection(("127.0.0.1", port), 5) as plain:  # noqa: PT011, PT012
                wrapped = careless.wrap_socket(plain)
                wrapped.settimeout(5)
                wrapped.sendall(b"hello")
                assert wrapped.recv(1) == b""
                raise ConnectionResetError
        with pytest.raises(OSError):  # noqa: PT011
            distributed.Client(address.replace("tls", "tcp"), timeout=2, set_as_default=False)
        gc.collect()  # it closes itself now, and not while the next one starts: both would wait for one lock
    finally:
        executor.close()


@pytest.mark.parametrize("answer", [b"", b"SSH-2.0-x\r\n", bytes(range(256))])
def test_something_else_at_the_address_of_a_scheduler(answer, small, tmp_path, monkeypatch):
    monkeypatch.setattr(dask, "CONNECT_SECONDS", 2)
    server = socket.create_server(("127.0.0.1", 0))
    done = threading.Event()

    def serve():
        server.settimeout(0.1)
        kept = []
        while not done.is_set():
            try:
                connection, _ = server.accept()
            except TimeoutError:
                continue
            connection.sendall(answer)
            kept.append(connection)
        for connection in kept:
            connection.close()

    thread = threading.Thread(target=serve)
    thread.start()
    address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
    try:
        # Noticed before there is a client: one that fails in the middle of an answer says so when Python ends.
        with pytest.raises(Unreachable, match=rf"answers at {address} \((ConnectionResetError|TimeoutError)\)"):
            steering.sweep(small, tmp_path / "a", scheduler=address)
    finally:
        done.set()
        thread.join()
        server.close()


def test_a_client_that_failed_does_not_block_the_next(small, tmp_path, monkeypatch):
    """What it leaves behind closes itself when it is collected, and must not be collected while another one starts."""
    seen = []

    class Watched(distributed.Client):
        def __init__(self, *args, **options):
            seen.append(gc.isenabled())
            raise OSError("nobody there")

    monkeypatch.setattr(dask, "_hear", lambda address: None)
    monkeypatch.setattr(distributed, "Client", Watched)
    with pytest.raises(Unreachable):
        steering.sweep(small, tmp_path / "a", scheduler="tcp://127.0.0.1:1")
    assert seen == [False]
    assert gc.isenabled()


def test_a_scheduler_without_workers_is_told_and_waited_for_a_stated_time(small, tmp_path, monkeypatch):
    monkeypatch.setattr(dask, "NO_WORKERS_SECONDS", 1.0)
    monkeypatch.setattr(dask, "COUNT_SECONDS", 0.2)
    # Port 8787, the scheduler's own default, may be taken by another test (or another program) at this moment.
    free = {"dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(n_workers=0, dashboard_address=None, scheduler_kwargs=free, silence_logs=50) as empty:
        address = empty.scheduler_address
        with (
            pytest.warns(NoWorkersWarning, match="has no workers; waiting for one for 1 s"),
            pytest.raises(Unreachable, match="has had no workers for 1 s: all finished cells are kept"),
        ):
            steering.sweep(small, tmp_path / "a", scheduler=address)
