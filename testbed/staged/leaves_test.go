package staged

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api/client"
	"fsub/federation/move"
	"fsub/testbed/bed"
	"fsub/testbed/checkpoints"
	"fsub/testbed/daemon"
	"fsub/testbed/suite"
)

// leaving is a federation of two real Slurm sites, of 24.11 and 26.05, that see none of the users' files, and jobs that keep their checkpoints. The first one is a little cheaper.
type leaving struct {
	*everywhere
	see string // where jobs note what they find
}

// leavingTicks is how long a job counts: it is to be running still when it is moved.
const leavingTicks, leavingStep = 500, 30

func newLeaving(t *testing.T) *leaving {
	w := &leaving{everywhere: &everywhere{place: newPlace(t, "alice")}}
	if err := world.Bed.Up(t.Context(), []string{"gamma"}, os.Stderr); err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	w.daemon = suite.Daemon(t, daemon.Options{Bed: world.Bed, Sites: []string{"alpha", "gamma"}, Fed: filepath.Join(world.Bin, "fed"), Dir: filepath.Join(world.Bed.FedDir(), "leaving"),
		Federation: "leaving", Edit: func(config map[string]any) {
			config["job_ids"] = map[string]any{"first": 33_000_000}
			config["moves"] = map[string]any{"windows": "on", "gangs": "on", "ahead": "5s", "margin": 0}
			config["blobs"] = map[string]any{"url": "file://" + world.Dir + "/leaving", "listen": "0.0.0.0:" + port, "public_url": "http://127.0.0.1:" + port}
			for _, s := range config["sites"].([]any) {
				site := s.(map[string]any)
				site["filesystems"], site["scratch"] = "none", "/tmp"
				site["prices"] = map[string]any{"gres/gpu": map[any]float64{"alpha": 1, "gamma": 1.12}[site["name"]]}
				u, err := url.Parse(site["url"].(string))
				if err != nil {
					t.Fatal(err)
				}
				w.forward(site["name"].(string), port, netip.MustParseAddr(u.Hostname()).Prev().String())
			}
		}})
	w.see = filepath.Join(world.Bed.Home("alice"), "leaving")
	alice, _ := bed.FindUser("alice")
	if err := errors.Join(os.MkdirAll(w.see, 0o700), os.Chown(w.see, alice.UID, alice.UID)); err != nil {
		t.Fatal(err)
	}
	w.write("job.sh", checkpoints.Script)
	t.Cleanup(func() {
		os.RemoveAll(w.see)
		for _, site := range []string{"alpha", "gamma"} {
			w.eventually("the jobs of "+site+" to end", func() string {
				out, err := world.Bed.Output(context.WithoutCancel(t.Context()), site, "", "sh", "-c", "squeue -h -o %A | xargs -r scancel; squeue -h -o '%i %j %t'")
				if err != nil {
					return err.Error()
				}
				return strings.TrimSpace(out)
			})
		}
	})
	return w
}

func (w *leaving) eventually(what string, done func() string) {
	w.Helper()
	last := ""
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if last = done(); last == "" {
			return
		}
	}
	w.Fatalf("waited for %s: %s", what, last)
}

// keeps submits a job that keeps its checkpoints and gets TERM five seconds before it is ended.
func (w *leaving) keeps(args ...string) federation.JobID {
	w.Helper()
	return w.id(w.at("alice", append(append([]string{"fsub", "--parsable", "--gpus-per-node=1", "--signal=B:TERM@5"}, args...), "job.sh", w.see, fmt.Sprint(leavingTicks), fmt.Sprint(leavingStep))...))
}

// sleeps submits a job that keeps nothing, and sleeps.
func (w *leaving) sleeps(args ...string) federation.JobID {
	w.Helper()
	return w.id(w.at("alice", append(append([]string{"fsub", "--parsable", "-t30", "-o", "/dev/null", "--fed-stage-in=job.sh"}, args...), "--wrap", "sleep 1500")...))
}

func (w *leaving) id(text string) (id federation.JobID) {
	w.Helper()
	if _, err := fmt.Sscan(text, &id); err != nil {
		w.Fatalf("fsub printed %q", text)
	}
	return id
}

func (w *leaving) record(id federation.JobID) *client.JobRecord {
	w.Helper()
	c := w.daemon.Client()
	defer c.Close()
	r, err := c.Job(w.Context(), id)
	if err != nil {
		w.Fatal(err)
	}
	return r
}

// runs waits until a job runs at a site, and returns its nodes.
func (w *leaving) runs(id federation.JobID, site federation.SiteName) string {
	w.Helper()
	var nodes string
	w.eventually(fmt.Sprintf("job %d to run at %s", id, site), func() string {
		r := w.record(id)
		if nodes = r.Job.Nodes; r.Job.State == federation.Running && r.Job.Site == site {
			return ""
		}
		if r.Job.State.Ended() {
			w.Fatalf("job %d is %s: %v", id, r.Job.State, r.Events)
		}
		return fmt.Sprintf("it is %s at %q (%s)", r.Job.State, r.Job.Site, r.Job.Reason)
	})
	return nodes
}

func (w *leaving) notes(id federation.JobID) string {
	text, _ := os.ReadFile(filepath.Join(w.see, id.String()))
	return string(text)
}

// saved waits until a job has written a checkpoint by itself.
func (w *leaving) saved(id federation.JobID) {
	w.Helper()
	w.eventually(fmt.Sprintf("a checkpoint of job %d", id), func() string {
		if text := w.notes(id); !strings.Contains(text, "saved") {
			return text + "nothing is saved"
		}
		return ""
	})
}

// moved waits until a job has been moved and has completed at another site: by one move, with its signal, and without a tick of its work done twice.
func (w *leaving) moved(id federation.JobID, kind string, from, to federation.SiteName, why string) {
	w.Helper()
	atts := w.await(id)
	defer func() {
		if w.Failed() {
			text, _ := json.MarshalIndent(w.record(id), "", " ")
			w.Logf("job %d: %s\nits notes:\n%s", id, text, w.notes(id))
		}
	}()
	var sum checkpoints.Sum
	if err := sum.Add(w.notes(id), leavingTicks); err != nil || sum != (checkpoints.Sum{Resumed: 1}) || strings.Count(w.notes(id), "told at") != 1 {
		w.Errorf("job %d: %v, %s", id, err, sum)
	}
	atts = slices.DeleteFunc(atts, func(a federation.Attempt) bool { return a.Started.IsZero() })
	if len(atts) != 2 || atts[0].Site != from || atts[1].Site != to || atts[0].Kept == nil {
		w.Fatalf("job %d has run %d times", id, len(atts))
	}
	if m := atts[0].Moved; m == nil || m.Kind != kind || m.Count != 1 || !strings.Contains(m.Why, why) {
		w.Errorf("job %d: its move is %+v", id, m)
	}
}

// TestPlannerMoves has the planner itself move jobs that run at real Slurm sites: before a reservation of Slurm's with MAINT, and from a node that an operator drains with --move. Each gets its signal, is saved,
// goes on at the other site where it has stopped, and completes; a job that keeps nothing stays on the node, which is DRAINED when that has ended.
func TestPlannerMoves(t *testing.T) {
	world.Need(t)
	w := newLeaving(t)
	var fill []federation.JobID
	for range 3 {
		fill = append(fill, w.sleeps("--exclusive", "--fed-sites=alpha"))
	}
	for _, id := range fill {
		w.runs(id, "alpha")
	}
	a := w.keeps("--exclusive")
	works := w.runs(a, "alpha")
	b := w.keeps("-c8") // there is no room for it at alpha
	node := w.runs(b, "gamma")
	plain := w.sleeps("-c1", "--fed-sites=gamma", "-w", node)
	w.runs(plain, "gamma")
	w.saved(a)
	w.saved(b)
	for _, id := range fill {
		w.at("alice", "scancel", id.String())
	}
	w.scontrol("alpha", "create", "reservation", "reservationname=works", "starttime=now+20", "duration=20", "nodes="+works, "flags=maint,ignore_jobs", "users=root")
	defer w.scontrol("alpha", "delete", "reservationname=works")
	drained := make(chan string, 1)
	go func() {
		_, err := w.try("", "fed", "node", "drain", "gamma/"+node, "--move", "--wait", "--reason", "new fan")
		drained <- fmt.Sprint(err)
	}()
	defer w.try("", "fed", "node", "resume", "gamma/"+node, "--wait")
	w.runs(b, "alpha")
	if out := w.at("", "fed", "explain", plain.String()); !strings.Contains(out, "stays on node gamma/"+node+", which root drains: it has not said --keep") {
		t.Errorf("fed explain of the job that stays: %s", out)
	}
	select {
	case err := <-drained:
		t.Errorf("fed node drain --wait returned while a job runs there: %s", err)
	default:
	}
	w.runs(plain, "gamma")
	w.at("alice", "scancel", plain.String())
	if err := <-drained; err != "<nil>" {
		t.Errorf("fed node drain --wait: %s", err)
	}
	if out, err := world.Bed.Output(t.Context(), "gamma", "", "sinfo", "-h", "-n", node, "-p", "main", "-o", "%T"); err != nil || strings.TrimSpace(out) != "drained" {
		t.Errorf("the node is %q, %v", out, err)
	}
	w.moved(a, move.Window, "alpha", "gamma", "works at alpha begins at ")
	w.moved(b, move.Window, "gamma", "alpha", "node gamma/"+node+" is drained by root: new fan")
}

// TestPlannerMovesForAGang: a gang waits for two nodes, half of each of which a job holds that keeps something: those leave, the gang starts, and all complete.
func TestPlannerMovesForAGang(t *testing.T) {
	world.Need(t)
	if os.Getenv("FSUB_FULL") == "" {
		t.Skip("SKIPPED, NO MOVES FOR A GANG WERE TESTED ON REAL SLURM: takes more than a minute: set FSUB_FULL=1")
	}
	w := newLeaving(t)
	for range 2 {
		w.runs(w.sleeps("--exclusive", "--fed-sites=alpha"), "alpha")
	}
	one, two := w.keeps("-c9", "-t30"), w.keeps("-c9", "-t30")
	if n, m := w.runs(one, "alpha"), w.runs(two, "alpha"); n == m {
		t.Fatalf("both run on %s", n)
	}
	w.saved(one)
	w.saved(two)
	gang := w.id(w.at("alice", "fsub", "--parsable", "-N2", "--exclusive", "--gpus-per-node=4", "-t10", "-o", "/dev/null", "--fed-stage-in=job.sh", "--fed-sites=alpha", "--wrap", "sleep 3"))
	for _, id := range []federation.JobID{one, two} {
		w.moved(id, move.Gang, "alpha", "gamma", "job "+gang.String()+", which takes 2 nodes, can start there then")
	}
	w.await(gang)
}
