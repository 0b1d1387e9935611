package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/testbed/simsite"
)

// calls counts what a site is asked for.
type calls struct {
	mu   sync.Mutex
	http http.Handler
	n    map[string]int
}

func (c *calls) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.n[r.Method+" "+r.URL.Path[strings.LastIndex(strings.TrimSuffix(r.URL.Path, "/"), "/"):]]++
	c.mu.Unlock()
	c.http.ServeHTTP(w, r)
}

// since is what was asked for more than before, and now.
func (c *calls) since(before map[string]int) (more, now map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, more = maps.Clone(c.n), map[string]int{}
	for what, k := range now {
		if k > before[what] {
			more[what] = k - before[what]
		}
	}
	return more, now
}

// manySites is a daemon over ten sites with a thousand nodes each.
type manySites struct {
	testing.TB
	ctx    context.Context
	socket string
	sites  []*calls
	client *client.Client
}

func startManySites(t testing.TB) *manySites {
	dir, err := os.MkdirTemp("", "fed")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	m := &manySites{TB: t, socket: dir + "/s"}
	config := fmt.Sprintf("federation: test\nsocket: %s\nstate_dir: %s/state\nsites:\n", m.socket, dir)
	key := []byte("a key that is long enough for anybody")
	if err := os.WriteFile(filepath.Join(dir, "key"), key, 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		name := fmt.Sprintf("site%d", i)
		site, err := simsite.New(simsite.Config{Name: name, Clock: simsite.RealClock{}, JWTKey: key,
			Nodes:      []simsite.NodeConfig{{Names: "n[0001-1000]", CPUs: 16, Mem: 64000, GRES: []federation.GRES{{Name: "gpu", Type: "h100", Total: 8}}}},
			Partitions: []simsite.PartitionConfig{{Name: "main", Default: true}}})
		if err != nil {
			t.Fatal(err)
		}
		c := &calls{n: map[string]int{}, http: &httputil.ReverseProxy{Transport: site.Transport(), Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", "site"
		}}}
		m.sites = append(m.sites, c)
		l, err := net.Listen("unix", filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{Handler: c}
		go server.Serve(l)
		t.Cleanup(func() { server.Close() })
		config += fmt.Sprintf("  - {name: %s, url: 'unix:%s/%[1]s', key_file: key, no_associations: true}\n", name, dir)
	}
	if err := os.WriteFile(filepath.Join(dir, "fed.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	m.ctx = ctx
	served := make(chan int)
	go func() { served <- run(ctx, []string{"serve", "--config", filepath.Join(dir, "fed.yaml")}) }()
	t.Cleanup(func() { stop(); <-served })
	m.client = client.New(m.socket)
	t.Cleanup(m.client.Close)
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if nodes, err := m.client.Nodes(ctx, nil, nil); err == nil && len(nodes) == 10_000 {
			return m
		} else if time.Now().After(deadline) {
			t.Fatalf("%d nodes, %v", len(nodes), err)
		}
	}
}

func (m *manySites) fed(args ...string) string {
	m.Helper()
	var out bytes.Buffer
	cmd := newCommand()
	cmd.SetArgs(append(args, "--socket", m.socket))
	cmd.SetOut(&out)
	if err := cmd.ExecuteContext(m.ctx); err != nil {
		m.Fatalf("fed %v: %v", args, err)
	}
	return out.String()
}

// TestManyNodes: of ten thousand nodes a thousand are drained in as few calls as there are, and the other sites are not asked for anything.
func TestManyNodes(t *testing.T) {
	m := startManySites(t)
	if n := strings.Count(m.fed("node", "list", "-N"), "\n"); n != 10_001 {
		t.Fatalf("%d lines", n)
	}
	before := make([]map[string]int, len(m.sites))
	for i, site := range m.sites {
		_, before[i] = site.since(nil)
	}
	m.fed("node", "drain", "site0/n[0001-0500],site1/n[0501-1000]", "--reason", "water", "--wait")
	for i, site := range m.sites {
		more, _ := site.since(before[i])
		posts := 0
		for what, k := range more {
			if strings.HasPrefix(what, "POST") {
				posts += k
			}
		}
		want := 0
		if i < 2 {
			want = 2 // 500 nodes, 250 a call
			t.Logf("site%d, 500 nodes: %v", i, more)
		}
		if posts != want {
			t.Errorf("site%d: %d calls that change something, want %d: %v", i, posts, want, more)
		}
	}
	drained, err := m.client.Nodes(m.ctx, nil, []string{"state=drained"})
	if err != nil || len(drained) != 1000 || drained[0].Unconfirmed {
		t.Errorf("%d nodes are drained, %v", len(drained), err)
	}
	if _, err := m.client.SetNodes(m.ctx, v1.SetNodes{Where: []string{"reason=water"}, State: federation.WishResume}); err != nil {
		t.Error(err)
	}
}

// BenchmarkNodeList is fed node list of ten thousand nodes, with a line for each and with like ones together. It has to be done in 0.3 s.
func BenchmarkNodeList(b *testing.B) {
	m := startManySites(b)
	for _, args := range [][]string{{"node", "list"}, {"node", "list", "-N"}} {
		b.Run(args[len(args)-1], func(b *testing.B) {
			for b.Loop() {
				m.fed(args...)
			}
		})
	}
}
