"""A database that is down."""
import socket


def connect():
    # Bound and not listening: nobody else can take the port, and a connection
    # to it is refused, for certain.
    with socket.socket() as deaf, socket.socket() as client:
        deaf.bind(("127.0.0.1", 0))
        client.connect(deaf.getsockname())
