package crowded

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/testbed/bed"
	"fsub/testbed/suite"
)

// keeper is a site of four nodes, and whether the daemon is to hold the places of gangs there.
type keeper struct {
	site  string
	holds bool
}

func keepers() []keeper {
	if full() {
		return []keeper{{"gamma", true}, {"delta", true}, {"alpha", false}}
	}
	return []keeper{{"gamma", true}}
}

// holdPlaces configures what keepers says.
func holdPlaces(config map[string]any) {
	for _, s := range config["sites"].([]any) {
		site := s.(map[string]any)
		for _, k := range keepers() {
			if site["name"] == k.site && k.holds {
				site["promises"] = "reservation"
			}
		}
		if site["name"] != "gamma" { // before 25.05
			site["reservation_command"] = suite.NodeCommand(world.Bed, site["name"].(string))
		}
	}
}

// Local jobs take each node as it becomes free, and so never have to wait. A gang whose place is held starts at its time all the same; without, it starts when they have ceased to come.
func TestPlaceIsHeld(t *testing.T) {
	world.Need(t)
	type result struct {
		keeper
		gang   federation.JobID
		enough func()
	}
	var all []*result
	for _, k := range keepers() {
		r := &result{keeper: k}
		r.enough = arrivals(t, k.site)
		all = append(all, r)
	}
	send := func(r *result) {
		awaitBusy(t, r.site)
		r.gang = submit(t, "fsub", "--exclusive", "-N3", "-t10", "-o", "/dev/null", "--fed-sites="+r.site, "--wrap", "true")
	}
	for _, r := range all {
		send(r)
	}
	client := world.Daemon.Client()
	defer client.Close()
	started := func(r *result, within time.Duration) (after time.Duration, ok bool) {
		t.Helper()
		for deadline := time.Now().Add(within); ; time.Sleep(500 * time.Millisecond) {
			j, err := client.Job(t.Context(), r.gang)
			if err != nil {
				t.Fatal(err)
			}
			if !j.Job.Start.IsZero() {
				return j.Job.Start.Sub(j.Job.Submit), true
			}
			if time.Now().After(deadline) {
				return 0, false
			}
		}
	}
	for _, r := range all {
		if !r.holds {
			continue
		}
		after, ok := started(r, patience)
		events := history(t, r.gang)
		for again := 0; again < 3 && ok && events == "[]"; again++ { // it had not to wait: the local jobs were too slow to take what was idle
			t.Logf("%s: it had its nodes after %.1f s, and nothing was to be held", r.site, after.Seconds())
			send(r)
			after, ok = started(r, patience)
			events = history(t, r.gang)
		}
		if !ok || !strings.Contains(events, r.site+" holds its place: reservation fsub_") {
			queue, _ := world.Bed.Output(context.Background(), r.site, "", "squeue", "-o", "%i %u %t %r %v %S")
			resvs, _ := world.Bed.Output(context.Background(), r.site, "", "scontrol", "show", "reservation", "-o")
			t.Fatalf("%s: history %s\nqueue there: %s\n%s\nthe gang's place was not held, or it has not started within %v", r.site, events, queue, resvs, patience)
		}
		t.Logf("%s: a gang of 3 of 4 nodes starts after %.1f s while local jobs come", r.site, after.Seconds())
		for deadline := time.Now().Add(patience); ; time.Sleep(500 * time.Millisecond) {
			left, err := world.Bed.Output(t.Context(), r.site, "", "scontrol", "show", "reservation", "-o")
			if err == nil && !strings.Contains(left, "fsub_") {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: %v: the gang's reservation is left: %s", r.site, err, left)
			}
		}
	}
	for _, r := range all {
		if r.holds {
			continue
		}
		after, ok := started(r, 2*time.Minute)
		if ok {
			t.Errorf("%s: without a promise the gang starts after %.1f s while local jobs come: %s", r.site, after.Seconds(), history(t, r.gang))
		}
		r.enough()
		if after, ok = started(r, patience); !ok {
			t.Fatalf("%s: the gang has not started within %v of the last local job: %s", r.site, patience, history(t, r.gang))
		}
		t.Logf("%s: without a promise it starts after %.1f s, when local jobs have ceased to come", r.site, after.Seconds())
	}
}

func history(t *testing.T, id federation.JobID) string {
	t.Helper()
	client := world.Daemon.Client()
	defer client.Close()
	j, err := client.Job(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(j.Events)
}

// arrivals has bob ask for a node of his own whenever one is idle, until the returned function is called or the test ends: he gets it at once, or gives up (salloc --immediate). His jobs say five
// minutes and take half a minute at most.
func arrivals(t *testing.T, site string) (enough func()) {
	t.Helper()
	end := filepath.Join(world.Bed.Home("bob"), "enough-at-"+site)
	script := fmt.Sprintf(`cd; while [ ! -e %s ]; do
	idle=$(sinfo -h -p main -t idle -o %%D)
	[ "${idle:-0}" -gt 0 ] && salloc -Q -I --exclusive -N1 -t5 sleep $(shuf -n1 -i15-30) &
	sleep 0.5
done
wait`, end)
	cmd, err := world.Bed.Start(t.Context(), bed.Cmd{Site: site, User: "bob", Args: []string{"bash", "-c", script}, Stdout: io.Discard, Stderr: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	enough = func() {
		if err := os.WriteFile(end, nil, 0o644); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() {
		enough()
		cmd.Wait()
		if _, err := world.Bed.Output(context.Background(), site, "bob", "scancel", "-u", "bob"); err != nil {
			t.Error(err)
		}
	})
	return enough
}

// awaitBusy waits until bob's jobs hold all nodes.
func awaitBusy(t *testing.T, site string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		rows, err := world.Bed.Output(t.Context(), site, "bob", "squeue", "-h", "-u", "bob", "-t", "R", "-o", "%i")
		if err == nil && strings.Count(rows, "\n") >= 4 && !strings.Contains(idle(t), site) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the local jobs do not hold all nodes: %v %s", err, rows)
		}
	}
}

// idle are the nodes that the daemon takes for idle: it may have looked before the local jobs began.
func idle(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	if err := world.Bed.Exec(t.Context(), bed.Cmd{Site: bed.Login, User: "alice", Args: []string{"sinfo", "-h", "-N", "-t", "idle", "-o", "%N"}, Stdout: &out, Stderr: &out,
		Env: []string{"PATH=" + world.Bin + ":/usr/bin:/bin", "FSUB_SOCKET=" + world.Daemon.Socket()}}); err != nil {
		t.Fatalf("sinfo: %v: %s", err, out.String())
	}
	return out.String()
}
