// Package relay is the far end of "fed forward": it runs as a step of a job and connects the streams that come over its stdin to a port of its machine, as the job's user.
package relay

import (
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/yamux"

	"fsub/cloud/steps/wire"
	"fsub/federation/tunnel"
)

// connectTime bounds how long the port may take to answer.
const connectTime = 10 * time.Second

// Main relays until stdin ends, and returns the exit code. The argument is the port.
func Main(args []string, stdin io.Reader, stdout io.Writer, stderr io.Writer) int {
	port := 0
	if len(args) == 1 {
		port, _ = strconv.Atoi(args[0])
	}
	if port < 1 || port > 65535 {
		fmt.Fprintf(stderr, "%s: error: want a port from 1 to 65535, got %q\n", wire.Relay, args)
		return 1
	}
	session, err := yamux.Server(tunnel.Stdio(stdin, stdout), tunnel.Streams())
	if err != nil {
		fmt.Fprintf(stderr, "%s: error: %v\n", wire.Relay, err)
		return 1
	}
	say := complaints{to: stderr}
	for {
		s, err := session.AcceptStream()
		if err != nil {
			return 0 // the other end has gone
		}
		go func() {
			c, err := dial(port)
			if err != nil {
				say.once(err)
				s.Close()
				return
			}
			tunnel.Pipe(s, c)
		}()
	}
}

// dial connects to a port of this machine, whichever of its addresses a program listens at.
func dial(port int) (c net.Conn, err error) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		var bad error
		if c, bad = net.DialTimeout("tcp", net.JoinHostPort(host, strconv.Itoa(port)), connectTime); bad == nil {
			return c, nil
		} else if err == nil {
			err = bad
		}
	}
	return nil, err
}

// complaints says the same thing once in a while: a browser asks again and again.
type complaints struct {
	to   io.Writer
	mu   sync.Mutex
	last time.Time
}

func (c *complaints) once(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.last) > 10*time.Second {
		c.last = now
		fmt.Fprintf(c.to, "the job's machine: nothing answers there: %v\n", err)
	}
}
