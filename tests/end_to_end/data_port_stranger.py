"""A stranger at a data port: sends damaged messages of UCX, of TLS and of the fabric's own protocol.

    data_port_stranger.py PORT COUNT SEED [CERTIFICATE KEY]

With a certificate of the cluster it speaks TLS and sends its messages behind the handshake. It gives up its rights before.
Prints how many it sent."""
import os
import random
import socket
import ssl
import struct
import sys


NOBODY = 65534  # has no rights


def client_hello():
    """The first bytes that a TLS client sends."""
    out = ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), out, server_hostname="127.0.0.1")
    try:
        client.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return out.read()


def samples():
    """A connection request of UCX with a write to an address of the sender's choice, TLS, and a connection of the fabric."""
    ucx = struct.pack("<QBIQQ", 0xCAFEBABE12345678, 7, 32, 1, 2) + struct.pack("<BIQQI", 6, 20, 0x4141414141, 8, 0) + b"A" * 8
    hello = struct.pack("<QQQQII", 0x316C746850525402, 1, 1, 2**63, 1, 1)
    frame = struct.pack("<II", 1, 64) + bytes(64)
    pull = struct.pack("<IIIIQQQQ", 2, 40, 1, 1, 0x4141414141, 1 << 40, 0, 16)
    return [ucx, client_hello(), hello + frame + pull, frame * 4]


def damaged(sample, chance):
    out = bytearray(sample)
    for _ in range(chance.randrange(0, 6)):
        out[chance.randrange(len(out))] = chance.randrange(256)
    return bytes(out[:chance.randrange(1, len(out) + 1)] if chance.random() < 0.3 else out)


def talk(port, message, context):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as s:
            if context is None:
                s.sendall(message)
                return
            with context.wrap_socket(s) as t:
                t.sendall(message)
    except OSError:
        pass  # it is refused


def main():
    port, count, seed = (int(a) for a in sys.argv[1:4])
    chance = random.Random(seed)
    context = None
    if len(sys.argv) > 4:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.load_cert_chain(*sys.argv[4:6])
    kinds = samples()
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    for _ in range(count):
        talk(port, damaged(chance.choice(kinds), chance), context)
    print(count)


if __name__ == "__main__":
    main()
