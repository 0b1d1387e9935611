package peer

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	v1 "fsub/federation/api/v1"
)

// direct is the protocol, in TLS, of connections for a daemon itself, whether it leads or not. All others are for the daemon that leads: at one that does not lead
// they come to nothing before anything is sent on them.
const direct = "fsub-direct"

var errNotDirect = errors.New("this daemon stands by")

// Direct returns a client for calls to a daemon itself.
func (k *Keys) Direct() *http.Client {
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		return k.dialFor(ctx, network, address, direct)
	}
	return &http.Client{Transport: &http.Transport{DialTLSContext: dial, IdleConnTimeout: time.Minute, DisableCompression: true}}
}

// ServeDirect answers what other daemons ask this one itself while it does not lead, until ctx is done.
func (l *Listener) ServeDirect(ctx context.Context, k *Keys, h http.Handler) error {
	config := k.config()
	config.NextProtos = []string{direct}
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if !slices.Contains(hello.SupportedProtos, direct) {
			return nil, errNotDirect
		}
		return nil, nil
	}
	t := &termListener{of: l, conns: make(chan net.Conn), closed: make(chan struct{})}
	l.mu.Lock()
	l.direct = t
	l.mu.Unlock()
	srv := &http.Server{Handler: h, ReadHeaderTimeout: handshakeTime, MaxHeaderBytes: v1.MaxHeader, IdleTimeout: 5 * time.Minute,
		ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug)}
	stop := context.AfterFunc(ctx, func() { srv.Close() })
	defer stop()
	if err := srv.Serve(&listener{tls.NewListener(t, config)}); ctx.Err() == nil {
		return err
	}
	return ctx.Err()
}
