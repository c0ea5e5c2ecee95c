#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A program of TCP sockets that outlives weftd: reconnect.py server|client ADDRESS PORT FILE

It knows nothing of weft. The client sends numbered records and compares each answer. An error ends
the connection, and both begin again: the server with a new listener, the client with a new socket,
until it works. Each prints "connection N" when it has one; the client ends after 500 records on a
connection that began when FILE was there, and then tells the server to end.
Run by crash.sh with weft-run --sockets.
"""

import os
import socket
import struct
import sys
import time

RECORD = 5000
RECORDS = 500
END = 2**64 - 1


def receive(sock):
    data = b""
    while len(data) < RECORD:
        more = sock.recv(RECORD - len(data))
        if not more:
            raise ConnectionError("the peer has closed")
        data += more
    return data


def record(number):
    return struct.pack("<Q", number) + bytes((number + i) % 251 for i in range(RECORD - 8))


def serve(address):
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen()
        sock, _ = listener.accept()
        with sock:
            yield
            while True:
                data = receive(sock)
                sock.sendall(data)
                if struct.unpack_from("<Q", data)[0] == END:
                    return


def ask(address, is_last):
    with socket.create_connection(address) as sock:
        yield
        number = 0
        while not is_last or number < RECORDS:
            wanted = record(number)
            sock.sendall(wanted)
            if receive(sock) != wanted:
                sys.exit(f"record {number} came back otherwise")
            number += 1
        sock.sendall(record(END))
        receive(sock)


def main():
    role, address, port, last = sys.argv[1:]
    count = 0
    while True:
        try:
            life = ask((address, int(port)), os.path.exists(last)) if role == "client" else serve((address, int(port)))
            for _ in life:
                count += 1
                print("connection", count, flush=True)
            print("right", flush=True)
            return
        except OSError as error:
            print(type(error).__name__, error, file=sys.stderr, flush=True)
            time.sleep(0.01)


main()
