package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"fsub/federation"
	"fsub/federation/api"
	"fsub/federation/controller"
	"fsub/federation/place"
	"fsub/federation/staging"
	"fsub/federation/store"
)

func newServeCommand() *cobra.Command {
	var file configFlag
	var level string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the daemon until SIGTERM",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var l slog.Level
			if err := l.UnmarshalText([]byte(level)); err != nil {
				return fmt.Errorf("--log: %q is none of debug, info, warn, error", level)
			}
			c, err := file.read()
			if err != nil {
				return err
			}
			return serve(cmd.Context(), c, slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: l})))
		},
	}
	file.add(cmd)
	cmd.Flags().StringVar(&level, "log", "info", "least level that is logged: debug, info, warn, error")
	return cmd
}

// serve runs the daemon: the store, one driver per site, the controller, and the API on the socket. It returns nil after a
// stop that was asked for. The order matters: nothing is accepted before the store is open and the live jobs are read.
func serve(ctx context.Context, c Config, log *slog.Logger) error {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	st, err := store.Open(ctx, store.Config{
		Path: filepath.Join(c.StateDir, "fed.db"), FirstID: c.JobIDs.First, LastID: c.JobIDs.Last, Logger: log, Metrics: reg,
	})
	if err != nil {
		return err
	}
	defer st.Close()
	objects, err := openBlobs(ctx, &c)
	if err != nil {
		return err
	}
	var stager federation.Stager = staging.None{}
	var logs federation.LogReader
	carrier := newStager(&c, objects, st, log)
	if objects != nil {
		defer objects.Close()
		stager, logs = carrier, carrier
	}
	remote, err := openRemote(&c)
	if err != nil {
		return err
	}
	rented, err := openClouds(&c, log, reg)
	if err != nil {
		return err
	}
	sites, err := openSites(ctx, c, rented, st, log, reg)
	if err != nil {
		return err
	}
	if rented != nil {
		logs = poolLogs{bySite: rented.logs, others: logs}
	}
	tokens := remote.callers()
	if tokens == nil && rented != nil { // the commands of jobs come through the agents' door
		if tokens, err = openTokens(&c); err != nil {
			return err
		}
	}
	ctl, err := controller.New(ctx, controller.Config{
		Environment: newInJob(&c, remote).Environment, Stager: stager, Federation: c.Federation, Store: st, Sites: sites, Policy: c.policy(), MaxRequeue: c.maxRequeue(), MaxArray: c.MaxArray, Logger: log, Registerer: reg,
	})
	if err != nil {
		return err
	}
	pools := newPoolBooks(sites, st, log)
	srv := api.NewServer(api.Config{
		Tokens: tokens, Logs: logs, Pools: pools, Steps: pools, StepSignals: pools.signals, Store: st, Usage: st, Controller: ctl, Operators: c.Operators, Federation: c.Federation, MinJobAge: c.MinJobAge, MaxArraySize: c.MaxArray, Logger: log, Registerer: reg,
	})
	l, err := listen(c.Socket)
	if err != nil {
		return err
	}
	log.Info("fed serves", "socket", c.Socket, "state", c.StateDir, "sites", len(sites))
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return ctl.Run(ctx) })
	g.Go(func() error { return srv.Serve(ctx, l) })
	rented.serve(ctx, g, srv)
	if remote != nil {
		log.Info("callers from other machines are let in", "address", remote.address)
		g.Go(func() error { return srv.Serve(ctx, remote.listener) })
	}
	g.Go(func() error { return newCollector(sites, st, log).Run(ctx) })
	if objects != nil {
		if err := runBlobs(ctx, g, &c, objects, carrier, st, log); err != nil {
			return err
		}
	}
	if c.KeepEnded > 0 {
		g.Go(func() error { return purge(ctx, st, c.KeepEnded, log) })
	}
	if c.Metrics != "" {
		g.Go(func() error { return serveMetrics(ctx, c.Metrics, reg) })
	}
	err = g.Wait()
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	log.Info("fed stops", "err", err)
	return err
}

// listen opens the socket for everybody on this machine: who a caller is comes from the kernel, not from file modes. A socket
// that a dead daemon left behind is replaced; one that is answered is not, nor anything that is no socket.
func listen(path string) (net.Listener, error) {
	if err := makeRoom(path); err != nil {
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		l.Close()
		return nil, fmt.Errorf("socket: %w", err)
	}
	return l, nil
}

// maxSocketPath is what the kernel has room for.
const maxSocketPath = 107

// makeRoom makes sure that a socket can be made at path, and that nobody else can put theirs in its place.
func makeRoom(path string) error {
	if len(path) > maxSocketPath {
		return fmt.Errorf("the path has %d bytes, the kernel takes %d; set a shorter one", len(path), maxSocketPath)
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	st, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if m := st.Mode(); m.Perm()&0o002 != 0 && m&os.ModeSticky == 0 {
		return fmt.Errorf("anybody may replace it, for everybody may write to %s; run: chmod o-w %s", dir, dir)
	}
	old, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case old.Mode().Type() != os.ModeSocket:
		return errors.New("there is something else of that name; move it away or set another socket")
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	switch {
	case err == nil:
		conn.Close()
		return errors.New("another daemon answers on it; stop that one or set another socket")
	case !errors.Is(err, syscall.ECONNREFUSED): // only that says that nobody listens: a busy daemon's queue may be full
		return fmt.Errorf("cannot tell whether another daemon uses it: %w; stop that one, or remove the socket", err)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("remove the old one: %w", err)
	}
	return nil
}

func serveMetrics(ctx context.Context, addr string, reg *prometheus.Registry) error {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	srv := &http.Server{Addr: addr, Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	stop := context.AfterFunc(ctx, func() { srv.Close() })
	defer stop()
	if err := srv.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("metrics: %w", err)
	}
	return nil
}

// maxRequeue is what the controller is told: there 0 stands for the default, here it means never.
func (c *Config) maxRequeue() int {
	if c.MaxRequeue == 0 {
		return -1
	}
	return c.MaxRequeue
}

func (c *Config) policy() place.Policy {
	p := place.DefaultPolicy()
	p.RunFraction, p.Backlog, p.BindAhead, p.LostWork = c.Policy.RunFraction, c.Policy.Backlog, c.Policy.BindAhead, c.Policy.LostWork
	p.WaitJobHour, p.WaitGPUHour = federation.Dollars(c.Policy.WaitJobHour), federation.Dollars(c.Policy.WaitGPUHour)
	return p
}

// purge takes jobs that ended long ago out of the books, every hour. It returns when ctx is done.
func purge(ctx context.Context, st *store.Store, keep time.Duration, log *slog.Logger) error {
	hour := time.NewTicker(time.Hour)
	defer hour.Stop()
	for {
		n, err := st.Purge(ctx, time.Now().Add(-keep))
		switch {
		case err != nil && ctx.Err() == nil:
			log.Error("take old jobs out of the books", "err", err)
		case n > 0:
			log.Info("old jobs taken out of the books", "jobs", n, "older", keep)
		}
		select {
		case <-hour.C:
		case <-ctx.Done():
			return nil
		}
	}
}
