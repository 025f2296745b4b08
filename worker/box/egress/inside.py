"""Makes the listener inside a box's network namespace. The process that calls it is afterwards in there itself."""

import ctypes
import fcntl
import os
import socket

PORT = 3128
_NEW_USER, _NEW_NET = 0x10000000, 0x40000000
_FREE_BIND = 15
_GET_OWNER = 0xB701
"""NS_GET_USERNS: the user namespace that owns another one."""


def listen_inside(network: int, backlog: int = 64) -> socket.socket:
    """A socket that listens on the loopback of the network namespace behind the descriptor. Raises OSError.

    Only the account that made the box's user namespace, or root of the one around it, may do this.
    """
    owner = fcntl.ioctl(network, _GET_OWNER)
    try:
        _join(owner, _NEW_USER)
        _join(network, _NEW_NET)
    finally:
        os.close(owner)
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    # The loopback may not be up yet, and until it is its address belongs to nobody.
    listener.setsockopt(socket.IPPROTO_IP, _FREE_BIND, 1)
    listener.bind(("127.0.0.1", PORT))
    listener.listen(backlog)
    return listener


def _join(namespace: int, kind: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.setns(namespace, kind) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
