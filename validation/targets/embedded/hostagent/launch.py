"""Become a program that can listen on its pod's address only. Run as a file, with the standard library alone.

    python -I -S launch.py LISTEN_ADDRESS PROGRAM [ARGUMENT...]

A container has an address of its own, so that many programs listen on "all addresses" and cannot be told otherwise
(controller-runtime's webhook server listens on ``:9443``). On a shared machine that would open the port to the network and
clash with the next cluster. A seccomp filter therefore hands each ``bind`` of the program to a helper process, which
rewrites an unspecified IPv4 or IPv6 address to the pod's address (IPv4-mapped for IPv6) and lets the call go on. A ``connect``
to loopback on a port that was bound this way is led there too: in a container both are the same place, and programs
dial themselves (controller-runtime's readiness check of its webhook server). The program keeps the process id that this
file was started with; the helper goes when the program and its children are gone.

See seccomp_unotify(2). Needs Linux 5.8; where the kernel refuses, the program starts without, and the host agent stops it
should it listen beyond loopback.
"""

import array
import ctypes
import fcntl
import os
import platform
import select
import socket
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

#: AUDIT_ARCH_*, and the numbers of bind(2), connect(2) and seccomp(2), per machine.
_ARCHITECTURES = {"x86_64": (0xC000003E, 49, 42, 317), "aarch64": (0xC00000B7, 200, 203, 277)}
_SET_MODE_FILTER, _NEW_LISTENER = 1, 8
_PR_SET_NO_NEW_PRIVS = 38
_IOCTL_RECEIVE, _IOCTL_SEND = 0xC0502100, 0xC0182101
_NOTIFICATION = struct.Struct("=QIIiIQ6Q")
_RESPONSE = struct.Struct("=QqiI")
_CONTINUE = 1
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _NOTIFY = 0x7FFF0000, 0x7FC00000
#: ``::1`` and ``::ffff:127.0.0.1``.
_LOOPBACK6 = {bytes(15) + b"\x01", bytes(10) + b"\xff\xff\x7f\0\0\x01"}


class Guard:
    """What becomes of the addresses that a program binds and connects to. ``listen`` is the pod's address, 4 bytes."""

    def __init__(self, listen: bytes) -> None:
        self._listen = listen
        #: Ports that were bound at the pod's address instead of everywhere, in network byte order.
        self._ports: set[bytes] = set()

    def bound(self, address: bytes) -> "tuple[int, bytes] | None":
        """Offset and bytes to write over a ``sockaddr`` that names no address; None where it may stay."""
        change = self._change(address, unspecified=True)
        if change is not None:
            self._ports.add(address[2:4])
        return change

    def connected(self, address: bytes) -> "tuple[int, bytes] | None":
        """The same for one that is dialled: loopback, on a port that the program itself has bound."""
        return self._change(address, unspecified=False) if address[2:4] in self._ports else None

    def _change(self, address: bytes, *, unspecified: bool) -> "tuple[int, bytes] | None":
        if len(address) < 8:
            return None
        family = struct.unpack_from("=H", address)[0]
        if family == socket.AF_INET:
            local = address[4:8] == bytes(4) or (not unspecified and address[4:8] == b"\x7f\0\0\x01")
            return (4, self._listen) if local else None
        if family == socket.AF_INET6 and len(address) >= 24:
            local = address[8:24] == bytes(16) or (not unspecified and address[8:24] in _LOOPBACK6)
            return (8, bytes(10) + b"\xff\xff" + self._listen) if local else None
        return None


def install() -> int:
    """Install the filter on this process; the listener's file descriptor. OSError where the kernel will not."""
    if platform.machine() not in _ARCHITECTURES:
        raise OSError(f"no system call numbers for {platform.machine()}")
    audit, bind, connect, seccomp = _ARCHITECTURES[platform.machine()]
    code = [
        (_LOAD, 0, 0, 4),
        (_JUMP_IF_EQUAL, 0, 3, audit),
        (_LOAD, 0, 0, 0),
        (_JUMP_IF_EQUAL, 2, 0, bind),
        (_JUMP_IF_EQUAL, 1, 0, connect),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _NOTIFY),
    ]
    raw = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in code))
    program = struct.pack("@HP", len(code), ctypes.addressof(raw))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
    handle = int(libc.syscall(seccomp, _SET_MODE_FILTER, _NEW_LISTENER, ctypes.c_char_p(program)))
    if handle < 0:
        raise OSError(ctypes.get_errno(), "seccomp")
    return handle


def serve(listener: int, listen: bytes) -> None:
    """Answer notifications until no process with the filter is left."""
    guard = Guard(listen)
    bind = _ARCHITECTURES[platform.machine()][1]
    poller = select.poll()
    poller.register(listener, select.POLLIN)
    while True:
        if any(event & (select.POLLHUP | select.POLLERR) for _, event in poller.poll()):
            return
        buffer = bytearray(_NOTIFICATION.size)
        try:
            fcntl.ioctl(listener, _IOCTL_RECEIVE, buffer)
        except OSError:
            continue  # the caller died in between
        identity, pid, _flags, number, _arch, _pointer, *arguments = _NOTIFICATION.unpack(buffer)
        error = _rewrite(pid, arguments[1], arguments[2], guard.bound if number == bind else guard.connected)
        response = bytearray(_RESPONSE.pack(identity, 0, -error, 0 if error else _CONTINUE))
        try:
            fcntl.ioctl(listener, _IOCTL_SEND, response)
        except OSError:
            continue


def _rewrite(pid: int, pointer: int, length: int, decide: "Callable[[bytes], tuple[int, bytes] | None]") -> int:
    """Rewrite the address in the caller's memory; an errno, 0 when all is well."""
    try:
        memory = os.open(f"/proc/{pid}/mem", os.O_RDWR)
        try:
            change = decide(os.pread(memory, min(length, 28), pointer))
            if change is not None:
                os.pwrite(memory, change[1], pointer + change[0])
        finally:
            os.close(memory)
    except OSError as error:
        return error.errno or 1
    return 0


def _fork_helper(listen: bytes) -> "socket.socket":
    """A helper outside the program's family; it gets the listener through the returned socket."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    child = os.fork()
    if child == 0:
        ours.close()
        if os.fork() == 0:
            os.setsid()
            _data, handles, _flags, _peer = socket.recv_fds(theirs, 1, 1)
            if handles:
                # Nothing of the program's may be held open by the helper, its output above all.
                null = os.open(os.devnull, os.O_RDWR)
                for standard in (0, 1, 2):
                    os.dup2(null, standard)
                serve(handles[0], listen)
        os._exit(0)
    os.waitpid(child, 0)
    theirs.close()
    return ours


def main() -> None:
    listen, command = socket.inet_aton(sys.argv[1]), sys.argv[2:]
    channel = _fork_helper(listen)
    try:
        listener = install()
    except OSError as error:
        print(f"launch: bind is not guarded ({error})", file=sys.stderr, flush=True)
    else:
        channel.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [listener]))])
        os.close(listener)
    channel.close()
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
