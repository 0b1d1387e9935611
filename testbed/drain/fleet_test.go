package drain

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/federation"
	"fsub/slurm/hostlist"
	"fsub/testbed/bed"
)

// operators of the federation, none of whom is anything special at a site. bob is a user like others.
var operators = []string{"alice", "carol", "dave"}

// command runs one of our programs as a user, and returns what it wrote.
func command(user string, args ...string) (string, error) {
	var out bytes.Buffer
	err := world.Bed.Exec(context.Background(), bed.Cmd{Site: bed.Login, User: user, Args: args, Stdout: &out, Stderr: &out,
		Env: []string{"PATH=" + world.Bin + ":/usr/bin:/bin", "FSUB_SOCKET=" + world.Daemon.Socket()}})
	return out.String(), err
}

// storyOfAll is a test over all sites.
func storyOfAll(t *testing.T) *story {
	world.Need(t)
	s := &story{T: t, client: world.Daemon.Client()}
	t.Cleanup(s.client.Close)
	return s
}

// TestTenOperators: of ten orders at the same time about the same nodes the last one counts, at every site, and all are in the history.
func TestTenOperators(t *testing.T) {
	s := storyOfAll(t)
	var list []string
	for _, site := range sites {
		list = append(list, fmt.Sprintf("%s/%s[1-%d]", site, site, nodes))
	}
	var wg sync.WaitGroup
	for i := range 10 {
		args := []string{"fed", "node", "drain", strings.Join(list, ","), "--ticket", "OP-" + strconv.Itoa(i), "--reason", "together"}
		if i%3 == 1 {
			args = []string{"fed", "node", "resume", strings.Join(list, ","), "--ticket", "OP-" + strconv.Itoa(i)}
		}
		wg.Go(func() {
			if out, err := command(operators[i%len(operators)], args...); err != nil {
				t.Errorf("%v: %v: %s", args, err, out)
			}
		})
	}
	wg.Wait()
	var last *federation.NodeRecord
	for _, site := range sites {
		one := &story{T: t, site: site, client: s.client}
		for i := range nodes {
			n := one.seen(i + 1)
			if n.Wanted == nil {
				t.Fatalf("nothing is wanted of %s", n.Name)
			}
			r := &federation.NodeRecord{Wish: n.Wanted.State, Owner: n.Wanted.Owner, Ticket: n.Wanted.Ticket, Reason: n.Wanted.Reason}
			if last == nil {
				last = r
			}
			// Of two orders to resume the second finds nothing to do where the site has not yet obeyed the drain before.
			if *r != *last && (r.Wish != last.Wish || r.Wish == federation.WishDrain) {
				t.Errorf("%s: %+v is wanted, and of the others %+v", n.Name, r, last)
			}
			drains := 0
			for _, h := range n.History {
				if h.Wanted && h.To == string(federation.WishDrain) && strings.HasSuffix(h.Why, "together") {
					drains++
				}
			}
			if drains != 7 {
				t.Errorf("%s: %d of 7 drains are in its history", n.Name, drains)
			}
			text := ""
			if r.Wish == federation.WishDrain {
				text = r.Text(mark)
			}
			one.wants(i+1, text)
		}
		one.stays(nodes, map[bool]string{true: last.Text(mark)}[last.Wish == federation.WishDrain])
	}
	if out, err := command("alice", "fed", "node", "resume", "--where", "reason=together", "--where", "site="+strings.Join(sites, ","), "--wait"); err != nil && last.Wish == federation.WishDrain {
		t.Errorf("%v: %s", err, out)
	}
}

// jobsOn submits a job for a whole node for each of count nodes and returns them once they run. Each run of one writes a line to file. The first run
// lasts for the seconds given.
func (s *story) jobsOn(count int, file string, seconds int) map[federation.JobID]federation.Job {
	s.Helper()
	script := fmt.Sprintf(`id=${FSUB_JOB_ID:-$SLURM_JOB_ID}; grep -qs "^$id " %[1]s; first=$?; echo "$id $SLURMD_NODENAME" >> %[1]s; [ $first = 0 ] || sleep %d`, file, seconds)
	ids := make([]federation.JobID, count)
	var wg sync.WaitGroup
	few := make(chan struct{}, 4)
	for i := range ids {
		wg.Go(func() {
			few <- struct{}{}
			defer func() { <-few }()
			out, err := command("alice", "fsub", "-t30", "-o", "/dev/null", "-c16", "--fed-sites="+strings.Join(sites, ","), "--wrap", script)
			id, bad := strconv.ParseUint(strings.TrimSpace(strings.TrimPrefix(out, "Submitted batch job ")), 10, 32)
			if err != nil || bad != nil {
				s.Errorf("submit: %v: %s", err, out)
			}
			ids[i] = federation.JobID(id)
		})
	}
	wg.Wait()
	if s.Failed() {
		s.FailNow()
	}
	jobs := map[federation.JobID]federation.Job{}
	for _, id := range ids {
		jobs[id] = s.until(id, federation.Running)
	}
	return jobs
}

// runsIn counts the runs that jobs have written to a file, by job, and gives the nodes of each.
func (s *story) runsIn(file string) map[federation.JobID][]string {
	s.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		s.Fatal(err)
	}
	runs := map[federation.JobID][]string{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		id, _ := strconv.ParseUint(words[0], 10, 32)
		runs[federation.JobID(id)] = append(runs[federation.JobID(id)], words[1])
	}
	return runs
}

// fortyNodes are forty nodes over three sites, as fed node names them, and by name.
func fortyNodes(t *testing.T) (lists []string, names []string) {
	for i, count := range []int{14, 13, 13} {
		list := fmt.Sprintf("%s[1-%d]", sites[i], count)
		more, err := hostlist.Expand(list)
		if err != nil {
			t.Fatal(err)
		}
		lists, names = append(lists, sites[i]+"/"+list), append(names, more...)
	}
	return lists, names
}

// TestFortyNodes: a drain of forty nodes over three sites. With --finish nothing new starts there, what runs there ends by itself, and then the
// nodes are DRAINED. With --requeue each job that ran there runs again elsewhere, once, under the same ID.
func TestFortyNodes(t *testing.T) {
	if !full {
		t.Skip("SKIPPED: needs sites of many nodes: FSUB_FULL=1 runs it")
	}
	for _, how := range []string{"--finish", "--requeue"} {
		t.Run(how, func(t *testing.T) {
			s := storyOfAll(t)
			lists, names := fortyNodes(t)
			file := filepath.Join(world.Bed.Home("alice"), "runs"+how)
			seconds := 90
			if how == "--requeue" {
				seconds = 900
			}
			jobs := s.jobsOn(nodes*len(sites), file, seconds)
			began := time.Now()
			out, err := command("carol", append([]string{"fed", "node", "drain", "--reason", "new floor", "--wait", how}, lists...)...)
			t.Logf("fed node drain %s --wait: %.0f s: %s", how, time.Since(began).Seconds(), out)
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			t.Cleanup(func() { command("carol", "fed", "node", "resume", "--wait", lists[0], lists[1], lists[2]) })
			for _, site := range sites {
				one := &story{T: t, site: site, client: s.client}
				seen, err := one.nodesAt()
				if err != nil {
					t.Fatal(err)
				}
				for _, n := range seen {
					drained := slices.Equal(n.State, []string{"IDLE", "DRAIN"})
					if slices.Contains(names, n.Name) != drained {
						t.Errorf("%s is %v %q", n.Name, n.State, n.Reason)
					}
				}
			}
			if how == "--finish" {
				after := s.submitAll("true")
				for id, j := range jobs {
					if now := s.until(id, federation.Completed); now.Restarts != 0 || now.Nodes != j.Nodes {
						t.Errorf("job %d: %d restarts, on %s, was on %s", id, now.Restarts, now.Nodes, j.Nodes)
					}
				}
				if j := s.until(after, federation.Completed); slices.Contains(names, j.Nodes) {
					t.Errorf("job %d has started on %s, which is drained", after, j.Nodes)
				}
				return
			}
			again := 0
			for id, j := range jobs {
				if !slices.Contains(names, j.Nodes) {
					command("alice", "scancel", id.String()) // makes room
					continue
				}
				again++
			}
			for id, j := range jobs {
				if slices.Contains(names, j.Nodes) {
					if now := s.until(id, federation.Completed); now.Restarts != 1 || slices.Contains(names, now.Nodes) {
						t.Errorf("job %d: %d restarts, on %s, was on %s", id, now.Restarts, now.Nodes, j.Nodes)
					}
				}
			}
			runs := s.runsIn(file)
			for id, j := range jobs {
				want := 1
				if slices.Contains(names, j.Nodes) {
					want = 2
				}
				if len(runs[id]) != want {
					t.Errorf("job %d of %s ran on %v, want %d runs", id, j.Nodes, runs[id], want)
				}
			}
			t.Logf("%d jobs ran again, %.0f s after the drain", again, time.Since(began).Seconds())
			if again != len(names) {
				t.Errorf("%d jobs ran on %d nodes", again, len(names))
			}
		})
	}
}

// submitAll runs fsub as alice, for a job at any of the sites.
func (s *story) submitAll(script string) federation.JobID {
	s.Helper()
	out, err := command("alice", "fsub", "-t5", "-o", "/dev/null", "--fed-sites="+strings.Join(sites, ","), "--wrap", script)
	id, bad := strconv.ParseUint(strings.TrimSpace(strings.TrimPrefix(out, "Submitted batch job ")), 10, 32)
	if err != nil || bad != nil {
		s.Fatalf("submit: %v: %s", err, out)
	}
	return federation.JobID(id)
}
