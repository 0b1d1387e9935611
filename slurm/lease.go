package slurm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"fsub/federation"
	"fsub/slurm/wire"
)

// A daemon that leads others under a lease may be frozen or cut off in the middle of a call. What it sends after its lease has ended must have no effect, for another
// daemon leads then. Two things see to that: its connections take nothing any more ([leaseConn]), and what has left the process before is refused by the site, since
// its token has expired. slurmctld looks at a token when it reads a request, on connections of any age: 22.05, 24.11 and 26.05 take one until the end of the second
// that its exp names, and have kept none in a cache. Tokens that are not made here, and those for reading, do not expire with the lease.

// clockSlack is by how much the clocks of this machine and of a site may differ, as far as that can be told from its answer, whose resolution is a second. Where they
// differ by more, tokens do not expire with the lease: the site might refuse each of them.
const clockSlack = 2 * time.Second

// clockAgain is how often the site's clock is looked at.
const clockAgain = 10 * time.Minute

// refusedLeased says what it means that a site has refused a token which expires with the lease. Reads show whether the key is right; so this token has expired on its
// way to a busy slurmctld, which proves nothing of the call's fate but that it had no effect.
func (c *client) refusedLeased(err error) error {
	var refused *federation.SlurmError
	switch {
	case errors.As(err, &refused) && refused.Kind == federation.ErrDenied && refused.Number == wire.ErrAuth:
		c.leased.lookAtClock()
		return &federation.SlurmError{Kind: federation.ErrUnavailable, Number: refused.Number, Text: refused.Text, Detail: "the token had expired when slurmctld read the request: it lasts no longer than this daemon's lease"}
	case errors.Is(err, federation.ErrUnavailable): // 22.05 says no more
		c.leased.lookAtClock()
	}
	return err
}

// leased is the token for calls that change something, where it expires with the lease.
type leased struct {
	looking sync.Mutex // at the site's clock

	mu    sync.Mutex
	key   string // that the token was made with
	token string
	until int64 // when it expires
	look  time.Time
	apart bool // the site's clock is not this machine's
}

// leases reports whether the token for a call is to expire with the lease.
func (c *client) leases(r *request) bool {
	return c.cfg.Lease != nil && c.cfg.KeyFile != "" && r.method != http.MethodGet
}

// leasedToken makes the token for a call that changes something. long is that for others, which it is too where the clocks differ.
func (c *client) leasedToken(ctx context.Context, user, long string) (string, error) {
	apart, err := c.clocksApart(ctx)
	if err != nil || apart {
		return long, err
	}
	now, until := c.now(), c.cfg.Lease()
	if !now.Before(until) {
		return "", fmt.Errorf("%w: this daemon leads no longer", federation.ErrNotSent)
	}
	l := &c.leased
	l.mu.Lock()
	defer l.mu.Unlock()
	if exp := until.Unix(); l.until != exp || l.key != long {
		l.token, l.until, l.key = c.tokens.signed(user, now, until), exp, long
	}
	return l.token, nil
}

// clocksApart reports whether the site's clock is not this machine's.
func (c *client) clocksApart(ctx context.Context) (bool, error) {
	l := &c.leased
	if apart, known := l.known(c.now()); known {
		return apart, nil
	}
	l.looking.Lock() // once for all calls
	defer l.looking.Unlock()
	if apart, known := l.known(c.now()); known {
		return apart, nil
	}
	began := c.now()
	var a wire.DiagResponse
	if err := c.do(ctx, request{op: "diag", method: http.MethodGet, path: wire.PathDiag}, &a); err != nil {
		return false, err
	}
	at := unix(a.Statistics.ReqTime.Value())
	apart := at.IsZero() || at.Before(began.Add(-clockSlack)) || at.After(c.now().Add(clockSlack))
	if apart {
		c.cfg.Logger.Warn("the clocks of this machine and of the site differ: tokens for the site do not expire with the lease of this daemon", "site", c.cfg.Name,
			"site_time", at.UTC().Format(time.RFC3339), "time", began.UTC().Format(time.RFC3339))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.apart, l.look = apart, c.now().Add(clockAgain)
	return apart, nil
}

// known tells what the last look at the site's clock has shown, if that was not long ago.
func (l *leased) known(now time.Time) (apart, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.apart, now.Before(l.look)
}

// lookAtClock has the site's clock looked at before the next call that changes something: a token was refused.
func (l *leased) lookAtClock() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.look = time.Time{}
}

// leaseConn is a connection on which nothing is sent after the lease. Between the look at the clock and the system call a process can still be stopped; then the
// token is what the site refuses.
type leaseConn struct {
	net.Conn
	lease func() time.Time
}

// Write implements net.Conn.
func (c leaseConn) Write(p []byte) (int, error) {
	until := c.lease()
	if !time.Now().Before(until) { // also where it was lost, and is the zero time, which would be no deadline
		return 0, fmt.Errorf("this daemon leads no longer: %w", os.ErrDeadlineExceeded)
	}
	if err := c.SetWriteDeadline(until); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// dialFunc makes the connections of a site.
type dialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

// until has the connections of dial end with a lease; nil: the daemon is alone.
func (dial dialFunc) until(lease func() time.Time) dialFunc {
	if lease == nil {
		return dial
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return leaseConn{conn, lease}, nil
	}
}
