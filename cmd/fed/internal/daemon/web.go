package daemon

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"fsub/cmd/fed/internal/config"
	"fsub/cmd/internal/build"
	"fsub/federation/api/identity"
	"fsub/federation/peer"
	"fsub/federation/secret"
	"fsub/federation/web"
)

// ticketsRefused is of this process, whether it leads or stands by.
var ticketsRefused = prometheus.NewCounter(prometheus.CounterOpts{Name: "fsub_web_tickets_refused_total", Help: "Tickets of browsers that were refused."})

// webConfig is what every page is made of.
func webConfig(c *config.Config) web.Config {
	return web.Config{Federation: c.Federation, Version: build.Read().Version, Secure: c.Web.Secure(), Address: c.Web.At()}
}

// pagesOnSocket is the page below /web/ of the socket, over the API of whichever daemon answers there.
func pagesOnSocket(c *config.Config) func(http.Handler) http.Handler {
	return func(api http.Handler) http.Handler {
		with := webConfig(c)
		with.API = api
		return web.OnSocket(with)
	}
}

// webListeners are the listeners of the page; nil: it is not configured.
type webListeners struct{ browsers, proxy net.Listener }

func listenForPage(c *config.Config, log *slog.Logger) (l webListeners, err error) {
	if l.browsers, err = listenWeb(c); err != nil {
		return l, err
	}
	if l.proxy, err = listenProxy(c, log); err != nil && l.browsers != nil {
		l.browsers.Close()
	}
	return l, err
}

// serve serves the page on all of them, over the API of whichever daemon answers, until ctx is done.
func (l webListeners) serve(ctx context.Context, g *errgroup.Group, c *config.Config, api http.Handler, log *slog.Logger) {
	g.Go(func() error { return serveWeb(ctx, l.browsers, c, api, log) })
	g.Go(func() error { return serveProxy(ctx, l.proxy, c, api, log) })
}

// listenWeb opens the listener for browsers; nil: none is configured.
func listenWeb(c *config.Config) (net.Listener, error) {
	if c.Web.Listen == "" {
		return nil, nil
	}
	l, err := net.Listen("tcp", c.Web.Listen)
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	l = identity.PerSource(l, fromOneAddress)
	if c.Web.Cert == "" {
		return l, nil
	}
	cert, err := tls.LoadX509KeyPair(c.Web.Cert, c.Web.Key)
	if err == nil {
		err = secret.Check(c.Web.Key)
	}
	if err != nil {
		l.Close()
		return nil, fmt.Errorf("web: %w", err)
	}
	return tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}), nil
}

// serveWeb serves the page to browsers until ctx is done. It closes l, which may be nil.
func serveWeb(ctx context.Context, l net.Listener, c *config.Config, api http.Handler, log *slog.Logger) error {
	if l == nil {
		return nil
	}
	log.Info("listening for browsers", "address", c.Web.At())
	with := webConfig(c)
	if c.Web.SignInWith != "" {
		var err error
		if with.Provider, err = c.OIDC.Verifier(); err != nil {
			return err
		}
		with.ProviderName = c.Web.SignInWith
	}
	with.API, with.Refused = api, ticketsRefused.Inc
	return peer.Serve(ctx, l, web.ForBrowsers(with))
}
