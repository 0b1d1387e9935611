package preempted

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api/client"
	"fsub/federation/decision"
	"fsub/testbed/bed"
	"fsub/testbed/daemon"
	"fsub/testbed/suite"
)

var world suite.Suite

func full() bool { return os.Getenv("FSUB_FULL") != "" }

func sites() []string {
	if full() {
		return []string{"alpha", "gamma", "delta"} // 24.11, 26.05, 22.05
	}
	return []string{"alpha"}
}

func TestMain(m *testing.M) {
	world.Main(m, suite.Config{Name: "preempted", Sites: sites(), Start: start,
		Bed: bed.Options{MinJobAge: 10 * time.Second, Conf: []string{"PreemptType=preempt/qos", "PreemptMode=REQUEUE", "PreemptExemptTime=00:00:00"}}})
}

const (
	grace    = 4 * time.Second
	patience = 4 * time.Minute
)

// start gives all sites the QOS of the tests. None preempts there until a test says so.
func start(ctx context.Context) error {
	if err := world.Programs("fsub", "fed"); err != nil {
		return err
	}
	for _, s := range sites() {
		for _, args := range [][]string{{"add", "qos", "low,brief,fresh,high"}, {"modify", "user", "alice,bob", "set", "qos+=low,brief,fresh,high"},
			{"modify", "qos", "low", "set", fmt.Sprintf("GraceTime=%.0f", grace.Seconds())}, {"modify", "qos", "high", "set", "Priority=200"}} {
			if _, err := world.Bed.Output(ctx, s, "", append([]string{"sacctmgr", "-i"}, args...)...); err != nil {
				return err
			}
		}
	}
	return nil
}

// federate starts a daemon over all sites, with QOS of which high preempts the others.
func federate(t *testing.T, number int, by decision.PreemptBy) *daemon.Daemon {
	t.Helper()
	d := suite.Daemon(t, daemon.Options{Bed: world.Bed, Fed: filepath.Join(world.Bin, "fed"), Dir: filepath.Join(world.Bed.FedDir(), t.Name()), Federation: t.Name(),
		Edit: func(config map[string]any) {
			config["job_ids"] = map[string]any{"first": 30000000 + 1000*number, "last": 30000000 + 1000*number + 999}
			for _, s := range config["sites"].([]any) {
				s.(map[string]any)["preempt"] = string(by)
			}
		}})
	p := &place{T: t, d: d}
	p.fsub("", "fed", "qos", "add", "low", "PreemptMode=requeue", fmt.Sprintf("GraceTime=%.0f", grace.Seconds()))
	p.fsub("", "fed", "qos", "add", "brief", "PreemptMode=cancel")
	p.fsub("", "fed", "qos", "add", "fresh", "PreemptMode=requeue", "PreemptExemptTime=1")
	p.fsub("", "fed", "qos", "add", "high", "Preempt=low,brief,fresh", "Priority=200")
	return d
}

// place is one site in a test.
type place struct {
	*testing.T
	d     *daemon.Daemon
	c     *client.Client
	site  string
	nodes int
}

// eachSite does something at all sites at once.
func eachSite(t *testing.T, d *daemon.Daemon, do func(p *place)) {
	for _, site := range sites() {
		t.Run(site, func(t *testing.T) {
			t.Parallel()
			p := &place{T: t, d: d, c: d.Client(), site: site}
			defer p.c.Close()
			p.nodes, _ = strconv.Atoi(p.at("sinfo", "-h", "-p", "main", "-o", "%D"))
			p.at("sh", "-c", "squeue -h -o %A | xargs -r scancel") // what a test has left that failed
			p.clear()
			do(p)
		})
	}
}

// at runs a command at the site, as root.
func (p *place) at(args ...string) string {
	p.Helper()
	out, err := world.Bed.Output(context.WithoutCancel(p.Context()), p.site, "", args...)
	if err != nil {
		p.Fatalf("%s: %v: %v\n%s", p.site, args, err, out)
	}
	return strings.TrimSpace(out)
}

// fsub runs a program of ours in the login; user "" is root.
func (p *place) fsub(user string, args ...string) string {
	p.Helper()
	var out strings.Builder
	err := world.Bed.Exec(context.WithoutCancel(p.Context()), bed.Cmd{Site: bed.Login, User: user, Args: args, Stdout: &out, Stderr: &out,
		Env: []string{"PATH=" + world.Bin + ":/usr/bin:/bin", "FSUB_SOCKET=" + p.d.Socket()}})
	if err != nil {
		p.Fatalf("%v: %v\n%s", args, err, out.String())
	}
	return out.String()
}

// job is one of alice's, and the file in which its script notes what it sees.
type job struct {
	federation.JobID
	file string
}

// submit submits a job of some whole nodes that does not end by itself within minutes, unless it is told when.
func (p *place) submit(qos string, nodes int, seconds int, more ...string) job {
	p.Helper()
	file, err := os.CreateTemp(world.Bed.Home("alice"), qos+"-")
	if err == nil {
		err = file.Chmod(0o666)
	}
	if err != nil {
		p.Fatal(err)
	}
	file.Close()
	note := `"${SLURM_JOB_ID} ${SLURM_RESTART_COUNT:-0} $(date +%s.%N)" >> ` + file.Name()
	script := fmt.Sprintf("trap 'echo TERM %s' TERM; echo BEGIN %s; for i in $(seq %d); do sleep 1 & wait; done; echo END %s", note, note, seconds, note)
	out := p.fsub("alice", append(append([]string{"fsub", "--fed-sites=" + p.site, "--exclusive", fmt.Sprintf("-N%d", nodes), "--gpus-per-node=1", "-t60", "-o", "/dev/null", "--qos=" + qos}, more...), "--wrap", script)...)
	id, err := strconv.ParseUint(regexp.MustCompile(`Submitted batch job (\d+)`).FindStringSubmatch(out + "Submitted batch job 0")[1], 10, 32)
	if err != nil || id == 0 {
		p.Fatal(out)
	}
	return job{federation.JobID(id), file.Name()}
}

// note is something that a script has seen.
type note struct {
	what    string
	id      uint32
	restart int
	at      time.Time
}

func (p *place) notes(j job) (all []note) {
	p.Helper()
	text, err := os.ReadFile(j.file)
	if err != nil {
		p.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var n note
		var at float64
		if _, err := fmt.Sscan(line, &n.what, &n.id, &n.restart, &at); err != nil {
			p.Fatalf("%s: %q: %v", j.file, line, err)
		}
		n.at = time.UnixMicro(int64(at * 1e6))
		all = append(all, n)
	}
	return all
}

// saw are the times at which a script noted something.
func (p *place) saw(j job, what string) (at []time.Time) {
	for _, n := range p.notes(j) {
		if n.what == what {
			at = append(at, n.at)
		}
	}
	return at
}

func (p *place) record(j job) *client.JobRecord {
	p.Helper()
	r, err := p.c.Job(p.Context(), j.JobID)
	if err != nil {
		p.Fatal(err)
	}
	return r
}

func (p *place) eventually(what string, done func() string) {
	p.Helper()
	last := ""
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if last = done(); last == "" {
			return
		}
	}
	p.Fatalf("%s: %s did not come true in %v: %s", p.site, what, patience, last)
}

// explain shows, if the test has failed, what is known of some jobs.
func (p *place) explain(all ...job) {
	if !p.Failed() {
		return
	}
	for _, j := range all {
		r, err := p.c.Job(context.WithoutCancel(p.Context()), j.JobID)
		text, _ := json.MarshalIndent(r, "", " ")
		p.Logf("job %d: %s, %v", j.JobID, text, err)
	}
	p.Logf("%s\n%s", p.at("squeue", "-o", "%i %j %u %T %r %N %S %q"), p.at("sh", "-c", "sacct -D -X -P -a -S now-10minutes -o jobid,jobname,state,submit,start,end,nodelist,qos | tail -20"))
}

// await waits until a job is in a state.
func (p *place) await(j job, state federation.State) (r *client.JobRecord) {
	p.Helper()
	defer p.explain(j)
	p.eventually(fmt.Sprintf("job %d to be %s", j.JobID, state), func() string {
		if r = p.record(j); r.Job.State == state {
			return ""
		}
		return fmt.Sprintf("%s (%s)", r.Job.State, r.Job.Reason)
	})
	return r
}

// fill has jobs of one node each run on all nodes, and returns them.
func (p *place) fill(qos string) (all []job) {
	p.Helper()
	for range p.nodes {
		all = append(all, p.submit(qos, 1, 600))
	}
	for _, j := range all {
		p.await(j, federation.Running)
		p.began(j)
	}
	return all
}

// began waits until a job's script runs, and returns when it began.
func (p *place) began(j job) (at []time.Time) {
	p.Helper()
	p.eventually(fmt.Sprintf("the script of job %d to run", j.JobID), func() string {
		if at = p.saw(j, "BEGIN"); len(at) == 0 {
			return "it has noted nothing"
		}
		return ""
	})
	return at
}

// clear ends all jobs.
func (p *place) clear(all ...job) {
	p.Helper()
	for _, j := range all {
		p.fsub("alice", "scancel", fmt.Sprint(j.JobID))
	}
	p.eventually("the site to be idle", func() string {
		return p.at("squeue", "-h", "-o", "%i %t") + strings.Trim(p.at("sinfo", "-h", "-p", "main", "-t", "alloc,comp,mix", "-o", "%D"), "0")
	})
}

// victims are those that a job is let preempt by the decision to bind it.
func victims(r *client.JobRecord) (by decision.PreemptBy, all []decision.Victim) {
	for _, a := range r.Attempts {
		if d := a.Decision.Preempt; d != nil {
			by, all = d.By, append(all, d.Victims...)
		}
	}
	return by, all
}

// ended are the jobs that were told to end, or have ended.
func (p *place) ended(all []job) (out []job) {
	for _, j := range all {
		r := p.record(j)
		if len(p.saw(j, "TERM")) > 0 || r.Job.Restarts > 0 || r.Job.State.Ended() {
			out = append(out, j)
		}
	}
	slices.SortFunc(out, func(a, b job) int { return int(a.JobID) - int(b.JobID) })
	return out
}
