package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"fsub/cmd/internal/conn"
	"fsub/cmd/internal/conn/far"
	"fsub/federation/api/client"
)

// nextDaemon is how long a daemon may take to answer a connection before the next one is tried, mungedTime how long munged may take.
const (
	nextDaemon = 5 * time.Second
	mungedTime = 5 * time.Second
)

// server is where the commands find the daemon on another machine, and what they say who calls by.
type server struct {
	conn.Client
	err error // what is wrong with what says so
}

// elsewhere reports whether the daemon is to be asked on another machine: see [conn.Find].
func (c *Connection) elsewhere() (at server, far bool) {
	if strings.HasPrefix(c.Socket, "tls://") {
		at.Servers, at.Token = conn.Servers(strings.ReplaceAll(c.Socket, "tls://", "")), os.Getenv("FSUB_TOKEN")
		return at, true
	}
	if c.Socket == DefaultSocket() {
		at.Client, at.err = conn.Find(os.Environ(), c.Socket)
	}
	return at, at.err != nil || len(at.Servers) > 0
}

// Elsewhere is the daemon that the command asks on another machine; "": it asks one of this machine.
func (c *Connection) Elsewhere() string {
	at, far := c.elsewhere()
	if !far {
		return ""
	}
	return at.name()
}

// name is the servers without their fingerprints.
func (s *server) name() string {
	if s.err != nil {
		return "another machine"
	}
	var all []string
	for _, a := range s.Servers {
		host, _, _ := strings.Cut(a, "#")
		all = append(all, host)
	}
	return strings.Join(all, ", ")
}

// over is a client of the daemons of other machines.
func over(at server) *client.Client {
	w := &way{server: at}
	return client.Dialing(at.name(), w.dial, w.identify)
}

// way makes connections and says who calls.
type way struct {
	server
	mu    sync.Mutex
	ready *tls.Conn // made to learn the fingerprint, and not used yet
	print string    // of the certificate that was shown last
}

// dial connects to the first server that answers.
func (w *way) dial(ctx context.Context) (net.Conn, error) {
	w.mu.Lock()
	c := w.ready
	w.ready = nil
	w.mu.Unlock()
	if c != nil {
		return c, nil
	}
	return w.connect(ctx)
}

func (w *way) connect(ctx context.Context) (*tls.Conn, error) {
	switch {
	case w.err != nil:
		return nil, w.err
	case w.Token == "" && w.Munge == "":
		return nil, errors.New("nothing says who you are there: create a token on its machine (fed token create NAME), then run fsub login here; or run fsub login --oidc")
	}
	var first error
	for _, s := range w.Servers {
		within, cancel := context.WithTimeout(ctx, nextDaemon)
		c, err := far.Dial(within, s, w.CAFile)
		cancel()
		if err == nil {
			w.mu.Lock()
			w.print = far.Fingerprint(c)
			w.mu.Unlock()
			return c, nil
		}
		if host, _, _ := strings.Cut(s, "#"); first == nil {
			first = fmt.Errorf("%s: %w", host, err)
			if len(w.Servers) == 1 {
				first = err
			}
		}
	}
	return nil, first
}

// identify adds what says who calls. A credential of munge is for the daemon with one certificate: the first connection is made to see it.
func (w *way) identify(h http.Header) error {
	if w.Token != "" || w.Munge == "" {
		h.Set("X-SLURM-USER-TOKEN", w.Token)
		return nil
	}
	w.mu.Lock()
	print := w.print
	w.mu.Unlock()
	if print == "" {
		c, err := w.connect(context.Background())
		if err != nil {
			return err
		}
		w.mu.Lock()
		w.ready, print = c, w.print
		w.mu.Unlock()
	}
	name, value, err := far.Credential(w.Munge, w.MungeSocket, print, mungedTime)
	if err != nil {
		return fmt.Errorf("nothing says who you are: %w", err)
	}
	h.Set(name, value)
	return nil
}
