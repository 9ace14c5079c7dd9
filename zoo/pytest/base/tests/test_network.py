import socket

from zoohelp import nth


def test_server_listens_late():
    # transient: the connection is refused the first time; after that, the
    # server listens. The socket is bound all the time: nobody can take its port.
    with socket.socket() as server, socket.socket() as client:
        server.bind(("127.0.0.1", 0))
        if nth("listens-late") > 1:
            server.listen()
        try:
            client.connect(server.getsockname())
        except ConnectionRefusedError as error:
            raise ConnectionError("the server was not up yet") from error
