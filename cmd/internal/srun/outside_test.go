package srun

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fsub/cloud/steps/wire"
	"fsub/cmd/internal/conn"
	"fsub/federation/tunnel"
)

// TestMachineNamesNoFiles: a job's machine describes the job to an srun on a login node, and gets that to neither read nor write files there.
func TestMachineNamesNoFiles(t *testing.T) {
	dir := t.TempDir()
	secret, victim := filepath.Join(dir, "secret"), filepath.Join(dir, "victim")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, sent := machine(t, wire.JobInfo{Dir: dir, Env: []string{"SLURM_JOB_ID=7", "SLURM_STDINMODE=" + secret, "SLURM_STDOUTMODE=" + victim,
		"SLURM_STDERRMODE=" + victim, "SLURM_MULTI_PROG=1", "USER=me"}})
	for name, call := range map[string]func(stdout, stderr io.Writer) int{
		"attach": func(stdout, stderr io.Writer) int {
			return Attach("7", []string{"true"}, []string{"TERM=dumb"}, nil, stdout, stderr, c)
		},
		"srun": func(stdout, stderr io.Writer) int {
			return Login([]string{"--jobid=7", "--input=none", "true"}, []string{"HOME=" + dir, "SLURM_LABELIO=1"}, stdout, stderr, c)
		},
	} {
		var stdout, stderr bytes.Buffer
		if code := call(&stdout, &stderr); code != 0 || stdout.String() != "out\n" {
			t.Errorf("%s: exit code %d, %q, %q", name, code, &stdout, &stderr)
		}
		if text := <-sent; strings.Contains(text, "secret") {
			t.Errorf("%s: the machine got %q", name, text)
		}
		if _, err := os.Stat(victim); err == nil {
			t.Errorf("%s: a file was written", name)
		}
	}
	for _, o := range options {
		for _, name := range o.env {
			if slices.Contains([]string{"input", "output", "error", "open-mode", "multi-prog"}, o.name) && !(ofStreams(name+"=x") && ofStreams(name+"_HET_GROUP_1=x")) {
				t.Errorf("a machine may set %s", name)
			}
		}
	}
}

// machine is a daemon with a job, whose machine says of it what info does. What it is sent beside the request for a step comes from sent, once for each step.
func machine(t *testing.T, info wire.JobInfo) (c *conn.Conn, sent <-chan string) {
	t.Helper()
	texts := make(chan string, 1)
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, err := tunnel.Accept(w)
		if err != nil {
			t.Error(err)
			return
		}
		in, out := wire.NewReader(c), wire.NewWriter(c)
		out.WriteJSON(wire.Job, 0, info)
		if f, err := in.Read(); err != nil || f.Kind != wire.Create {
			t.Errorf("frame %d, %v", f.Kind, err)
		}
		out.WriteJSON(wire.Created, 0, wire.Layout{Job: 7, Nodes: []wire.Placed{{Name: "n1", Ranks: []int{0}}}})
		out.Write(wire.Started, 0, nil)
		out.Write(wire.Stdout, 0, []byte("out\n"))
		out.WriteJSON(wire.Exits, 0, []wire.Exit{{Rank: 0}})
		out.Write(wire.NodeEnd, 0, nil)
		out.Write(wire.End, 0, nil)
		text, _ := io.ReadAll(c)
		texts <- string(text)
	})}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return conn.FromEnv([]string{"FSUB_SOCKET=" + socket}), texts
}
