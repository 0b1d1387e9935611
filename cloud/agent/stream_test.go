package agent

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"fsub/cloud/agent/keeper"
	"fsub/cloud/agentapi"
)

func stream1(l *agentapi.Launch) { l.Stream = true }

// All that a script writes is at the daemon when its end is told, byte for byte.
func TestStream(t *testing.T) {
	d := newFakeServer(t)
	startAgent(t, d, nil)
	dir := d.launch("r1", `echo first; touch began; while ! [ -e go ]; do sleep 0.01; done; echo err >&2; head -c 30000000 /dev/urandom; sleep 0.1; echo last`, func(l *agentapi.Launch) {
		l.Stream = true
		l.Groups[0].Spec.Error = "errors"
	})
	d.await("the first line", func() bool { return string(d.logs["r1/out"]) == "first\n" })
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	d.awaitEnd("r1")
	d.mu.Lock()
	defer d.mu.Unlock()
	if want := output(t, dir); string(d.logs["r1/out"]) != want || len(want) < 30000000 {
		t.Errorf("%d bytes came of %d", len(d.logs["r1/out"]), len(want))
	}
	if string(d.logs["r1/err"]) != "err\n" || !d.ended["r1/out"] || !d.ended["r1/err"] {
		t.Errorf("errors %q, ended %v", d.logs["r1/err"], d.ended)
	}
}

// What the daemon has lost is sent again, and what it has not heard.
func TestStreamGap(t *testing.T) {
	d := newFakeServer(t)
	startAgent(t, d, nil)
	dir := d.launch("r1", `echo first; while ! [ -e go ]; do sleep 0.01; done; echo second; echo third`, stream1)
	d.await("the first line", func() bool { return string(d.logs["r1/out"]) == "first\n" })
	d.set(func() { d.gap, d.down = true, true })
	os.WriteFile(filepath.Join(dir, "go"), nil, 0o644)
	for !strings.Contains(output(t, dir), "third") {
		time.Sleep(time.Millisecond)
	}
	d.set(func() { d.down = false })
	d.awaitEnd("r1")
	if got := string(d.logs["r1/out"]); got != "first\nsecond\nthird\n" {
		t.Errorf("the daemon has %q", got)
	}
}

// A run that appends to a file sends what is its own.
func TestStreamAppends(t *testing.T) {
	d := newFakeServer(t)
	startAgent(t, d, nil)
	d.launch("r1", "echo new", func(l *agentapi.Launch) {
		l.Stream = true
		l.Groups[0].Spec.OpenMode = "append"
		out := filepath.Join(l.Groups[0].Spec.WorkDir, "slurm-30000001.out")
		os.WriteFile(out, []byte("old\n"), 0o644)
		os.Chown(out, int(l.User.UID), int(l.User.GID))
	})
	d.awaitEnd("r1")
	if got := string(d.logs["r1/out"]); got != "new\n" {
		t.Errorf("the daemon has %q", got)
	}
}

// A script may empty its output, or replace it by what only the agent may read: that is not sent.
func TestStreamOwnFileOnly(t *testing.T) {
	d := newFakeServer(t)
	startAgent(t, d, nil)
	secret := filepath.Join(d.dir, "secret")
	os.WriteFile(secret, []byte("secret of the agent\n"), 0o600)
	dir := d.launch("r1", "echo one; while ! [ -e go ]; do sleep 0.01; done; : >slurm-30000001.out; echo two; ln -sf "+secret+" slurm-30000001.out; echo three", stream1)
	d.await("the first line", func() bool { return string(d.logs["r1/out"]) == "one\n" })
	os.WriteFile(filepath.Join(dir, "go"), nil, 0o644)
	d.awaitEnd("r1")
	if got := string(d.logs["r1/out"]); strings.Contains(got, "secret") || !strings.HasSuffix(got, "three\n") {
		t.Errorf("the daemon has %q", got)
	}
}

// BenchmarkStream sends one file of 1 GiB; the peer writes what comes to a file.
func BenchmarkStream(b *testing.B) {
	const size = 1 << 30
	path := filepath.Join(b.TempDir(), "output")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	chunk := bytes.Repeat([]byte("0123456789abcde\n"), 1<<16)
	for range size / len(chunk) {
		f.Write(chunk)
	}
	log, err := os.Create(filepath.Join(b.TempDir(), "log"))
	if err != nil {
		b.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		offset, _ := strconv.ParseInt(r.URL.Query().Get("offset"), 10, 64)
		n, _ := io.Copy(io.NewOffsetWriter(log, offset), r.Body)
		json.NewEncoder(w).Encode(agentapi.LogSize{Size: offset + n})
	}))
	socket := filepath.Join(b.TempDir(), "server")
	server.Listener.Close()
	if server.Listener, err = net.Listen("unix", socket); err != nil {
		b.Fatal(err)
	}
	server.Start()
	defer server.Close()
	a, err := New(Config{Boot: agentapi.Boot{URL: "unix:" + socket}, Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	a.lease = newLease(time.Now(), time.Hour)
	b.SetBytes(size)
	for b.Loop() {
		r := &run{a: a, l: &agentapi.Launch{Run: "r", Stream: true}, p: &keeper.Process{Out: &keeper.Output{File: f}}}
		r.openStreams()
		r.closeStreams()
		if info, err := log.Stat(); err != nil || info.Size() != size {
			b.Fatal(err, info.Size())
		}
	}
}
