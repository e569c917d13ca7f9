"""What stands between a client and a server on this machine: it passes bytes on, has TLS, or cuts them off."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path


class Relay:
    """A port that leads to ``target``. ``context`` has the certificate of one that speaks TLS."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.target = 0
        self._context = context
        self._left: dict[str, int | None] = {}
        self._is_cut = False
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_after(self, cut_out: int | None = None, cut_back: int | None = None) -> None:
        """So many bytes of each direction pass from now on, over all connections. Then all of them are closed, and so
        is each new one; until this is called again."""
        self._left = {"out": cut_out, "back": cut_back}
        self._is_cut = False

    @contextmanager
    def cutting(self, cut_out: int | None = None, cut_back: int | None = None) -> Iterator[None]:
        """``cut_after``, until the block ends."""
        self.cut_after(cut_out, cut_back)
        try:
            yield
        finally:
            self.cut_after()

    def end(self) -> None:
        """Close everything."""
        self._is_cut = True
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._cut()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        if self._is_cut:
            client.close()
            return
        try:
            if self._context is not None:
                client = self._context.wrap_socket(client, server_side=True)
            server = socket.create_connection(("127.0.0.1", self.target))
        except OSError:
            client.close()
            return
        for each in (client, server):
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else a small answer waits 40 ms for the next
        with self._lock:
            self._open |= {client, server}
        threading.Thread(target=self._pass, args=(client, server, "out"), daemon=True).start()
        self._pass(server, client, "back")

    def _pass(self, source: socket.socket, to: socket.socket, way: str) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                with self._lock:
                    left = self._left.get(way)
                    data = data if left is None else data[:left]
                    self._left[way] = None if left is None else left - len(data)
                to.sendall(data)
                if left is not None and left <= len(data):
                    self._cut()
        for each in (source, to):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _cut(self) -> None:
        self._is_cut = True
        with self._lock:
            for each in self._open:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)


@contextmanager
def relayed(context: ssl.SSLContext | None = None) -> Iterator[Relay]:
    """A relay, until the block ends."""
    relay = Relay(context)
    try:
        yield relay
    finally:
        relay.end()


def make_certificate(folder: Path) -> tuple[Path, ssl.SSLContext]:
    """A certificate of 127.0.0.1 that only those trust who are given its file, and what a server has of it."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a test")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    certificate, private = folder / "certificate.pem", folder / "private.pem"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(key.private_bytes(serialization.Encoding.PEM, *form))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, private)
    return certificate, context
