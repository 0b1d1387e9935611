package agent

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"fsub/cloud"
	"fsub/cloud/agentapi"
	"fsub/cloud/agentserver"
	"fsub/federation"
	"fsub/federation/tunnel"
	"fsub/sbatch"
)

// oneMachine is the driver of one machine, behind the real server.
type oneMachine struct {
	mu     sync.Mutex
	orders agentapi.Orders
	change chan struct{}
	told   chan agentapi.Status
	log    *os.File
}

func (o *oneMachine) Hello(context.Context, string, agentapi.Hello) (cloud.Let, error) {
	return cloud.Let{Machine: "site:1", Node: "node-1"}, nil
}

func (o *oneMachine) Poll(ctx context.Context, _ cloud.MachineID, p agentapi.Poll) (agentapi.Orders, error) {
	for {
		o.mu.Lock()
		orders, change := o.orders, o.change
		o.mu.Unlock()
		if orders.Version != p.Version {
			return orders, nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return orders, nil
		}
	}
}

func (o *oneMachine) order(run agentapi.Order) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.orders.Version++
	o.orders.Runs = []agentapi.Order{run}
	close(o.change)
	o.change = make(chan struct{})
}

func (o *oneMachine) Report(_ context.Context, _ cloud.MachineID, r agentapi.Report) error {
	for _, s := range r.Runs {
		if s.State == agentapi.RunEnded {
			o.told <- s
		}
	}
	return nil
}

func (o *oneMachine) Log(_ context.Context, _ cloud.MachineID, _, _ string, offset int64, body io.Reader) (int64, error) {
	n, err := io.Copy(io.NewOffsetWriter(o.log, offset), body)
	return offset + n, err
}

func (o *oneMachine) Owner(context.Context, cloud.MachineID, string) (string, error) {
	return "", federation.ErrDenied
}

func (o *oneMachine) Stream(_ cloud.MachineID, _ string, accept func() (tunnel.End, error)) error {
	return federation.ErrNotFound
}

func (o *oneMachine) Asking(string) func() { return func() {} }

// startRealServer is a real server on a unix socket, or TLS, with one machine, and an agent of it.
func startRealServer(b *testing.B, tls bool) *oneMachine {
	b.Helper()
	dir := testDir(b)
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { log.Close() })
	o := &oneMachine{change: make(chan struct{}), told: make(chan agentapi.Status, 10), log: log}
	d, err := agentserver.New(agentserver.Config{Key: make([]byte, 32), Socket: filepath.Join(dir, "server")})
	if err != nil {
		b.Fatal(err)
	}
	d.Add("site", o)
	server := httptest.NewUnstartedServer(d)
	var pin string
	if tls {
		server.StartTLS()
		sum := sha256.Sum256(server.Certificate().RawSubjectPublicKeyInfo)
		pin = base64.StdEncoding.EncodeToString(sum[:])
	} else {
		server.Listener.Close()
		if server.Listener, err = net.Listen("unix", filepath.Join(dir, "server")); err != nil {
			b.Fatal(err)
		}
		server.Start()
	}
	boot, err := d.Boot("site", "gang", agentapi.Boot{Expires: time.Now().Add(time.Hour), Instance: "i-1", Path: "here"})
	if err != nil {
		b.Fatal(err)
	}
	if tls {
		boot.URL, boot.Pin = server.URL, pin
	}
	a, err := New(Config{Boot: boot, Dir: testDir(b)})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- a.Run(ctx) }()
	b.Cleanup(func() {
		stop()
		<-done
		server.CloseClientConnections()
	})
	return o
}

// BenchmarkOutput is a job that writes 1 GiB, from its order to its end, with all of the output at a real server.
func BenchmarkOutput(b *testing.B) {
	const size = 1 << 30
	for name, tls := range map[string]bool{"unix": false, "tls": true} {
		b.Run(name, func(b *testing.B) {
			o := startRealServer(b, tls)
			dir := testDir(b)
			b.SetBytes(size)
			n := 0
			for b.Loop() {
				n++
				o.order(agentapi.Order{Run: fmt.Sprint("r", n), Launch: &agentapi.Launch{Run: fmt.Sprint("r", n), Job: 1, User: me(), Stream: true, TimeLimit: sbatch.Unlimited,
					Script: fmt.Sprintf("#!/bin/sh\nexec head -c %d /dev/zero\n", size), Key: make([]byte, 32),
					Groups: []agentapi.Group{{Spec: sbatch.Spec{WorkDir: dir, Output: "out"}, Nodes: []agentapi.Node{{Name: "node-1", CPUs: 1}}}}}})
				if s := <-o.told; s.Exit != 0 || s.Why != "" {
					b.Fatalf("%+v", s)
				}
				if info, err := o.log.Stat(); err != nil || info.Size() != size {
					b.Fatal(err, info.Size())
				}
			}
		})
	}
}
