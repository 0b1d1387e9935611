package docs

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDisaster does what docs/disaster.md says: its commands copy a daemon that runs, and bring it back in another directory after it was killed. The jobs are known there.
func TestDisaster(t *testing.T) {
	var commands []string
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if filepath.Base(p.path) == "disaster.md" && b.kind == "sh" {
				commands = append(commands, strings.Split(strings.TrimSpace(b.text), "\n")...)
			}
		}
	}
	if len(commands) != 6 {
		t.Fatalf("docs/disaster.md has the commands %q: want backup, restore, config check, start, site list, job list", commands)
	}
	dir, err := os.MkdirTemp("", "docs") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	h := &hosts{t: t, dir: dir}
	h.make("old")
	const config = "socket: fsub.sock\nstate_dir: state\nsites:\n  - {name: alpha, kind: local, local: {nodes: 1, cpus: 2, mem_mib: 1000, network: host}}\n"
	if err := os.WriteFile(dir+"/old/fed.yaml", []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}

	old := h.serve("old")
	h.until("old", "fed site list", "alpha\tACTIVE\tok")
	h.run("old", "fsub --wrap='echo done'")
	h.until("old", "sacct -X -n -P -o jobid,state", "30000000|COMPLETED")
	h.run("old", "fsub --begin=now+1day --wrap='echo later'")
	h.run("old", commands[0])
	if err := old.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	old.Wait()

	h.make("new")
	var restored *exec.Cmd
	for _, c := range commands[1:] {
		if strings.HasPrefix(c, "systemctl start") {
			restored = h.serve("new")
			h.until("new", "fed site list", "alpha\tACTIVE\tok")
			continue
		}
		h.run("new", c)
	}
	h.until("new", "sacct -X -n -P -o jobid,state", "30000000|COMPLETED")
	h.until("new", "squeue -h -o '%i %T'", "30000001 PENDING")
	if out := h.run("new", "fsub --parsable --hold --wrap=true"); out < "31000000" {
		t.Errorf("the restored daemon gives the number %s, which may have been given since the copy", out)
	}
	restored.Process.Kill()
	restored.Wait()
	h.run("old", "fed pool clear --yes --config fed.yaml")
	h.run("new", "fed pool clear --yes --config fed.yaml")
}

// hosts are directories that stand for hosts: each has what is elsewhere in /etc/fsub and /var/lib/fsub.
type hosts struct {
	t   *testing.T
	dir string
}

func (h *hosts) make(host string) {
	h.t.Helper()
	if err := os.Mkdir(filepath.Join(h.dir, host), 0o755); err != nil {
		h.t.Fatal(err)
	}
}

// command is a command line of the page on a host: the backup lies beside the hosts, the configuration is the host's.
func (h *hosts) command(host, line string) *exec.Cmd {
	w := &world{t: h.t, dir: filepath.Join(h.dir, host)}
	line = strings.ReplaceAll(line, "/backup/fed", filepath.Join(h.dir, "backup"))
	if strings.HasPrefix(line, "fed store ") || strings.HasPrefix(line, "fed config ") {
		line += " --config fed.yaml"
	}
	return w.command(context.Background(), line)
}

func (h *hosts) serve(host string) *exec.Cmd {
	h.t.Helper()
	cmd := h.command(host, "exec fed serve --config fed.yaml")
	log, err := os.Create(filepath.Join(h.dir, host, "fed.log"))
	if err != nil {
		h.t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if text, _ := os.ReadFile(log.Name()); h.t.Failed() {
			h.t.Logf("the log of the %s daemon:\n%s", host, text)
		}
	})
	return cmd
}

func (h *hosts) run(host, line string) string {
	h.t.Helper()
	out, err := h.command(host, line).CombinedOutput()
	if err != nil {
		h.t.Fatalf("%s: %s: %v\n%s", host, line, err, out)
	}
	return strings.TrimSpace(string(out))
}

// until runs a command that only looks until it prints want.
func (h *hosts) until(host, line, want string) {
	h.t.Helper()
	w := &world{t: h.t, at: "docs/disaster.md", dir: filepath.Join(h.dir, host)}
	w.expect(line, []string{"...", want + "...", "..."})
}
