package main

import (
	"bytes"
	"context"
	"fmt"
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

func (c *calls) posts() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for what, k := range c.n {
		if strings.HasPrefix(what, "POST") {
			n += k
		}
	}
	return n
}

// TestManyNodes: ten sites with a thousand nodes each are listed at once, and a thousand nodes of them are drained in few calls.
func TestManyNodes(t *testing.T) {
	dir, err := os.MkdirTemp("", "fed")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	config := fmt.Sprintf("federation: test\nsocket: %s/s\nstate_dir: %[1]s/state\nsites:\n", dir)
	key := []byte("a key that is long enough for anybody")
	if err := os.WriteFile(filepath.Join(dir, "key"), key, 0o600); err != nil {
		t.Fatal(err)
	}
	var counted []*calls
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
		counted = append(counted, c)
		l, err := net.Listen("unix", filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{Handler: c}
		go server.Serve(l)
		defer server.Close()
		config += fmt.Sprintf("  - {name: %s, url: 'unix:%s/%[1]s', key_file: key, no_associations: true}\n", name, dir)
	}
	if err := os.WriteFile(filepath.Join(dir, "fed.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan int)
	go func() { served <- run(ctx, []string{"serve", "--config", filepath.Join(dir, "fed.yaml")}) }()
	defer func() { stop(); <-served }()
	fed := func(args ...string) (string, time.Duration) {
		t.Helper()
		var out bytes.Buffer
		cmd := newCommand()
		cmd.SetArgs(append(args, "--socket", dir+"/s"))
		cmd.SetOut(&out)
		began := time.Now()
		if err := cmd.ExecuteContext(ctx); err != nil {
			t.Fatalf("fed %v: %v", args, err)
		}
		return out.String(), time.Since(began)
	}
	c := client.New(dir + "/s")
	defer c.Close()
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if nodes, err := c.Nodes(ctx, nil, nil); err == nil && len(nodes) == 10_000 {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("%d nodes, %v", len(nodes), err)
		}
	}
	best := time.Hour
	for range 5 {
		text, took := fed("node", "list", "-N")
		if n := strings.Count(text, "\n"); n != 10_001 {
			t.Fatalf("%d lines", n)
		}
		best = min(best, took)
	}
	t.Logf("fed node list of 10,000 nodes: %v", best)
	if best > 3*time.Second { // 0.3 s where nothing else runs
		t.Errorf("fed node list takes %v", best)
	}
	before := 0
	for _, k := range counted {
		before += k.posts()
	}
	_, took := fed("node", "drain", "site0/n[0001-0500],site1/n[0501-1000]", "--reason", "water", "--wait")
	posts := -before
	for _, k := range counted {
		posts += k.posts()
	}
	t.Logf("drain of 1,000 nodes at two sites: %d calls, shown by the sites after %v", posts, took)
	if posts > 4 {
		t.Errorf("%d calls for 1,000 nodes at two sites", posts)
	}
	drained, err := c.Nodes(ctx, nil, []string{"state=drained"})
	if err != nil || len(drained) != 1000 || drained[0].Unconfirmed {
		t.Errorf("%d nodes are drained, %v", len(drained), err)
	}
	if _, err := c.SetNodes(ctx, v1.SetNodes{Where: []string{"reason=water"}, State: federation.WishResume}); err != nil {
		t.Error(err)
	}
}
