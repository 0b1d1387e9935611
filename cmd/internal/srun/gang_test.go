package srun

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fsub/cloud/agentapi"
	"fsub/cloud/container/containertest"
	"fsub/cloud/jobenv"
	"fsub/cloud/steps"
	"fsub/sbatch"
	"fsub/slurm/hostlist"
)

// TestMain: the test's own binary is the step daemon, srun and sbcast too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "step-daemon" {
		signal.Ignore(syscall.SIGHUP, syscall.SIGINT) // as they are where the agent was started in the background
		os.Exit(steps.Daemon())
	}
	switch name := filepath.Base(os.Args[0]); name {
	case "srun", "sbcast":
		os.Exit(Main(name, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
	}
	containertest.LeaveHybrid()
	os.Exit(m.Run())
}

// gang is a job with its nodes, whose step services all run in this process.
type gang struct {
	dir      string
	services []*steps.Service
	launch   agentapi.Launch
	env      [][]string // of a batch script on each node
}

// newGang makes a job with a node for each of cpus.
func newGang(t testing.TB, cpus ...int) *gang {
	return newGangOf(t, func(*agentapi.Launch) {}, cpus)
}

func newGangOf(t testing.TB, change func(*agentapi.Launch), groups ...[]int) *gang {
	t.Helper()
	g := &gang{dir: t.TempDir()}
	os.Chmod(filepath.Dir(g.dir), 0o755)
	os.Chmod(g.dir, 0o755)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(g.dir, "bin")
	os.Mkdir(bin, 0o755)
	for _, name := range []string{"srun", "sbcast"} {
		if err := os.Symlink(self, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	key := make([]byte, 32)
	rand.Read(key)
	g.launch = agentapi.Launch{Run: "run1", Job: 4711, Cluster: "pool", User: agentapi.User{Name: u.Username, UID: uint32(uid), GID: uint32(gid), Home: g.dir},
		Environment: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + g.dir, "USER=" + u.Username}, Key: key, KillWait: 5 * time.Second, Start: time.Now(), TimeLimit: time.Hour}
	n := 0
	for i, cpus := range groups {
		spec := sbatch.Spec{Name: "test", MinNodes: len(cpus), MaxNodes: len(cpus), WorkDir: g.dir}
		group := agentapi.Group{Job: g.launch.Job + uint32(i), Spec: spec}
		for _, c := range cpus {
			n++
			s, err := steps.New(steps.Config{Addr: "127.0.0.1:0", Daemon: []string{self, "step-daemon"}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			g.services = append(g.services, s)
			group.Nodes = append(group.Nodes, agentapi.Node{Name: fmt.Sprint("n", n), Addr: "127.0.0.1", Steps: s.Addr(), CPUs: c, Tasks: 1})
		}
		g.launch.Groups = append(g.launch.Groups, group)
	}
	change(&g.launch)
	k := 0
	for i := range g.launch.Groups {
		for j := range g.launch.Groups[i].Nodes {
			l := g.launch
			l.Group, l.Node = i, j
			dir := filepath.Join(g.dir, fmt.Sprint("node", k))
			os.Mkdir(dir, 0o755)
			env, err := g.services[k].AddRun(steps.Run{Launch: &l, Dir: dir, Commands: bin})
			if err != nil {
				t.Fatal(err)
			}
			batch := jobenv.Batch(&l, jobenv.Own{PID: 1, Commands: bin})
			g.env = append(g.env, append(batch, env...))
			k++
		}
	}
	return g
}

// shell runs a script as the job's would be, on its first node.
func (g *gang) shell(t testing.TB, script string, args ...string) (out, errs string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/bash", append([]string{"-c", script, "bash"}, args...)...)
	cmd.Env, cmd.Dir = g.env[0], g.dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Minute
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("%s: does not end; %s %s", script, stdout.String(), stderr.String())
	}
	if _, ok := err.(*exec.ExitError); err != nil && !ok {
		t.Fatal(err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// sorted: lines in order; of tasks that ended alike on a node there may be several lines, where the machine has much to do.
func sorted(text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	tasks := map[string]string{} // by node and words
	lines = slices.DeleteFunc(lines, func(line string) bool {
		f := ended.FindStringSubmatch(line)
		if f != nil {
			tasks[f[1]+"\t"+f[3]] += "," + f[2]
		}
		return f != nil
	})
	for k, list := range tasks {
		node, how, _ := strings.Cut(k, "\t")
		all, _ := ranks(list[1:])
		slices.Sort(all)
		word := "task"
		if len(all) > 1 {
			word = "tasks"
		}
		lines = append(lines, node+word+" "+hostlist.Ranges(all)+how)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

var ended = regexp.MustCompile(`^(srun: error: \S+: )tasks? ([0-9,-]+)(: .*)$`)
