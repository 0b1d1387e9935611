package agent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"sync"
	"time"
)

// servers are the addresses of the daemons' agent servers. Of several daemons one answers, that which leads: connections are made to all, and the first that
// shows the key is used. So it matters little which of them are down, hang, or stand by.
type servers struct {
	config *tls.Config

	mu    sync.Mutex
	hosts []string // HOST:PORT; the one that has answered last comes first
}

const (
	stagger  = 100 * time.Millisecond // between the tries of two servers
	dialTime = 10 * time.Second       // for a connection, and for its handshake
	// patience is how long a connection waits for a daemon that leads, where there are several: longer than a take-over.
	patience = 20 * time.Second
)

// newServers takes addresses of the form https://HOST:PORT.
func newServers(urls []string, config *tls.Config) (*servers, error) {
	s := &servers{config: config}
	for _, text := range urls {
		host, err := hostOf(text)
		if err != nil {
			return nil, err
		}
		s.hosts = append(s.hosts, host)
	}
	return s, nil
}

func hostOf(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" {
		return "", fmt.Errorf("invalid address %q of an agent server: want https://HOST:PORT", text)
	}
	if u.Port() == "" {
		return net.JoinHostPort(u.Hostname(), "443"), nil
	}
	return u.Host, nil
}

// know replaces the addresses, if the daemon names any.
func (s *servers) know(urls []string) error {
	if len(urls) == 0 {
		return nil
	}
	named, err := newServers(urls, nil)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.hosts[0]
	s.hosts = named.hosts
	s.prefer(last)
	return nil
}

// prefer puts a host first that is one of them. The lock is held.
func (s *servers) prefer(host string) {
	if i := slices.Index(s.hosts, host); i > 0 {
		s.hosts = slices.Insert(slices.Delete(slices.Clone(s.hosts), i, i+1), 0, host)
	}
}

func (s *servers) known() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.hosts)
}

// dial connects to the server that answers first. Where there are several it waits for one that does.
func (s *servers) dial(ctx context.Context) (net.Conn, error) {
	hosts := s.known()
	if len(hosts) == 1 {
		return s.once(ctx, hosts[0])
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	results := make(chan dialled, len(hosts))
	for i, host := range hosts {
		go func() { results <- s.again(ctx, host, time.Duration(i)*stagger) }()
	}
	var all []error
	for left := len(hosts) - 1; left >= 0; left-- {
		r := <-results
		if r.err != nil {
			all = append(all, r.err)
			continue
		}
		go func() {
			for range left {
				if late := <-results; late.err == nil {
					late.conn.Close()
				}
			}
		}()
		s.mu.Lock()
		s.prefer(r.host)
		s.mu.Unlock()
		return r.conn, nil
	}
	return nil, errors.Join(all...)
}

type dialled struct {
	host string
	conn net.Conn
	err  error
}

// again connects to a host, after a moment, and tries until ctx is done. The error is that of the last try.
func (s *servers) again(ctx context.Context, host string, moment time.Duration) dialled {
	r := dialled{host: host}
	select {
	case <-ctx.Done():
		r.err = ctx.Err()
		return r
	case <-time.After(moment):
	}
	for wait := newBackoff(); ; {
		r.conn, r.err = s.once(ctx, host)
		if r.err == nil || wait.sleep(ctx) != nil {
			return r
		}
	}
}

// once tries to connect to a host.
func (s *servers) once(ctx context.Context, host string) (net.Conn, error) {
	c, err := (&net.Dialer{Timeout: dialTime}).DialContext(ctx, "tcp", host)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	t := tls.Client(c, s.config)
	if err := t.HandshakeContext(ctx); err != nil {
		c.Close()
		return nil, fmt.Errorf("%s: %w", host, err)
	}
	return t, nil
}
