package pools

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fsub/cloud"
	"fsub/cloud/agentapi"
	"fsub/cloud/local"
	"fsub/cloud/provider"
	"fsub/federation"
	"fsub/slurm/hostlist"
)

// endless is a job's script that says that it runs, and leaves a process that can be found, also when other tests have jobs of the same number.
var endless = fmt.Sprintf(`echo began; (trap '' TERM HUP; exec -a fsub-pools-%d-$SLURM_JOB_ID sleep 3600) & wait`, os.Getpid())

// running starts an endless job on n nodes and returns it when its script has begun.
func (w *world) running(n int) (federation.JobRef, federation.SiteJob) {
	w.t.Helper()
	ref := w.run(endless, ofNodes(n))
	j := w.until(ref, federation.Running)
	w.file(fmt.Sprintf("slurm-%d.out", ref.ID))
	eventually(w.t, "the job has its process", func() string {
		if len(processesOf(ref.ID)) == 0 {
			return "none"
		}
		return ""
	})
	return ref, j
}

// ofNodes asks for n nodes.
func ofNodes(n int) func(*federation.Submission) {
	return func(s *federation.Submission) { s.Job.Spec.MinNodes, s.Job.Spec.MaxNodes, s.Job.Spec.NTasks = n, n, n }
}

// processesOf finds what runs of a job.
func processesOf(id federation.JobID) (out []string) {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range all {
		text, _ := os.ReadFile(file)
		if strings.HasPrefix(string(text), fmt.Sprintf("fsub-pools-%d-%d\x00", os.Getpid(), id)) {
			out = append(out, filepath.Base(filepath.Dir(file)))
		}
	}
	return out
}

// endsAs waits for a state, and expects that nothing of the job lives once the site tells it.
func (w *world) endsAs(ref federation.JobRef, state federation.State) federation.SiteJob {
	w.t.Helper()
	var j federation.SiteJob
	eventually(w.t, fmt.Sprintf("job %d is %s", ref.ID, state), func() string {
		var err error
		if j, err = w.Lookup(context.Background(), ref); err != nil {
			return err.Error()
		}
		if !j.State.Ended() {
			return string(j.State)
		}
		if left := processesOf(ref.ID); len(left) > 0 {
			w.t.Errorf("%s was told while processes %v live", j.State, left)
		}
		return ""
	})
	if j.State != state {
		w.t.Errorf("the job ended as %s (%s %s), want %s", j.State, j.Reason, j.Detail, state)
	}
	return j
}

// machine is the n-th machine of the site that lives, by name.
func (w *world) machine(name string) provider.Instance {
	w.t.Helper()
	for _, i := range w.list() {
		if i.State == provider.InstanceRunning && i.Name == name {
			return i
		}
	}
	w.t.Fatalf("no machine %s: %+v", name, w.list())
	return provider.Instance{}
}

// agent is the process of a machine's agent.
func (w *world) agent(name string) int {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.dir, "pool", "machines", string(w.machine(name).ID), "process"))
	if err != nil {
		w.t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscanf(string(text), "%d", &pid); err != nil || pid < 2 {
		w.t.Fatalf("%q: %v", text, err)
	}
	return pid
}

func (w *world) gone(name string) {
	w.t.Helper()
	eventually(w.t, "machine "+name+" is gone", func() string {
		for _, i := range w.list() {
			if i.Name == name && i.State != provider.InstanceEnded {
				return string(i.State)
			}
		}
		return ""
	})
}

// whole has jobs on machines of their own: two nodes of one gang.
func whole() options {
	return options{pools: []cloud.PoolConfig{{Name: "main", Default: true, Max: 4, Idle: time.Hour}}}
}

func TestKilledAgentEndsTheGang(t *testing.T) {
	for n, which := range []string{"head", "follower"} {
		for kind, plain := range map[string]bool{"namespaces": false, "plain": true} {
			t.Run(which+" "+kind, func(t *testing.T) {
				t.Parallel()
				o := whole()
				o.plain = plain
				w := newWorld(t, o)
				ref, j := w.running(2)
				names := nodes(t, j)
				// Without namespaces this is the agent's supervisor, the worse loss.
				if err := unix.Kill(w.agent(names[n]), unix.SIGKILL); err != nil {
					t.Fatal(err)
				}
				w.endsAs(ref, federation.NodeFail)
				w.gone(names[n])
			})
		}
	}
}

// TestWithoutNamespaces: where the kernel gives none a job runs, and goes with its machine.
func TestWithoutNamespaces(t *testing.T) {
	t.Parallel()
	o := lapsing(whole())
	o.plain = true
	w := newWorld(t, o)
	w.until(w.run("exit 0", nil), federation.Completed)
	ref, _ := w.running(2)
	w.kill()
	eventually(t, "the lease lapses", func() string {
		return strings.Join(processesOf(ref.ID), " ")
	})
	w.start()
	w.endsAs(ref, federation.NodeFail)
}

func nodes(t *testing.T, j federation.SiteJob) []string {
	t.Helper()
	out, err := hostlist.Expand(j.Nodes)
	if err != nil || len(out) != j.NumNodes {
		t.Fatalf("%d nodes in %q: %v", j.NumNodes, j.Nodes, err)
	}
	return out
}

func TestTakenMachineEndsTheGang(t *testing.T) {
	t.Parallel()
	w := newWorld(t, whole())
	ref, j := w.running(2)
	if err := w.provider.Delete(context.Background(), []provider.InstanceID{w.machine(nodes(t, j)[1]).ID}); err != nil {
		t.Fatal(err)
	}
	w.endsAs(ref, federation.NodeFail)
}

// TestDaemonThatComesBackFindsItsJobs: one that runs still, and one that ended meanwhile.
func TestDaemonThatComesBackFindsItsJobs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	runs, _ := w.running(1)
	ends := w.run(`echo began; while [ ! -e go ]; do sleep 0.1; done; echo ended; exit 4`, nil)
	w.until(ends, federation.Running)
	w.kill()
	w.put("go")
	eventually(t, "the job has ended", func() string {
		if text := w.file(fmt.Sprintf("slurm-%d.out", ends.ID)); !strings.Contains(text, "ended") {
			return text
		}
		return ""
	})
	w.start()
	if j := w.until(ends, federation.Failed); j.ExitStatus != 4<<8 {
		t.Errorf("exit status %#x", j.ExitStatus)
	}
	if j := w.until(runs, federation.Running); j.Restarts != 0 {
		t.Errorf("%+v", j)
	}
	if err := w.Cancel(context.Background(), runs, nil); err != nil {
		t.Fatal(err)
	}
	w.endsAs(runs, federation.Cancelled)
	if got := len(w.list()); got != 1 {
		t.Errorf("%d machines, want the one that was there", got)
	}
}

// TestLeaseThatLapsesEndsEverything: without the daemon, job and machine end by themselves; when it comes back it finds out.
func TestLeaseThatLapsesEndsEverything(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lapsing(whole()))
	ref, j := w.running(2)
	w.kill()
	for _, name := range nodes(t, j) {
		w.gone(name)
	}
	if left := processesOf(ref.ID); len(left) > 0 {
		t.Errorf("processes %v live", left)
	}
	w.nothingLeft()
	w.start()
	w.endsAs(ref, federation.NodeFail)
}

// TestCutOffMachineEndsItself: the line between a machine and the daemon goes down. The machine ends its job and itself; the site tells that only when it must be so.
func TestCutOffMachineEndsItself(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: links are root's")
	}
	t.Parallel()
	o := lapsing(whole())
	o.network, o.tcp = local.NetworkNamespace, true
	w := newWorld(t, o)
	ref, j := w.running(2)
	names := nodes(t, j)
	// The name of the host's end is the provider's affair: the machine's own end is eth0.
	out, err := exec.Command("nsenter", fmt.Sprintf("--net=/proc/%d/ns/net", w.agent(names[1])), "ip", "link", "set", "eth0", "down").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	w.endsAs(ref, federation.NodeFail)
	w.gone(names[1])
}

// TestPreemptedJobIsToldBefore: the notice comes as a signal, and what the job does then counts.
func TestPreemptedJobIsToldBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, whole())
	ref := w.run(`trap 'echo saved; exit 0' TERM; echo began; sleep 3600 & wait`, nil)
	j := w.until(ref, federation.Running)
	w.file(fmt.Sprintf("slurm-%d.out", ref.ID))
	notice := agentapi.Notice{Kind: agentapi.NoticePreempt, At: time.Now().Add(2 * time.Minute).UTC()}
	if err := w.provider.Announce(w.machine(nodes(t, j)[0]).ID, notice); err != nil {
		t.Fatal(err)
	}
	w.endsAs(ref, federation.Preempted)
	if got := w.file(fmt.Sprintf("slurm-%d.out", ref.ID)); !strings.Contains(got, "saved") {
		t.Errorf("output %q", got)
	}
}

// TestNamesResolveInTheGang: of two nodes in one gang each is reached by its name.
func TestNamesResolveInTheGang(t *testing.T) {
	t.Parallel()
	w := newWorld(t, whole())
	ref := w.run(`getent hosts local-main-1 local-main-2 | awk '{print $2, $1}'`, ofNodes(2))
	w.until(ref, federation.Completed)
	var want []string
	for _, name := range []string{"local-main-1", "local-main-2"} {
		want = append(want, name+" "+w.machine(name).Addr)
		if net.ParseIP(w.machine(name).Addr) == nil {
			t.Errorf("%s has no address", name)
		}
	}
	if got := w.file(fmt.Sprintf("slurm-%d.out", ref.ID)); got != strings.Join(want, "\n") {
		t.Errorf("resolved %q, want %q", got, want)
	}
}
