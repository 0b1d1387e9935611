package golden

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fsub/testbed/simsite"
)

// TestNames has the commands take every name of an array's tasks, with a daemon over a simulated site, and compares what they say with what
// those of a real site have said.
func TestNames(t *testing.T) {
	bin := install(t)
	if out, err := exec.Command("go", "build", "-o", filepath.Join(bin, "fed"), "fsub/cmd/fed").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	dir := bin // the path of a socket is short
	key := []byte(rand.Text())
	site, err := simsite.New(simsite.Config{Name: "alpha", Clock: simsite.RealClock{}, JWTKey: key, Nodes: []simsite.NodeConfig{{Names: "a[1-2]", CPUs: 4, Mem: 8000}},
		Partitions: []simsite.PartitionConfig{{Name: "main", Default: true}, {Name: "short"}}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "rest"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	go site.Serve(ctx, l)
	socket := filepath.Join(dir, "fed.sock")
	config := fmt.Sprintf("federation: test\nsocket: %s\nstate_dir: state\nsites:\n  - name: alpha\n    url: unix:%s\n    key_file: key\n    no_associations: true\n", socket, filepath.Join(dir, "rest"))
	for name, text := range map[string]string{"fed.yaml": config, "key": string(key)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	daemon := exec.CommandContext(ctx, filepath.Join(bin, "fed"), "serve", "--config", filepath.Join(dir, "fed.yaml"))
	daemon.Dir = dir
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { daemon.Process.Kill(); daemon.Wait() }()
	script, err := filepath.Abs("testdata/names.sh")
	if err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "FSUB_SOCKET="+socket, "LC_ALL=C.UTF-8")
	for ctx.Err() == nil {
		if c, err := net.Dial("unix", socket); err == nil {
			c.Close()
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	cmd := exec.CommandContext(ctx, "sh", script)
	cmd.Dir, cmd.Env = t.TempDir(), env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("names.sh: %v\n%s", err, out)
	}
	want, err := os.ReadFile("testdata/names_24.11.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(out), "\n")); diff != "" {
		t.Errorf("(-real +ours)\n%s", diff)
	}
}
