package pools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"fsub/federation"
	"fsub/sbatch"
)

var lastID atomic.Uint32

func nextID() federation.JobID { return federation.FirstJobID + federation.JobID(lastID.Add(1)) }

// submission is a job of the world's user.
func (w *world) submission(script string, change func(*federation.Submission)) federation.Submission {
	j := &federation.Job{ID: nextID(), User: w.who.user.Name, UID: w.who.user.UID, GID: w.who.user.GID, Submit: time.Now().UTC().Truncate(time.Microsecond)}
	j.Spec = &sbatch.Spec{Name: "pools", Account: "physics", TimeLimit: 10 * time.Minute, WorkDir: w.home, Output: "slurm-%j.out"}
	sub := federation.Submission{Job: j, Partition: "main", User: w.who.user, Key: federation.AttemptKey("pools", j, 1),
		Payload: sbatch.Payload{Script: "#!/bin/bash\n" + script + "\n", Environment: []string{"PATH=/usr/bin:/bin"}}}
	if change != nil {
		change(&sub)
	}
	return sub
}

func (w *world) submit(sub federation.Submission) federation.JobRef {
	w.t.Helper()
	eventually(w.t, "submit", func() string {
		_, err := w.Submit(context.Background(), sub)
		if errors.Is(err, federation.ErrUnavailable) {
			return err.Error()
		}
		if err != nil {
			w.t.Fatalf("submit: %v", err)
		}
		return ""
	})
	return federation.JobRef{ID: sub.Job.ID, Key: sub.Key, Submitted: sub.Job.Submit}
}

func (w *world) run(script string, change func(*federation.Submission)) federation.JobRef {
	w.t.Helper()
	return w.submit(w.submission(script, change))
}

func (w *world) until(ref federation.JobRef, state federation.State) federation.SiteJob {
	w.t.Helper()
	var j federation.SiteJob
	eventually(w.t, fmt.Sprintf("job %d is %s", ref.ID, state), func() string {
		var err error
		if j, err = w.Lookup(context.Background(), ref); err != nil {
			return err.Error()
		}
		if j.State == state {
			return ""
		}
		return fmt.Sprintf("%+v", j)
	})
	return j
}

// put makes an empty file where jobs see it.
func (w *world) put(name string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.home, name), nil, 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// file is what a job has written, once it is there.
func (w *world) file(name string) string {
	w.t.Helper()
	var text []byte
	eventually(w.t, "file "+name, func() (last string) {
		var err error
		if text, err = os.ReadFile(filepath.Join(w.home, name)); err != nil {
			return err.Error()
		}
		if len(text) == 0 {
			return "empty"
		}
		return ""
	})
	return strings.TrimSpace(string(text))
}
