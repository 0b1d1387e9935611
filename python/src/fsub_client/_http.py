"""Calls of the daemon: over a unix socket or TLS, repeated where that does no harm, one connection for each thread that calls at a time."""

from __future__ import annotations

import http.client
import json
import os
import socket
import threading
import time
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Tuple, Union
from urllib.parse import urlencode

from ._errors import FsubError, Unavailable, of_answer
from ._where import Server, Unix, Where

if TYPE_CHECKING:
    import ssl

Query = Mapping[str, Union[str, int, List[str], None]]

PAUSE = 0.1  # before the first repetition; each is twice as long as the one before
LONGEST_PAUSE = 10.0
TOO_EARLY = 425  # a munge credential was made before the daemon took over: another one is good
CONNECT_WITHIN = 5.0  # then the next of several daemons is tried


class Lost(Exception):
    """No whole answer came. `sent`: the request may have been carried out."""

    def __init__(self, text: str, sent: bool) -> None:
        super().__init__(text)
        self.sent = sent


class _Connection(http.client.HTTPConnection):
    """A connection to one daemon."""

    def __init__(self, where: Where, address: Union[Unix, Server], timeout: float) -> None:
        super().__init__("fsub", timeout=timeout)
        self.where, self.address, self.print = where, address, ""

    def connect(self) -> None:
        if isinstance(self.address, Unix):
            self.sock = _unix(self.address.path, self.timeout)
            return
        import hashlib

        at = self.address
        raw = socket.create_connection((at.host, at.port), min(self.timeout or CONNECT_WITHIN, CONNECT_WITHIN))
        try:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for option, value in (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3)):
                if hasattr(socket, option):
                    raw.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
            tls = _tls(raw, at, self.where.ca_file)
        except BaseException:
            raw.close()
            raise
        self.print = hashlib.sha256(tls.getpeercert(True) or b"").hexdigest()
        if at.fingerprint and self.print != at.fingerprint:
            tls.close()
            raise FsubError(f"the daemon at {at} shows another certificate than the one whose fingerprint its address has")
        tls.settimeout(self.timeout)
        self.sock = tls

    def who(self) -> Dict[str, str]:
        """The header that says who calls; on a socket the kernel does."""
        if not self.print:
            return {}
        if not self.where.token and self.where.munge:
            return {"X-Fsub-Munge": f"{self.where.munge} {_munge(self.where, self.print)}"}
        return {"X-SLURM-USER-TOKEN": self.where.token}


def _unix(path: str, timeout: Optional[float]) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.settimeout(timeout)
        if len(os.fsencode(path)) < 100:
            sock.connect(path)
            return sock
        directory = os.open(os.path.dirname(path), os.O_RDONLY)  # the kernel takes 107 bytes
        try:
            sock.connect(f"/proc/self/fd/{directory}/{os.path.basename(path)}")
        finally:
            os.close(directory)
        return sock
    except BaseException:
        sock.close()
        raise


def _tls(raw: socket.socket, at: Server, ca_file: str) -> ssl.SSLSocket:
    import ssl  # which takes longer to load than all the rest

    context = ssl.create_default_context(cafile=ca_file or None)
    if at.fingerprint:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE  # the fingerprint is compared instead
    try:
        return context.wrap_socket(raw, server_hostname=at.host)
    except ssl.SSLCertVerificationError as err:
        raise FsubError(f"the certificate of the daemon at {at} is not good", detail=err.verify_message) from err


def _munge(where: Where, fingerprint: str) -> str:
    import subprocess

    command = ["munge", "-s", munge_payload(where.munge, fingerprint)]
    if where.munge_socket:
        command.append("--socket=" + where.munge_socket)
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as err:
        raise FsubError("munge says nothing of who you are", detail=str(getattr(err, "stderr", "") or err).strip()) from err


def munge_payload(site: str, fingerprint: str) -> str:
    """What a credential is made for: a site, and the daemon of that certificate."""
    return f"fsub 1 {site} {fingerprint}"


class Abort:
    """Ends the calls of one thread from another."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sock: Optional[socket.socket] = None
        self.over = False

    def take(self, sock: Optional[socket.socket]) -> None:
        with self._lock:
            self._sock = sock
            over = self.over
        if over:
            self.abort()

    def abort(self) -> None:
        with self._lock:
            self.over, sock = True, self._sock
        if sock is not None:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def jitter() -> float:
    """From 0.5 to 1.5, by chance. The module random takes long to load."""
    return 0.5 + int.from_bytes(os.urandom(2), "big") / 65536


class _Tries:
    """The tries of one call: with pauses between them that grow, and differ between clients, for as long as patience lasts."""

    def __init__(self, patience: float, abort: Optional[Abort]) -> None:
        self._until, self._next, self._abort = time.monotonic() + patience, PAUSE, abort

    def pause(self, at_least: float = 0) -> bool:
        """Waits before another try. It reports whether there is to be one."""
        pause = max(at_least, self._next) * jitter()
        self._next = min(self._next * 2, LONGEST_PAUSE)
        if time.monotonic() + pause > self._until or (self._abort is not None and self._abort.over):
            return False
        time.sleep(pause)
        return True


class Http:
    """Calls of the daemon. It may be used by several threads, and after a fork.

    `patience` is how many seconds a call that may be repeated is, until it has an answer; `timeout` is the longest wait for a byte."""

    def __init__(self, where: Where, patience: float, timeout: float) -> None:
        self.where, self.patience, self.timeout = where, patience, timeout
        self._lock = threading.Lock()
        self._idle: List[_Connection] = []
        self._addresses = list(where.addresses)
        self._of_thread = threading.local()
        self._closed = False

    def close(self) -> None:
        with self._lock:
            idle, self._idle, self._closed = self._idle, [], True
        for c in idle:
            c.close()

    def abort_with(self, abort: Optional[Abort]) -> None:
        """Has the calls of this thread end when `abort` says so."""
        self._of_thread.abort = abort

    def get(self, path: str, query: Optional[Query] = None) -> Any:
        return self.call("GET", path, query=query)

    def post(self, path: str, body: Any, key: str = "", repeat: bool = False) -> Any:
        """Posts JSON. It is repeated under its key, or where `repeat` says that this does no harm."""
        return self.call("POST", path, body=body, key=key, repeat=repeat)

    def call(self, method: str, path: str, query: Optional[Query] = None, body: Any = None, key: str = "", repeat: bool = False) -> Any:
        return json.loads(self.whole(method, path, query, body, key, repeat)[0] or b"null")

    def whole(
        self, method: str, path: str, query: Optional[Query] = None, body: Any = None, key: str = "", repeat: bool = False
    ) -> Tuple[bytes, Mapping[str, str]]:
        """One call with its whole answer, and that one's headers in lower case."""
        again = repeat or bool(key) or method == "GET"
        tries = _Tries(self.patience, getattr(self._of_thread, "abort", None))
        while True:
            try:
                c, response = self._send(method, path, query, body, key, fresh=not again)
                try:
                    text = response.read()
                except (OSError, http.client.HTTPException) as err:
                    c.close()
                    raise Lost(str(err) or type(err).__name__, True) from err
            except Lost as err:
                if not ((again or not err.sent) and tries.pause()):
                    raise self._no_answer(err, key) from err
                continue
            finally:
                self._watch(None)
            self._keep(c, response)
            if response.status < 400:
                return text, {k.lower(): v for k, v in response.getheaders()}
            error, wait = of_answer(response.status, _json(text)), response.getheader("Retry-After", "")
            later = isinstance(error, Unavailable) or response.status == TOO_EARLY
            if not (later and again and tries.pause(min(float(wait), 2.0) if wait.isdigit() else 0)):
                raise error

    def open(self, path: str, query: Query) -> Tuple[_Connection, http.client.HTTPResponse, socket.socket]:
        """A call whose answer the caller reads by itself, for as long as it takes. It is not repeated."""
        c, response = self._send("GET", path, query, None, "", fresh=True)
        sock = c.sock
        if response.status >= 400:
            text = response.read()
            c.close()
            raise of_answer(response.status, _json(text))
        sock.settimeout(None)
        return c, response, sock

    def forked(self) -> None:
        """In a child process: the connections are the parent's."""
        self._lock, self._idle = threading.Lock(), []

    def _no_answer(self, err: Lost, key: str) -> Unavailable:
        what = "it may have been carried out: look before you repeat it" if err.sent else "nothing was sent"
        if key:
            what = f"repeat it with key={key!r}: nothing is done twice under one key"
        return Unavailable("no answer of the daemon at " + ", ".join(map(str, self.where.addresses)), 0, f"{err}; {what}")

    def _send(
        self, method: str, path: str, query: Optional[Query], body: Any, key: str, fresh: bool
    ) -> Tuple[_Connection, http.client.HTTPResponse]:
        headers = {"Idempotency-Key": key} if key else {}
        data: Optional[bytes] = None
        if body is not None:
            data = body if isinstance(body, bytes) else encode(body)
            headers["Content-Type"] = "application/json" if not isinstance(body, bytes) else "application/x-ndjson"
        words = urlencode({k: v for k, v in (query or {}).items() if v not in (None, "", [])}, doseq=True)
        if len(words) > 8192 and method == "GET":  # a header has 64 KiB
            data, headers["Content-Type"] = words.encode(), "application/x-www-form-urlencoded"
        elif words:
            path += "?" + words
        headers.update(_job())
        c = self._connect(fresh)
        try:
            headers.update(c.who())
            self._watch(c.sock)
            c.request(method, path, data, headers)
            return c, c.getresponse()
        except FsubError:
            c.close()
            raise
        except (OSError, http.client.HTTPException) as err:
            c.close()
            raise Lost(str(err) or type(err).__name__, True) from err

    def _connect(self, fresh: bool) -> _Connection:
        with self._lock:
            if self._idle and not fresh:
                return self._idle.pop()
            addresses = list(self._addresses)
        if isinstance(addresses[0], Server) and not self.where.token and not self.where.munge:
            raise FsubError(
                f"nothing says who you are to the daemon at {addresses[0]}",
                detail="create a token on its machine (fed token create NAME), then run fsub login here, or set FSUB_TOKEN",
            )
        failed: List[str] = []
        for address in addresses:
            c = _Connection(self.where, address, self.timeout)
            try:
                c.connect()
            except OSError as err:
                failed.append(f"{address}: {err.strerror or err}")
                continue
            with self._lock:
                if self._addresses[0] != address:  # the one that has answered comes first
                    self._addresses.remove(address)
                    self._addresses.insert(0, address)
            return c
        raise Lost("; ".join(failed), False)

    def _keep(self, c: _Connection, response: http.client.HTTPResponse) -> None:
        if response.will_close or c.sock is None:
            c.close()
            return
        with self._lock:
            if len(self._idle) < 8 and not self._closed:
                self._idle.append(c)
                return
        c.close()

    def _watch(self, sock: Optional[socket.socket]) -> None:
        abort: Optional[Abort] = getattr(self._of_thread, "abort", None)
        if abort is not None:
            abort.take(sock)


def encode(body: Any) -> bytes:
    """JSON of body. What is not UTF-8 in the environment is sent as the bytes that it was."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogateescape")


def _json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _job() -> Dict[str, str]:
    """The header of a call from inside a job."""
    job = os.environ.get("FSUB_JOB_ID") or ""
    if not job and os.environ.get("SLURM_JOB_ID"):
        job = ",".join(filter(None, (os.environ["SLURM_JOB_ID"], os.environ.get("SLURM_ARRAY_JOB_ID"))))
    return {"X-Fsub-Job": job} if job else {}
