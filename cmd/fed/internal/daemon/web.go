package daemon

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

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

// serveWeb serves the page to browsers, over the API of whichever daemon answers, until ctx is done. It closes l, which may be nil.
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
