package answer

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"fsub/federation"
	"fsub/federation/api/identity"
	"fsub/federation/share"
)

// HeaderJob names the job that a caller runs in: its number, and after a comma that of its array.
const HeaderJob = "X-Fsub-Job"

// withinWait is how long a caller waits at most until the daemon knows that the caller's job runs; againWait where the job was queued again before: the caller may be what is left of
// the run that has ended, a trap that has moments to live, and wait in vain.
const (
	withinWait = 15 * time.Second
	againWait  = 2 * time.Second
)

// maxWithin is how many calls of one user wait at a time. More are answered at once.
const maxWithin = 8

// Within lets calls from inside jobs wait for the daemon to know of these jobs.
type Within struct {
	Store      jobKeys
	Controller looker
	waits      waits
}

// jobKeys is what Within reads of the store.
type jobKeys interface {
	Job(ctx context.Context, id federation.JobID) (federation.Job, error)
	Jobs(ctx context.Context, q federation.JobQuery) ([]federation.Job, error)
	KeyOf(ctx context.Context, id federation.JobID) (string, error)
}

// looker is what within asks of the controller: see Controller.
type looker interface {
	Sites() []*federation.Site
	LookAt(site federation.SiteName)
}

// waits counts the calls that wait, by user.
type waits struct {
	mu sync.Mutex
	n  map[uint32]int
}

// enter reports whether one more call of uid may wait: leave is to be called after that.
func (w *waits) enter(uid uint32) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.n[uid] >= maxWithin {
		return false
	}
	if w.n == nil {
		w.n = map[uint32]int{}
	}
	w.n[uid]++
	return true
}

func (w *waits) leave(uid uint32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.n[uid]--; w.n[uid] == 0 {
		delete(w.n, uid)
	}
}

// wait lets a call from inside a job wait until the daemon has seen that job start. It looks at the sites now and then only,
// and a job that asks after itself in its first moments would read that it waits. Only the job's owner can have its site looked at.
func (s *Within) wait(r *http.Request, c identity.Caller) {
	ref := r.Header.Get(HeaderJob)
	if ref == "" {
		return
	}
	began, waits := time.Now(), false
	id, ok := s.find(r, ref)
	if !ok {
		return
	}
	var look time.Time
	for ; r.Context().Err() == nil; rest(r.Context()) {
		job, err := s.Store.Job(r.Context(), id)
		if err != nil || !c.Owns(job.UID) || !s.mayStart(&job) || time.Since(began) >= patience(&job) {
			return
		}
		if !waits {
			if waits = s.waits.enter(c.UID); !waits {
				return
			}
			defer s.waits.leave(c.UID)
		}
		if time.Since(look) > 200*time.Millisecond {
			look = time.Now()
			s.Controller.LookAt(job.Site)
		}
	}
}

// rest is the time between two looks.
func rest(ctx context.Context) {
	defer share.Idle(ctx)()
	time.Sleep(10 * time.Millisecond)
}

// mayStart reports whether a job may have started where it is, without the daemon having seen it.
func (s *Within) mayStart(job *federation.Job) bool {
	return (job.State == federation.Pending || job.State == federation.Configuring) && s.answers(job.Site)
}

func patience(job *federation.Job) time.Duration {
	if job.Restarts > 0 {
		return againWait
	}
	return withinWait
}

// answers reports whether a site can be looked at just now.
func (s *Within) answers(name federation.SiteName) bool {
	sites := s.Controller.Sites()
	i := slices.IndexFunc(sites, func(site *federation.Site) bool { return site.Name == name })
	return i >= 0 && sites[i].Answering
}

// find returns the ID of the job of a HeaderJob: by its own number, else by its array's. An array's number is its last task's as well
// ([federation.Job.Number]), and only a task runs.
func (s *Within) find(r *http.Request, ref string) (federation.JobID, bool) {
	for _, text := range strings.SplitN(ref, ",", 3)[:min(2, 1+strings.Count(ref, ","))] {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			continue
		}
		number := federation.JobID(n)
		job, err := s.Store.Job(r.Context(), number)
		if err != nil {
			continue
		}
		if job.Whole != nil {
			tasks, _ := s.Store.Jobs(r.Context(), federation.JobQuery{IDs: []federation.JobID{number}, Live: true})
			for i := range tasks {
				if t := &tasks[i]; t.ID != number && t.Number() == number {
					return t.ID, true
				}
			}
		}
		return number, true
	}
	return 0, false
}
