package daemon

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/cmd/fed/internal/config"
	"fsub/federation"
	"fsub/federation/leader"
	"fsub/sbatch"
)

// The daemon's certificate and secret stay the same over restarts, and nobody else may read them.
func TestRemoteIsKept(t *testing.T) {
	c := config.Default()
	c.StateDir = filepath.Join(t.TempDir(), "state")
	c.Remote = config.Remote{Listen: "127.0.0.1:0", Address: "fed.example.org:6829"}
	var addresses, tokens []string
	for range 2 {
		d, err := openRemote(&c, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		d.listener.Close()
		addresses = append(addresses, d.at(d.address))
		tokens = append(tokens, d.tokens.Make("alice", time.Unix(1_900_000_000, 0)))
		if user, err := d.tokens.User(tokens[0]); user != "alice" || err != nil {
			t.Errorf("a token of before: %q %v", user, err)
		}
	}
	if addresses[0] != addresses[1] || !strings.HasPrefix(addresses[0], "tls://fed.example.org:6829#") || len(addresses[0]) != len("tls://fed.example.org:6829#")+64 {
		t.Errorf("addresses %q", addresses)
	}
	for _, name := range []string{"token.key", "remote.key"} {
		if st, err := os.Stat(filepath.Join(c.StateDir, name)); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, st, err)
		}
	}
	for _, name := range []string{"token.key", "remote.key"} {
		path := filepath.Join(c.StateDir, name)
		if err := os.Chmod(path, 0o640); err != nil {
			t.Fatal(err)
		}
		if _, err := openRemote(&c, nil, nil); err == nil || !strings.Contains(err.Error(), "chmod 600 "+path) {
			t.Errorf("%s that others may read: %v", name, err)
		}
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(c.StateDir, "token.key"), []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openRemote(&c, nil, nil); err == nil || !strings.Contains(err.Error(), "5 bytes") {
		t.Errorf("a short secret: %v", err)
	}
}

func TestInJobEnvironment(t *testing.T) {
	c := config.Default()
	c.Sites = []config.Site{{Name: "a", Commands: "/opt/fsub/bin"}, {Name: "b"}}
	job := &federation.Job{User: "alice", Spec: &sbatch.Spec{TimeLimit: time.Hour}}
	env := []string{"A=1", "PATH=/usr/bin", "FSUB_TOKEN=another's", "FSUB_SOCKET=/elsewhere", "Z=2"}
	before := slices.Clone(env)
	in := newInJob(&c, nil)
	if got := in.Environment("b", job, env); !slices.Equal(got, env) {
		t.Errorf("a site without commands: %q", got)
	}
	want := []string{"A=1", "Z=2", "PATH=/opt/fsub/bin:/usr/bin", "FSUB_SOCKET=" + c.Socket}
	if got := in.Environment("a", job, env); !slices.Equal(got, want) || !slices.Equal(env, before) {
		t.Errorf("%q, from %q", got, env)
	}
	if got := in.Environment("a", job, nil); !slices.Contains(got, "PATH=/opt/fsub/bin:"+defaultPath) {
		t.Errorf("without a PATH: %q", got)
	}

	c.StateDir, c.Remote = t.TempDir(), config.Remote{Listen: "127.0.0.1:0"}
	d, err := openRemote(&c, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.listener.Close()
	in = newInJob(&c, d)
	c.Sites[0].Daemon = "10.0.0.1:7"
	if got := newInJob(&c, d).Environment("a", job, env); !slices.Contains(got, "FSUB_SOCKET="+d.at("10.0.0.1:7")) {
		t.Errorf("an address of its own: %q", got)
	}
	c.Sites[0].Daemon = "10.0.0.1:7,10.0.0.2:7"
	if got := newInJob(&c, d).Environment("a", job, env); !slices.Contains(got, "FSUB_SOCKET="+d.at("10.0.0.1:7")+","+d.at("10.0.0.2:7")) {
		t.Errorf("several addresses: %q", got)
	}
	c.Sites[0].Daemon = "/run/s"
	if got := newInJob(&c, d).Environment("a", job, env); got[len(got)-1] != "FSUB_SOCKET=/run/s" {
		t.Errorf("a socket that the nodes see: %q", got)
	}
	for _, limit := range []time.Duration{time.Hour, sbatch.Unlimited} {
		job.Spec.TimeLimit = limit
		got := in.Environment("a", job, env)
		token, ok := strings.CutPrefix(got[len(got)-1], "FSUB_TOKEN=")
		if user, err := d.tokens.User(token); !ok || user != "alice" || err != nil || !slices.Contains(got, "FSUB_SOCKET="+d.at(d.address)) {
			t.Errorf("limit %v: %q: %q %v", limit, got, user, err)
		}
	}
}

// Jobs are told the addresses of all daemons that there are when they begin.
func TestInJobSeveralDaemons(t *testing.T) {
	c := config.Default()
	c.Sites = []config.Site{{Name: "a", Commands: "/opt/fsub/bin"}}
	c.StateDir, c.Remote = t.TempDir(), config.Remote{Listen: ":6824", Address: "login1:6824"}
	var known addresses
	known.others.Store(&[]leader.Self{{Remote: "login2:6824"}, {}})
	d, err := openRemote(&c, &known, nil)
	if err != nil || d.listener != nil {
		t.Fatalf("%+v, %v: it is the process that listens", d, err)
	}
	in, job := newInJob(&c, d), &federation.Job{User: "alice", Spec: &sbatch.Spec{}}
	for _, want := range []string{d.at("login1:6824") + "," + d.at("login2:6824"), d.at("login1:6824")} {
		if got := in.Environment("a", job, nil); !slices.Contains(got, "FSUB_SOCKET="+want) {
			t.Errorf("%q, want %s", got, want)
		}
		known.others.Store(&[]leader.Self{})
	}
}
