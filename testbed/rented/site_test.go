package rented

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fsub/cloud"
	"fsub/cloud/agentserver"
	"fsub/cloud/aws"
	"fsub/cloud/provider"
	"fsub/federation"
	"fsub/federation/store"
	"fsub/testbed/ec2"
)

// site is the driver of a rented site, its agent server and its books in this process; its machines and their agents are processes. It is a federation.Driver itself: while the daemon's part is
// down everything is unavailable.
type site struct {
	t           testing.TB
	cloud       *ec2.Cloud
	url         string
	dir         string
	home        string // the user's
	user, other federation.SiteUser
	key         []byte
	port        string // of the agent server
	shares      bool   // the machines see the user's files, and send no output
	log         *os.File

	mu     sync.Mutex
	driver *cloud.Driver
	life   context.Context
	stop   func()
}

// quick are waits for tests. No test waits for a machine to end because it hears nothing.
var quick = cloud.Timing{
	Lease: time.Minute, PollWait: 2 * time.Second, Margin: time.Second, KillWait: 2 * time.Second, Boot: 2 * time.Minute, List: 2 * time.Second, ListSoon: 500 * time.Millisecond,
	ListLag: 2 * time.Second, Stray: 2 * time.Second, Tick: 100 * time.Millisecond, StockOut: time.Second, Keep: 10 * time.Second,
}

func newSite(t testing.TB, nodes int, sharesFiles bool) *site {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: not root: jobs of different users need that")
	}
	if err := binaries(); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(scratch, "s")
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, dir: dir, shares: sharesFiles, home: filepath.Join(dir, "home"), key: bytes.Repeat([]byte{3}, 32), port: freePort(t), user: systemUser(t, "daemon"), other: systemUser(t, "nobody")}
	err = errors.Join(os.Chmod(dir, 0o755), os.Mkdir(s.home, 0o700), os.Chown(s.home, int(s.user.UID), int(s.user.GID)))
	if err != nil {
		t.Fatal(err)
	}
	if s.log, err = os.Create(filepath.Join(dir, "log")); err != nil {
		t.Fatal(err)
	}
	s.cloud = ec2.New(ec2.Config{Process: true, Dir: filepath.Join(dir, "cloud"), Types: ec2.TypesNamed("g6.xlarge"), Zones: []string{"us-east-2a"}})
	if s.url, err = s.cloud.Start(""); err != nil {
		t.Fatal(err)
	}
	credentials := fmt.Sprintf("[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n", s.cloud.AccessKey(), s.cloud.SecretKey())
	if err := os.WriteFile(filepath.Join(dir, "credentials"), []byte(credentials), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	s.start(nodes)
	return s
}

func systemUser(t testing.TB, name string) federation.SiteUser {
	t.Helper()
	u, err := user.Lookup(name)
	if err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	uid, _ := strconv.ParseUint(u.Uid, 10, 32)
	gid, _ := strconv.ParseUint(u.Gid, 10, 32)
	return federation.SiteUser{Name: u.Username, UID: uint32(uid), GID: uint32(gid)}
}

// start starts the daemon's part over the same books.
func (s *site) start(nodes int) {
	s.t.Helper()
	log := slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	ctx, cancel := context.WithCancel(context.Background())
	var st *store.Store
	s.eventually("the store opens", 20*time.Second, func() string { // a process that is just being started may hold the lock's descriptor for a moment
		var err error
		if st, err = store.Open(ctx, store.Config{Path: filepath.Join(s.dir, "state", "fed.db"), Logger: log}); err != nil {
			return err.Error()
		}
		return ""
	})
	p, err := aws.New(ctx, aws.Config{
		Site: "aws", Federation: "rented", Region: aws.Region{Name: s.cloud.Region()}, Types: []string{"g6.xlarge"}, Markets: []provider.Market{provider.OnDemand}, Boot: 2 * time.Second,
		CredentialsFile: filepath.Join(s.dir, "credentials"), Endpoint: s.url, Logger: log,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	d, l := s.openServer(log)
	driver, err := cloud.New(cloud.Config{
		Site: "aws", Provider: provider.Wrap(p, provider.WrapConfig{Site: "aws", RPS: 20, Burst: 20, Retries: 1, Timeout: 10 * time.Second, Logger: log}), Store: st, AgentServer: d,
		Boot: aws.Boot(), Pools: []cloud.PoolConfig{{Name: "main", Default: true, Max: nodes, Idle: 20 * time.Second}}, Secret: s.key, LogDir: filepath.Join(s.dir, "logs"), SharesFiles: s.shares,
		Accounts: map[string][]string{"physics": {s.user.Name}, "vision": {s.other.Name}}, Logger: log, Timing: quick,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	var all sync.WaitGroup
	var over atomic.Bool
	all.Go(func() {
		if err := d.Serve(ctx, l); err != nil && !over.Load() {
			s.t.Errorf("agent server: %v", err)
		}
	})
	all.Go(func() {
		if err := driver.Run(ctx); err != nil {
			s.t.Errorf("driver: %v", err)
		}
	})
	s.mu.Lock()
	s.driver, s.life = driver, ctx
	s.stop = func() {
		over.Store(true)
		cancel()
		l.Close()
		all.Wait()
		if err := st.Close(); err != nil {
			s.t.Errorf("store: %v", err)
		}
	}
	s.mu.Unlock()
	s.eventually("the site is seen", 20*time.Second, func() string {
		if o, err := driver.Observe(ctx); err != nil || len(o.Nodes) == 0 {
			return fmt.Sprintf("no nodes, %v", err)
		}
		return ""
	})
}

// openServer opens the agent server on the port that machines of the daemon before know.
func (s *site) openServer(log *slog.Logger) (*agentserver.Server, net.Listener) {
	s.t.Helper()
	cert, err := agentserver.Certificate(filepath.Join(s.dir, "door.crt"), filepath.Join(s.dir, "door.key"))
	if err != nil {
		s.t.Fatal(err)
	}
	pin, err := agentserver.Pin(cert)
	if err != nil {
		s.t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:"+s.port, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12})
	if err != nil {
		s.t.Fatal(err)
	}
	_, s.port, _ = net.SplitHostPort(l.Addr().String())
	d, err := agentserver.New(agentserver.Config{Key: s.key, Agent: filepath.Join(scratch, "fed-agent"), URL: "https://127.0.0.1:" + s.port, Pin: pin, Lease: quick.Lease, PollWait: quick.PollWait, Logger: log,
		API: http.NotFoundHandler(), Token: func(user string, _ uint32, _ time.Time) string { return "token of " + user }})
	if err != nil {
		s.t.Fatal(err)
	}
	return d, l
}

// kill ends the daemon's part. Machines and jobs go on.
func (s *site) kill() {
	s.mu.Lock()
	stop := s.stop
	s.driver, s.stop = nil, nil
	s.mu.Unlock()
	if stop != nil {
		stop()
	}
}

func (s *site) close() {
	s.kill()
	if err := s.cloud.Close(); err != nil {
		s.t.Errorf("the cloud does not close: %v", err)
	}
	s.log.Close()
	if s.t.Failed() {
		s.t.Logf("the driver's log ends:\n%s", tail(s.log.Name(), 8000))
	}
}

func (s *site) eventually(what string, patience time.Duration, check func() string) {
	s.t.Helper()
	patience *= busy
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		last := check()
		if last == "" {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%s: not within %s; last: %s", what, patience, last)
		}
	}
}
