// Package conn speaks HTTP/1.1 to the daemon over its unix socket with nothing but system calls:
// package net and net/http would cost a command about a millisecond before its first line runs.
// [Conn] sends one request at a time and keeps the connection for the next; what a request means is
// left to the commands.
//
// Built with the tag "remote" it speaks TLS too, for machines that do not have the socket: to an address
// tls://HOST:PORT#FINGERPRINT in FSUB_SOCKET, else to the servers of FSUB_SERVER, of the user's own
// file or of [ClientFile] ([Client]).
package conn

//lint:file-ignore ST1005 Slurm's own sentences begin and end as Slurm has them.

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"syscall"
	"time"

	v1 "fsub/federation/api/v1"
)

// DefaultSocket is where the daemon of a machine listens, OwnSocket, below a user's home directory,
// where one listens that the user has started without a configuration. The environment's
// FSUB_SOCKET names any other, or several with commas between them: the first that answers is used.
const (
	DefaultSocket = "/run/fsub/fsub.sock"
	OwnSocket     = "/.fsub/fsub.sock"
)

// The failures that commands tell apart. Each is wrapped in an [Error].
var (
	// ErrConnect: nobody listens. Nothing was sent, so nothing was accepted.
	ErrConnect = errors.New("Unable to contact slurm controller (connect failure)")
	// ErrTimeout: the daemon took or answered nothing within the time-out. The request may have
	// been carried out.
	ErrTimeout = errors.New("Socket timed out on send/recv operation")
	// ErrLost: the connection broke after the request was sent, at least in part. It may have been carried out.
	ErrLost = errors.New("Zero Bytes were transmitted or received")
)

// Error is a call that got no whole answer. Error() is Slurm's sentence; Detail says what happened
// and what to do.
type Error struct {
	Err    error // ErrConnect, ErrTimeout or ErrLost
	Detail string
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Conn is a connection to the daemon, made at the first call. It is not for concurrent use.
type Conn struct {
	path     string
	others   []string // tried in turn where nobody answers at path
	own      string   // tried where path does not exist; "" for none
	timeout  time.Duration
	fd       int
	open     bool
	tls      io.ReadWriteCloser // instead of fd, where path is an address
	token    string             // authenticates the caller over TLS
	site     string             // whose munge key this machine has; "": none's. Where there is no token, a munge credential authenticates each request
	munged   string             // the socket of its munged
	stranger bool               // nothing authenticates the caller
	ca       string             // file of the authorities that certificates are signed by; "": those that this machine trusts
	fault    error              // there is something wrong with what says where the daemon is
	job      string             // the job that this process runs in, and its array
	buf      []byte             // received and not yet used
	upgrade  string             // to what the request that is being sent asks the connection to be upgraded
	why      string             // see Explain
	ended    bool               // the daemon that was dialled last has been there
}

// New makes a Conn to the socket at path. timeout bounds each send and each wait for bytes; 0 is 30 seconds.
func New(path string, timeout time.Duration) *Conn {
	if timeout == 0 {
		timeout = 30 * time.Second
	}
	return &Conn{path: path, timeout: timeout}
}

// FromEnv makes a Conn to the socket that the environment names, else to the servers that it or a file names, else to DefaultSocket, else to OwnSocket.
func FromEnv(env []string) *Conn {
	path, token, own := DefaultSocket, "", ""
	var others []string
	var job, array, known string
	named := false
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, "FSUB_SOCKET="); ok && v != "" {
			all := strings.Split(v, ",")
			path, others, named = all[0], all[1:], true
		}
		if v, ok := strings.CutPrefix(e, "HOME="); ok && v != "" {
			own = v + OwnSocket
		}
		if v, ok := strings.CutPrefix(e, "FSUB_TOKEN="); ok {
			token = v
		}
		if v, ok := strings.CutPrefix(e, "SLURM_JOB_ID="); ok {
			job = v
		}
		if v, ok := strings.CutPrefix(e, "SLURM_ARRAY_JOB_ID="); ok {
			array = v
		}
		if v, ok := strings.CutPrefix(e, "FSUB_JOB_ID="); ok {
			known = v
		}
	}
	c := New(path, 0)
	if path == DefaultSocket {
		c.own = own
	}
	c.token, c.others = token, others
	if !named {
		c.findServers(env)
	}
	c.job = job
	if known != "" { // the site has numbers of its own
		c.job = known
	} else if array != "" {
		c.job += "," + array
	}
	return c
}

// SetTimeout changes the time-out from the next call on; it closes an open connection.
func (c *Conn) SetTimeout(d time.Duration) {
	c.Close()
	c.timeout = d
}

// Close ends the connection. The next call makes a new one.
func (c *Conn) Close() {
	if c.open {
		if c.tls != nil {
			c.tls.Close()
			c.tls = nil
		} else {
			syscall.Close(c.fd)
		}
		c.open, c.buf = false, nil
	}
}

// Do sends one request and returns the whole answer with its HTTP status. body, if not nil, is sent as JSON.
// Any error is an *Error; what may have been carried out is never sent twice.
func (c *Conn) Do(method, path string, body []byte) (status int, reply []byte, err error) {
	return c.DoKeyed(method, path, "", body)
}

// DoKeyed is Do for a request that may be repeated under the same key: it is carried out once.
func (c *Conn) DoKeyed(method, path, key string, body []byte) (status int, reply []byte, err error) {
	defer func() { c.Explain(reason(err)) }()
	for try := 0; ; try++ {
		status, reply, err = c.once(method, path, key, body)
		if try == 0 && method == "GET" && errors.Is(err, ErrLost) { // the daemon has ended meanwhile
			continue
		}
		if status != tooEarly || !c.again(try) {
			return status, reply, err
		}
	}
}

func (c *Conn) once(method, path, key string, body []byte) (status int, reply []byte, err error) {
	if err := c.connect(); err != nil {
		return 0, nil, err
	}
	if err := c.send(method, path, key, body); err != nil {
		c.Close()
		return 0, nil, err
	}
	status, reply, keep, err := c.receive()
	if err != nil || !keep {
		c.Close()
	}
	return status, reply, err
}

// tooEarly is the status of a request whose munge credential was made before the daemon took over from another: nothing was done, and a new credential is good, if it is of a later second.
const tooEarly = 425

// again waits before a request is sent once more with a new credential, if it is to be.
func (c *Conn) again(try int) bool {
	const most, pause = 8, 500 * time.Millisecond
	if try == most || c.site == "" || c.token != "" {
		return false
	}
	time.Sleep(pause)
	return true
}

// Explain says what people are told of the last call beside Slurm's sentence, if it was one that failed; "": nothing. A call that got no answer explains itself.
func (c *Conn) Explain(why string) { c.why = why }

// Why is what Explain was told last.
func (c *Conn) Why() string { return c.why }

func reason(err error) string {
	if e, ok := err.(*Error); ok {
		return e.Detail
	}
	return ""
}

// A daemon that has ended is waited for so long, as Slurm's commands wait for slurmctld (MessageTimeout): it is being restarted, and programs that submit thousands of
// jobs take one refusal for a failure.
const restart = 10 * time.Second

// awaitRestart waits between two tries.
var awaitRestart = func() { time.Sleep(100 * time.Millisecond) }

// connect makes a connection to the first daemon that answers.
func (c *Conn) connect() error {
	if c.open {
		return nil
	}
	if c.fault != nil {
		return &Error{ErrConnect, c.fault.Error()}
	}
	ended := false
	for began := time.Now(); ; awaitRestart() {
		err := c.dial()
		ended = ended || c.ended
		for range c.others {
			if err == nil {
				break
			}
			c.path, c.others = c.others[0], append(c.others[1:], c.path)
			if c.dial() == nil {
				return nil
			}
			ended = ended || c.ended
		}
		if err == nil || !ended || time.Since(began) > restart {
			return err
		}
	}
}

// Remote reports whether the connection leads to another machine, or may.
func (c *Conn) Remote() bool { return strings.HasPrefix(c.path, "tls://") }

// Server is the address that the connection is made to: of several, the one that has answered last.
func (c *Conn) Server() string {
	host, _, _ := strings.Cut(strings.TrimPrefix(c.path, "tls://"), "#")
	return host
}

// nextDaemon is how long a daemon may take to answer a connection before the next one is tried.
const nextDaemon = 5 * time.Second

func (c *Conn) dial() error {
	c.ended = false
	if address, ok := strings.CutPrefix(c.path, "tls://"); ok {
		within := c.timeout
		if len(c.others) > 0 {
			within = min(within, nextDaemon)
		}
		if c.token == "" && c.site == "" && !c.stranger {
			return &Error{ErrConnect, "nothing says who you are to the daemon at " + c.Server() + ": create a token on its machine (fed token create NAME), then run fsub login here; or run fsub login --oidc"}
		}
		t, err := dial(address, c.ca, within, c.timeout)
		if err != nil {
			return &Error{ErrConnect, "no daemon answers at " + c.Server() + " (" + err.Error() + "); nothing was submitted or changed"}
		}
		c.tls, c.open, c.buf = t, true, nil
		return nil
	}
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return c.refused(err)
	}
	tv := syscall.NsecToTimeval(c.timeout.Nanoseconds())
	syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_SNDTIMEO, &tv)
	syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &tv)
	for {
		err = syscall.Connect(fd, &syscall.SockaddrUnix{Name: c.path})
		if err == syscall.ENOENT && c.own != "" && exists(c.own) {
			c.path, c.own = c.own, ""
			continue
		}
		if err != syscall.EINTR {
			break
		}
	}
	if err != nil {
		syscall.Close(fd)
		c.ended = err == syscall.ECONNREFUSED // its socket is there, and nobody listens
		return c.refused(err)
	}
	c.fd, c.open, c.buf = fd, true, nil
	return nil
}

// exists reports whether there is something at path.
func exists(path string) bool {
	var st syscall.Stat_t
	return syscall.Stat(path, &st) == nil
}

func (c *Conn) refused(err error) error {
	if err == syscall.EAGAIN {
		return &Error{ErrTimeout, "the daemon at " + c.path + " takes no connections; look at its log, then try again"}
	}
	return &Error{ErrConnect, "no daemon answers at " + c.path + " (" + err.Error() +
		"); nothing was submitted or changed; start it (fed serve) or set FSUB_SOCKET to its socket"}
}

func (c *Conn) send(method, path, key string, body []byte) error {
	kind := "application/json"
	if method == "GET" && body == nil {
		path, body = v1.ShortPath(path)
		kind = v1.QueryType
	}
	head := method + " " + path + " HTTP/1.1\r\nHost: fsub\r\n"
	if key != "" {
		head += "Idempotency-Key: " + key + "\r\n"
	}
	if c.job != "" && !strings.ContainsAny(c.job, "\r\n") {
		head += "X-Fsub-Job: " + c.job + "\r\n"
	}
	if c.upgrade != "" {
		head += "Connection: Upgrade\r\nUpgrade: " + c.upgrade + "\r\n"
	}
	if c.tls != nil {
		who, err := c.identify()
		if err != nil {
			return err
		}
		head += who
	}
	if body != nil {
		head += "Content-Type: " + kind + "\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n"
	}
	head += "\r\n"
	if len(body) > 64<<10 { // not copied once more
		if err := c.write([]byte(head)); err != nil {
			return err
		}
		return c.write(body)
	}
	return c.write(append(append(make([]byte, 0, len(head)+len(body)), head...), body...))
}

// identify is the header that says who calls over TLS.
func (c *Conn) identify() (string, error) {
	if c.stranger {
		return "", nil
	}
	if c.token != "" || c.site == "" {
		return "X-SLURM-USER-TOKEN: " + c.token + "\r\n", nil
	}
	header, err := c.credential()
	if err != nil {
		return "", &Error{ErrConnect, "nothing says who you are to the daemon at " + c.Server() + ": " + err.Error() + "; nothing was submitted or changed"}
	}
	return header, nil
}

func (c *Conn) write(msg []byte) error {
	if c.tls != nil {
		if _, err := c.tls.Write(msg); err != nil && !answered(err) {
			return c.brokenTLS(err)
		}
		return nil
	}
	for len(msg) > 0 {
		// MSG_NOSIGNAL: a daemon that went away is an error here, not the end of this process. A daemon that
		// refuses a body it will not read answers first and then closes: its answer is still to be read.
		n, err := syscall.SendmsgN(c.fd, msg, nil, nil, syscall.MSG_NOSIGNAL)
		switch err {
		case nil:
			msg = msg[n:]
		case syscall.EINTR:
		case syscall.EPIPE, syscall.ECONNRESET:
			return nil
		default:
			return c.broken(err)
		}
	}
	return nil
}

// brokenTLS is broken for a failure over TLS, of which only the text is known.
func (c *Conn) brokenTLS(err error) error {
	if isTimeout(err) {
		return c.broken(syscall.EAGAIN)
	}
	return &Error{ErrLost, "connection to " + c.path + " broke (" + err.Error() + "); " + doubt}
}

const doubt = "it may have been carried out: look before you repeat it (squeue --me)"

// receiveSome reads what has come; 0 is the end of the connection.
func (c *Conn) receiveSome(p []byte) (int, error) {
	if c.tls != nil {
		n, err := c.tls.Read(p)
		if n > 0 || err == io.EOF || err == nil {
			return n, nil
		}
		return 0, c.brokenTLS(err)
	}
	for {
		n, err := syscall.Read(c.fd, p)
		switch err {
		case nil:
			return n, nil
		case syscall.EINTR:
		default:
			return 0, c.broken(err)
		}
	}
}

func (c *Conn) broken(err error) error {
	switch err {
	case syscall.EAGAIN:
		return &Error{ErrTimeout, "the daemon at " + c.path + " did not answer in " + c.timeout.String() + "; " + doubt}
	case nil:
		return &Error{ErrLost, "the daemon at " + c.path + " closed the connection without a whole answer; " + doubt}
	}
	return &Error{ErrLost, "connection to " + c.path + " broke (" + err.Error() + "); " + doubt}
}
