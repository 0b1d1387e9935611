// Package daemon puts the daemon together: it makes each part of what the configuration says ([config.Config]), runs them, and takes up what changes
// meanwhile. parts.go says what a daemon is made of. "fed serve" and the commands that work on its configuration and files without it are here too.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"fsub/cmd/fed/internal/config"
	"fsub/cmd/fed/internal/logging"
	"fsub/cmd/fed/internal/systemd"
	"fsub/cmd/internal/build"
	"fsub/federation/api"
	"fsub/federation/api/client"
)

func NewServeCommand() *cobra.Command {
	var file config.Flag
	var level, format string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the daemon until SIGTERM; on SIGHUP it reads its configuration again",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			given, err := config.ParseLevel("--log", level)
			if err != nil {
				return err
			}
			c, err := file.Read()
			if err == nil {
				err = c.CheckSecrets()
			}
			if err == nil {
				err = c.ReadSiteFiles()
			}
			if err != nil {
				return err
			}
			log, err := logging.New(cmd.ErrOrStderr(), format)
			if err != nil {
				return err
			}
			reload := &reloader{read: file.Read, now: c, logs: log, fixed: level != ""}
			if log.Levels().Set(given); level == "" {
				log.Levels().Set(c.Level())
			}
			return serve(cmd.Context(), c, reload, log.Logger())
		},
	}
	file.Add(cmd)
	cmd.Flags().StringVar(&level, "log", "", "least level that is logged: debug, info, warn, error (default: log_level of the configuration, else info)")
	cmd.Flags().StringVar(&format, "log-format", logging.Text, "lines of the log: text, or json: an object in each")
	return cmd
}

// serve runs the daemon: the store, one driver per site, the controller, and the API on the socket.
// It returns nil after a stop that was asked for. The order matters: nothing is accepted before the
// store is open and the live jobs are read.
func serve(ctx context.Context, c config.Config, reload *reloader, log *slog.Logger) error {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP) // before all else: it never ends the daemon
	defer signal.Stop(hup)
	reload.hup = hup
	run := alone
	if c.Daemons.Listen != "" {
		run = among
	}
	err := supervised(ctx, &c, reload, log, run)
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	if err == nil {
		log.Info("fed stops")
	} else {
		log.Error("fed stops", "err", err)
	}
	return err
}

// supervised runs a daemon, and tells the systemd that started it how it is, if one did.
func supervised(ctx context.Context, c *config.Config, reload *reloader, log *slog.Logger, run func(context.Context, *config.Config, *reloader, *slog.Logger) error) error {
	m, err := systemd.Open(log)
	if err == nil {
		err = m.Check(systemd.Address{Key: "socket", Network: "unix", At: c.Socket}, systemd.Address{Key: "remote: listen", Network: "tcp", At: c.Remote.Listen})
	}
	if err != nil {
		return err
	}
	reload.systemd = m
	ctx, stop := context.WithCancel(ctx)
	told := make(chan struct{})
	go func() {
		defer close(told)
		m.Run(ctx, answersAt(c.Socket))
	}()
	defer func() { stop(); <-told }()
	return run(ctx, c, reload, log)
}

// answersAt asks the daemon by its socket whether it serves, over a new connection as everybody's commands do.
func answersAt(socket string) func(context.Context) error {
	return func(ctx context.Context) error {
		c := client.New(socket)
		defer c.Close()
		return c.Do(ctx, http.MethodGet, "/healthz", nil, &struct{}{})
	}
}

// alone runs a daemon that shares its store with no other.
func alone(ctx context.Context, c *config.Config, reload *reloader, log *slog.Logger) error {
	p := newParts(c, log)
	p.systemd = reload.systemd
	p.debug = debugging(c, reload.logs, p.reg)
	defer p.close()
	if err := p.open(ctx); err != nil {
		return err
	}
	l, err := listenSocket(c.Socket, p.systemd)
	if err != nil {
		return err
	}
	pages, err := listenForPage(c, log)
	if err != nil {
		return err
	}
	log.Info("fed serves", "version", Version(), "socket", c.Socket, "state", c.StateDir, "sites", len(p.sites))
	reload.parts = p
	p.systemd.Describe(p.summary)
	return p.run(ctx, l, func(ctx context.Context) error {
		g, ctx := errgroup.WithContext(ctx)
		pages.serve(ctx, g, c, p.api, log)
		g.Go(func() error { return reload.run(ctx) })
		return g.Wait()
	})
}

func serveMetrics(ctx context.Context, addr string, ready func() error, reg prometheus.Gatherer) error {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	mux.Handle("GET /healthz", api.Alive(build.Read()))
	mux.Handle("GET /readyz", api.Ready(ready))
	srv := &http.Server{Addr: addr, Handler: mux, ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 16 << 10}
	stop := context.AfterFunc(ctx, func() { srv.Close() })
	defer stop()
	if err := srv.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("metrics: %w", err)
	}
	return nil
}

// purge has records deleted that are old, every hour. It returns when ctx is done.
func purge(ctx context.Context, remove func(context.Context, time.Time) (int, error), what string, keep time.Duration, log *slog.Logger) error {
	hour := time.NewTicker(time.Hour)
	defer hour.Stop()
	for {
		n, err := remove(ctx, time.Now().Add(-keep))
		switch {
		case err != nil && ctx.Err() == nil:
			log.Error("delete old "+what, "err", err)
		case n > 0:
			log.Info("deleted old "+what, "count", n, "older", keep)
		}
		select {
		case <-hour.C:
		case <-ctx.Done():
			return nil
		}
	}
}
