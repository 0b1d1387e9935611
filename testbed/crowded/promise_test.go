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

// keeper is a site, and whether the daemon is to hold the places of gangs there. A gang takes all nodes but one.
type keeper struct {
	site  string
	nodes int
	holds bool
	gang  kind
}

type kind string

const (
	aJob       kind = "a job"
	tasks      kind = "each of two tasks of an array"
	components kind = "two components"
)

func keepers() []keeper {
	if full() {
		return []keeper{{"gamma", 4, true, aJob}, {"gamma", 4, true, tasks}, {"gamma", 4, true, components}, {"beta", 6, true, tasks}, {"beta", 6, true, components}, {"delta", 4, true, tasks},
			{"alpha", 4, false, aJob}}
	}
	return []keeper{{"gamma", 4, true, components}, {"beta", 6, true, tasks}} // 26.05 by slurmrestd, 24.11 by reservation_command
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

// kept is a gang that was sent to a keeper.
type kept struct {
	keeper
	id     federation.JobID
	enough func() // there are no local jobs any more
}

// send submits the gang when local jobs hold all nodes.
func (k *kept) send(t *testing.T) {
	t.Helper()
	awaitBusy(t, &k.keeper)
	args := []string{"fsub", "--exclusive", "-t10", "-o", "/dev/null", "--fed-sites=" + k.site, "--wrap", "true"}
	switch k.gang {
	case aJob:
		args = append(args, fmt.Sprintf("-N%d", k.nodes-1))
	case tasks:
		args = append(args, fmt.Sprintf("-N%d", k.nodes-1), "-a0-1")
	case components:
		args = append(args, fmt.Sprintf("-N%d", k.nodes-2), ":", "--exclusive", "-N1", "-t10")
	}
	k.id = submit(t, args...)
}

// started waits until the gang has started, or the last task has ended.
func (k *kept) started(t *testing.T, within time.Duration) (after time.Duration, ok bool) {
	t.Helper()
	client := world.Daemon.Client()
	defer client.Close()
	for deadline := time.Now().Add(within); ; time.Sleep(500 * time.Millisecond) {
		r, err := client.Job(t.Context(), k.id)
		if err != nil {
			t.Fatal(err)
		}
		switch j := &r.Job; {
		case k.gang == tasks && j.State.Ended():
			return j.End.Sub(j.Submit), j.State == federation.Completed
		case k.gang != tasks && !j.Start.IsZero():
			return j.Start.Sub(j.Submit), true
		case time.Now().After(deadline):
			return 0, false
		}
	}
}

// held reports whether the gang's place was held, and that of the first task.
func (k *kept) held(t *testing.T) (bool, string) {
	events, what := history(t, k.id), "its place"
	if k.gang == tasks {
		what = "the place of task 0"
	}
	return strings.Contains(events, k.site+" holds "+what+": reservation fsub_"), events
}

// Local jobs take each node as it becomes free, and so never have to wait. A gang whose place is held starts at its time all the same, and so does each task of an array; without, it starts when
// they have ceased to come.
func TestPlaceIsHeld(t *testing.T) {
	world.Need(t)
	var all []*kept
	local := map[string]func(){}
	for _, k := range keepers() {
		if local[k.site] == nil {
			local[k.site] = arrivals(t, k.site)
		}
		all = append(all, &kept{keeper: k, enough: local[k.site]})
	}
	for _, k := range all {
		k.send(t)
	}
	for _, k := range all {
		if !k.holds {
			continue
		}
		after, ok := k.started(t, patience)
		is, events := k.held(t)
		for again := 0; again < 3 && ok && events == "[]"; again++ { // it had not to wait: the local jobs were too slow to take what was idle
			t.Logf("%s: it had its nodes after %.1f s, and nothing was to be held", k.site, after.Seconds())
			k.send(t)
			after, ok = k.started(t, patience)
			is, events = k.held(t)
		}
		if !ok || !is {
			queue, _ := world.Bed.Output(context.Background(), k.site, "", "squeue", "-o", "%i %u %t %r %v %S")
			resvs, _ := world.Bed.Output(context.Background(), k.site, "", "scontrol", "show", "reservation", "-o")
			t.Fatalf("%s: history %s\nqueue there: %s\n%s\nthe gang's place was not held, or it has not started within %v", k.site, events, queue, resvs, patience)
		}
		t.Logf("%s: a gang of %d of %d nodes, %s, has started after %.1f s while local jobs come", k.site, k.nodes-1, k.nodes, k.gang, after.Seconds())
		for deadline := time.Now().Add(patience); ; time.Sleep(500 * time.Millisecond) {
			left, err := world.Bed.Output(t.Context(), k.site, "", "scontrol", "show", "reservation", "-o")
			if err == nil && !strings.Contains(left, "_"+k.id.String()) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: %v: the gang's reservation is left: %s", k.site, err, left)
			}
		}
	}
	for _, k := range all {
		if k.holds {
			continue
		}
		after, ok := k.started(t, 2*time.Minute)
		if ok {
			t.Errorf("%s: without a promise the gang starts after %.1f s while local jobs come: %s", k.site, after.Seconds(), history(t, k.id))
		}
		k.enough()
		if after, ok = k.started(t, patience); !ok {
			t.Fatalf("%s: the gang has not started within %v of the last local job: %s", k.site, patience, history(t, k.id))
		}
		t.Logf("%s: without a promise it starts after %.1f s, when local jobs have ceased to come", k.site, after.Seconds())
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
func awaitBusy(t *testing.T, k *keeper) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		rows, err := world.Bed.Output(t.Context(), k.site, "bob", "squeue", "-h", "-u", "bob", "-t", "R", "-o", "%i")
		if err == nil && strings.Count(rows, "\n") >= k.nodes && !strings.Contains(idle(t), k.site) {
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
