"""Where the daemon is, and what says who calls: the environment, the user's login file, the machine's file, as for the command fed."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from typing import List, Mapping, Optional, Tuple, Union

from ._errors import FsubError

DEFAULT_SOCKET = "/run/fsub/fsub.sock"
DEFAULT_PORT = 6829


@dataclass(frozen=True)
class Unix:
    """A socket of this machine."""

    path: str

    def __str__(self) -> str:
        return self.path


@dataclass(frozen=True)
class Server:
    """A daemon of another machine, which proves itself by a certificate of that fingerprint, or by one that an authority has signed."""

    host: str
    port: int
    fingerprint: str = ""

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


Address = Union[Unix, Server]


@dataclass(frozen=True)
class Where:
    """The daemons, in the order in which they are tried, and what says who calls."""

    addresses: Tuple[Address, ...]
    token: str = ""
    ca_file: str = ""
    munge: str = ""  # the site whose munge key this machine has
    munge_socket: str = ""


def server(text: str) -> Server:
    """Reads HOST[:PORT][#FINGERPRINT]."""
    host, _, fingerprint = text.partition("#")
    port = str(DEFAULT_PORT)
    if host.startswith("["):
        host, _, rest = host[1:].partition("]")
        port = rest[1:] or port
    elif host.count(":") == 1:
        host, _, port = host.partition(":")
    if not host or not port.isdigit():
        raise FsubError(f"invalid server {text!r}", detail="want HOST[:PORT][#FINGERPRINT]")
    return Server(host, int(port), fingerprint.lower())


def find(env: Mapping[str, str], socket: Optional[str] = None, servers: Optional[str] = None, token: Optional[str] = None) -> Where:
    """Finds the daemon. What is named here comes before what the environment and the files say."""
    token = env.get("FSUB_TOKEN", "") if token is None else token
    named = socket or ("" if servers else env.get("FSUB_SOCKET", ""))
    if named:
        return Where(tuple(server(a[6:]) if a.startswith("tls://") else Unix(a) for a in named.split(",")), token)
    servers = servers or env.get("FSUB_SERVER", "")
    if not servers and os.path.exists(DEFAULT_SOCKET):
        return Where((Unix(DEFAULT_SOCKET),))
    wanted = [server(s.strip()) for s in servers.split(",") if s.strip()]
    login = _read(_login_file(env), private=True)
    if login.servers and (not wanted or set(wanted) <= set(login.servers)):
        return Where(tuple(wanted or login.servers), token or login.token, login.ca_file)
    machine = _read(env.get("FSUB_CLIENT_FILE") or "/etc/fsub/client.yaml", private=False)
    if wanted or machine.servers:
        return Where(tuple(wanted or machine.servers), token, machine.ca_file, machine.munge, machine.munge_socket)
    own = os.path.join(env.get("HOME", ""), ".fsub/fsub.sock")
    if env.get("HOME") and os.path.exists(own):
        return Where((Unix(own),))
    return Where((Unix(DEFAULT_SOCKET),))


@dataclass
class _File:
    servers: List[Server] = field(default_factory=list)
    token: str = ""
    ca_file: str = ""
    munge: str = ""
    munge_socket: str = ""


def _login_file(env: Mapping[str, str]) -> str:
    base = env.get("XDG_CONFIG_HOME") or (os.path.join(env["HOME"], ".config") if env.get("HOME") else "")
    return os.path.join(base, "fsub", "login.yaml") if base else ""


def _read(path: str, private: bool) -> _File:
    """Reads a file of KEY: VALUE lines. One that does not exist says nothing."""
    out = _File()
    if not path:
        return out
    try:
        with open(path, encoding="utf-8") as f:
            mode = os.fstat(f.fileno())
            lines = f.read(64 << 10).splitlines()
    except FileNotFoundError:
        return out
    except OSError as err:
        raise FsubError(f"{path}: {err.strerror}") from err
    if private and (stat.S_IMODE(mode.st_mode) & 0o077 or mode.st_uid != os.geteuid()):
        raise FsubError(f"{path} has a token that others may read", detail="chmod 600 it, or create another token and run fsub login again")
    in_list = False
    for line in lines:
        text = line.strip()
        if not text or text.startswith("#") or text == "---":
            continue
        if in_list and text.startswith("- "):
            out.servers.append(server(_scalar(text[2:])))
            continue
        key, _, value = text.partition(":")
        value, in_list = value.strip(), False
        if key == "server":
            in_list = not value
            out.servers = [server(_scalar(s)) for s in value.strip("[]").split(",") if s.strip()]
        elif key in ("token", "ca_file", "munge", "munge_socket"):
            setattr(out, key, _scalar(value))
    return out


def _scalar(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] in "\"'" and text[-1] == text[0]:
        return text[1:-1]
    return text.split(" #", 1)[0].strip()
