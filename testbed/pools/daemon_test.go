package pools

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"fsub/cloud"
	"fsub/cloud/agentserver"
	"fsub/cloud/provider"
	"fsub/cloud/records"
	"fsub/federation/store"
)

// start starts the daemon's part. It returns when the site is seen, or when the daemon has been killed.
func (w *world) start() {
	w.t.Helper()
	var st *store.Store
	eventually(w.t, "the store opens", func() string { // a process that another test is just starting may hold the lock's descriptor for a moment
		var err error
		if st, err = store.Open(context.Background(), store.Config{Path: filepath.Join(w.dir, "state", "fed.db"), Logger: w.log}); err != nil {
			return err.Error()
		}
		return ""
	})
	d, l := w.openServer()
	var p provider.Provider = w.provider
	var books records.PoolStore = st
	var entry cloud.AgentServer = d
	if w.opts.toll != nil {
		p, books, entry = tollProvider{p, w.opts.toll}, tollStore{st, w.opts.toll}, tollServer{d, w.opts.toll}
	}
	accounts := map[string][]string{"physics": {w.who.user.Name}, "vision": {w.who.other.Name}}
	driver, err := cloud.New(cloud.Config{
		Site: siteName, Provider: p, Store: books, AgentServer: entry, Boot: w.provider.Boot(), Pools: w.opts.pools, Secret: w.key,
		LogDir: filepath.Join(w.dir, "logs"), SharesFiles: true, OnlyUser: w.who.only, Mapped: w.opts.mapped, Accounts: accounts, Logger: w.log, Timing: w.opts.timing,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	var dead atomic.Bool
	w.mu.Lock()
	w.driver, w.life = driver, ctx
	w.stop = func() {
		cancel()
		all.Wait()
		if err := st.Close(); err != nil {
			w.t.Errorf("store: %v", err)
		}
	}
	w.crash = func() {
		dead.Store(true)
		l.Close()
		cancel()
		if err := st.Close(); err != nil { // from here on nothing that it does is remembered
			w.t.Errorf("store: %v", err)
		}
		w.dying = append(w.dying, all.Wait)
	}
	w.mu.Unlock()
	all.Go(func() {
		if err := d.Serve(ctx, l); err != nil && !dead.Load() {
			w.t.Errorf("agent server: %v", err)
		}
	})
	all.Go(func() {
		if err := driver.Run(ctx); err != nil {
			w.t.Errorf("driver: %v", err)
		}
	})
	eventually(w.t, "the site is seen", func() string {
		if now, _ := w.now(); now != driver {
			return "" // killed by the test meanwhile
		}
		o, err := driver.Observe(ctx)
		if err != nil {
			return err.Error()
		}
		if len(o.Nodes) == 0 {
			return "no nodes"
		}
		return ""
	})
}

// openServer opens the agent server on a socket, or on a port that machines with a network of their own reach.
func (w *world) openServer() (*agentserver.Server, net.Listener) {
	w.t.Helper()
	c := agentserver.Config{Key: w.key, Socket: filepath.Join(w.dir, "door.sock"), Lease: w.opts.timing.Lease, PollWait: w.opts.timing.PollWait, Logger: w.log,
		Token: func(user string, _ uint32, _ time.Time) string { return "token of " + user },
		API: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if h := w.api.Load(); h != nil {
				(*h).ServeHTTP(rw, r)
			}
		})}
	l, err := w.listen(&c)
	if err != nil {
		w.t.Fatal(err)
	}
	d, err := agentserver.New(c)
	if err != nil {
		w.t.Fatal(err)
	}
	return d, l
}

func (w *world) listen(c *agentserver.Config) (net.Listener, error) {
	if !w.opts.tcp {
		_ = os.Remove(c.Socket)
		return net.Listen("unix", c.Socket)
	}
	cert, err := agentserver.Certificate(filepath.Join(w.dir, "door.crt"), filepath.Join(w.dir, "door.key"))
	if err != nil {
		return nil, err
	}
	if w.port == "" {
		w.port = "0"
	}
	l, err := net.Listen("tcp", "0.0.0.0:"+w.port)
	if err != nil {
		return nil, err
	}
	_, w.port, _ = net.SplitHostPort(l.Addr().String())
	c.Socket, c.URL = "", "https://"+net.JoinHostPort(w.provider.HostAddr(), w.port)
	c.Pin, err = agentserver.Pin(cert)
	return tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}), err
}

// kill ends the daemon's part without a word to anybody. Machines and jobs go on.
func (w *world) kill() {
	w.mu.Lock()
	stop := w.stop
	w.driver, w.stop = nil, nil
	w.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// die ends the daemon's part in the middle of a call that does not return.
func (w *world) die() {
	w.mu.Lock()
	crash := w.crash
	w.driver, w.stop, w.crash = nil, nil, nil
	w.mu.Unlock()
	crash()
}
