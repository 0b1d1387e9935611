package golden

import (
	"errors"
	"os"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api"
	"fsub/federation/journal"
	"fsub/federation/reasons"
	"fsub/sbatch"
	"fsub/testbed/apitest"
)

// recordedUID is alice's at the recorded site.
const recordedUID = 7001

// world is the recorded site and its jobs, rebuilt under a real API: a federation named chk with one site of that name. Lines
// are run in it as alice: under her recorded uid where the test may change its own.
type world struct {
	daemon   *apitest.Daemon
	home     string // in which lines run
	uid      uint32
	began    time.Time // when the jobs were submitted
	location *time.Location
	host     string
}

// jobSet are the jobs of a world by their recorded IDs.
type jobSet map[federation.JobID]*federation.Job

// phase is a stretch of the recording during which the jobs did not change by themselves or by a line before.
type phase struct {
	from   int // index of its first line
	change func(jobs jobSet, began time.Time)
}

var phases = []phase{
	{0, func(jobSet, time.Time) {}},
	{73, cancelSecond},
	{87, releaseThird},
	{99, endThird},
}

// cancelSecond is what "scancel -t PENDING 2" had done.
func cancelSecond(jobs jobSet, began time.Time) {
	j := jobs[2]
	j.State, j.Cancel, j.CancelBy, j.End = federation.Cancelled, true, j.UID, began.Add(103*time.Second)
}

// releaseThird is what "scontrol release 3" had done: the job started.
func releaseThird(jobs jobSet, began time.Time) {
	cancelSecond(jobs, began)
	j := jobs[3]
	j.Held, j.Reason, j.Priority = federation.NotHeld, reasons.None, 33333
	run(j, "chk1", began.Add(104*time.Second))
}

// endThird: it ran for a second.
func endThird(jobs jobSet, began time.Time) {
	releaseThird(jobs, began)
	jobs[3].State, jobs[3].End = federation.Completed, began.Add(105*time.Second)
}

// newWorld makes the world of phase n. It lives until t ends.
func newWorld(t *testing.T, n int) *world {
	w := &world{uid: recordedUID, began: time.Now().Add(-100 * time.Second).Truncate(time.Second), host: hostName()}
	if os.Getuid() != 0 {
		w.uid = uint32(os.Getuid())
	}
	var err error
	if w.location, err = time.LoadLocation(zone); err != nil {
		t.Skip("SKIPPED: this machine knows no time zones: ", err)
	}
	if w.home, err = os.MkdirTemp("", "alice"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(w.home) })
	os.Chown(w.home, int(w.uid), int(w.uid))
	w.daemon = apitest.Start(t, api.Config{Federation: "chk", Users: people{w.uid}})
	w.daemon.Controller.SetSites(describe(chk(), w.began))
	w.put(t, phases[n])
	w.putUsage(t)
	return w
}

// put stores the jobs as they were in a phase.
func (w *world) put(t *testing.T, p phase) {
	jobs, tasks := w.jobs()
	p.change(jobs, w.began)
	b := &journal.Batch{Tasks: tasks}
	for id := federation.JobID(1); id <= 12; id++ {
		switch j := jobs[id]; {
		case j == nil:
		case j.Component != nil: // it came with its leader
			b.Jobs = append(b.Jobs, j)
		default:
			if err := w.daemon.Store.CreateJob(t.Context(), j, payload(id)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.daemon.Store.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

// payload is the script of a job, where a line shows it.
func payload(id federation.JobID) *sbatch.Payload {
	script := map[federation.JobID]string{
		1: "#!/bin/bash\n#SBATCH --job-name=runjob --time=30 -n1 --mem=100M --comment=\"my comment\"\n#SBATCH -o /tmp/alice/%x-%j.out\nsrun -n1 true\nsleep 900\n",
		4: "#!/bin/sh\n# This script was created by sbatch --wrap.\n\nsrun true; echo hi",
	}[id]
	return &sbatch.Payload{Script: script}
}

// people are the users of the recorded machine.
type people struct{ alice uint32 }

func (p people) UserName(uid uint32) (string, error) {
	switch uid {
	case p.alice:
		return "alice", nil
	case 0:
		return "root", nil
	case 7002:
		return "bob", nil
	}
	return "", errors.New("no such user")
}

func (p people) UserIDs(name string) (uid, gid uint32, err error) {
	for _, id := range []uint32{p.alice, 0, 7002} {
		if n, _ := p.UserName(id); n == name {
			return id, id, nil
		}
	}
	return 0, 0, errors.New("no such user")
}

func (p people) GroupName(gid uint32) (string, error) { return p.UserName(gid) }
