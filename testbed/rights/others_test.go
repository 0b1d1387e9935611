package rights

import (
	"context"
	"strings"
	"testing"
	"time"
)

// deed is what a user may want to do to a job of another.
type deed struct {
	name  string
	waits bool     // the job waits; else it runs
	held  bool     // the job is held
	args  []string // %J is the job
	// free: it changes nothing that the job shows.
	free bool
}

var deeds = []deed{
	{name: "cancel a job that waits", waits: true, args: []string{"scancel", "%J"}},
	{name: "cancel a job that runs", args: []string{"scancel", "%J"}},
	{name: "end a job by a signal", args: []string{"scancel", "-f", "-s", "KILL", "%J"}},
	{name: "hold a job", waits: true, args: []string{"scontrol", "hold", "%J"}},
	{name: "release a job", waits: true, held: true, args: []string{"scontrol", "release", "%J"}},
	{name: "rename a job", waits: true, args: []string{"scontrol", "update", "jobid=%J", "jobname=alices"}},
	{name: "give a job that waits more time", waits: true, args: []string{"scontrol", "update", "jobid=%J", "timelimit=90"}},
	{name: "give a job that runs less time", args: []string{"scontrol", "update", "jobid=%J", "timelimit=30"}},
	{name: "put a job back", waits: true, args: []string{"scontrol", "update", "jobid=%J", "nice=1000"}},
	{name: "requeue a job", args: []string{"scontrol", "requeue", "%J"}},
	{name: "requeue and hold a job", args: []string{"scontrol", "requeuehold", "%J"}},
	{name: "suspend a job", args: []string{"scontrol", "suspend", "%J"}},
	{name: "put a job before the others of its user", waits: true, free: true, args: []string{"scontrol", "top", "%J"}},
	{name: "read a job's script", free: true, args: []string{"scontrol", "write", "batch_script", "%J", "-"}},
}

// done is the verdict about a deed that was done.
const done = "done"

// TestOthersJobs has alice do to bob's jobs what she must not: by her own commands at the site, by ours, and as a proof that it could be done at all
// by SlurmUser. Whether it was done the job itself tells.
func TestOthersJobs(t *testing.T) {
	world.Need(t)
	for _, site := range sites() {
		t.Run(site, func(t *testing.T) {
			ways := []struct {
				name        string
				submit      func(args ...string) output
				show, doing func(args ...string) output
			}{
				{"by her own commands", func(a ...string) output { return at(t, site, "bob", append([]string{"sbatch", "--parsable"}, a...)...) },
					func(a ...string) output { return at(t, site, "bob", a...) }, func(a ...string) output { return at(t, site, "alice", a...) }},
				{"through us", func(a ...string) output {
					return login(t, "bob", append([]string{"fsub", "--parsable", "--fed-sites=" + site}, a...)...)
				}, func(a ...string) output { return login(t, "bob", a...) }, func(a ...string) output { return login(t, "alice", a...) }},
				{"as SlurmUser", func(a ...string) output { return at(t, site, "bob", append([]string{"sbatch", "--parsable"}, a...)...) },
					func(a ...string) output { return at(t, site, "bob", a...) }, func(a ...string) output { return at(t, site, "slurm", a...) }},
			}
			jobs := make([][]string, len(ways))
			t.Cleanup(func() {
				world.Bed.Output(context.WithoutCancel(t.Context()), site, "", "scancel", "-u", "bob")
			})
			for w := range ways {
				for _, d := range deeds {
					args := []string{"-n1", "--mem=100", "-t60", "-x", site + "4", "--requeue", "-o", "/dev/null"}
					if d.held {
						args = append(args, "-H")
					} else if d.waits {
						args = append(args, "--begin=now+1hour")
					}
					o := ways[w].submit(append(args, "--wrap", "sleep 3000")...)
					if o.code != 0 {
						t.Fatalf("%s: %s", ways[w].name, o.stderr)
					}
					jobs[w] = append(jobs[w], strings.TrimSpace(o.stdout))
				}
			}
			before := make([][]string, len(ways))
			for w := range ways {
				for i, d := range deeds {
					want := "RUNNING"
					if d.waits {
						want = "PENDING"
					}
					var now string
					for deadline := time.Now().Add(patience); !strings.HasPrefix(now, want); time.Sleep(300 * time.Millisecond) {
						if now = looks(ways[w].show("scontrol", "show", "job", jobs[w][i])); time.Now().After(deadline) {
							t.Fatalf("%s: job %s for %q is %s", ways[w].name, jobs[w][i], d.name, now)
						}
					}
					before[w] = append(before[w], now)
				}
			}
			said := make([][]output, len(ways))
			for w := range ways {
				for i, d := range deeds {
					args := strings.Split(strings.ReplaceAll(strings.Join(d.args, " "), "%J", jobs[w][i]), " ")
					said[w] = append(said[w], ways[w].doing(args...))
				}
			}
			time.Sleep(5 * time.Second) // for what is asked of the site afterwards
			for i, d := range deeds {
				t.Run(d.name, func(t *testing.T) {
					verdicts := make([]string, len(ways))
					for w := range ways {
						after := looks(ways[w].show("scontrol", "show", "job", jobs[w][i]))
						for deadline := time.Now().Add(time.Minute); ways[w].name == "as SlurmUser" && !d.free && after == before[w][i] && time.Now().Before(deadline); time.Sleep(300 * time.Millisecond) {
							after = looks(ways[w].show("scontrol", "show", "job", jobs[w][i]))
						}
						o := said[w][i]
						if verdicts[w] = refused; after != before[w][i] || o.code == 0 && o.stderr == "" {
							verdicts[w] = done
						}
						t.Logf("%s: %s %q; the job was %s and is %s", ways[w].name, verdicts[w], strings.TrimSpace(o.stderr), before[w][i], after)
					}
					switch {
					case verdicts[1] == done:
						t.Error("a user does through us to another's job what is not hers to do")
					case verdicts[0] == done:
						t.Error("a user can do it at the site itself: the table is wrong, or the site")
					case verdicts[2] != done:
						t.Error("not even SlurmUser does it: nothing was shown")
					}
				})
			}
		})
	}
}

// looks is what of a job a deed would change: its state, name, time limit, how often it was started, whether it is held, or was put back. That
// others of its user are put before it changes its nice by one.
func looks(o output) string {
	fields := map[string]string{}
	for _, f := range strings.Fields(o.stdout) {
		if key, value, ok := strings.Cut(f, "="); ok && fields[key] == "" {
			fields[key] = value
		}
	}
	out := fields["JobState"]
	for _, key := range []string{"JobName", "TimeLimit", "Restarts"} {
		out += " " + key + "=" + fields[key]
	}
	if fields["Priority"] == "0" {
		out += " held"
	}
	if len(fields["Nice"]) > 2 {
		out += " put back"
	}
	return out
}
