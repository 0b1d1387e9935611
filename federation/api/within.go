package api

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
)

// HeaderJob names the job that a caller runs in: its number, and after a comma that of its array.
const HeaderJob = "X-Fsub-Job"

// withinWait is how long a caller waits at most until the daemon knows that the caller's job runs.
const withinWait = 15 * time.Second

// fromWithin lets a call from inside a job wait until the daemon has seen that job start. It looks at the sites now and then only,
// and a job that asks after itself in its first moments would read that it waits. Only the job's owner can have its site looked at.
func (s *Server) fromWithin(r *http.Request, c Caller) {
	ref := r.Header.Get(HeaderJob)
	if ref == "" {
		return
	}
	deadline := time.Now().Add(withinWait)
	var look time.Time
	for ; time.Now().Before(deadline) && r.Context().Err() == nil; time.Sleep(10 * time.Millisecond) {
		job, ok := s.within(r, ref)
		if !ok || !c.owns(job.UID) || job.State != federation.Pending && job.State != federation.Configuring || !s.answers(job.Site) {
			return
		}
		if time.Since(look) > 200*time.Millisecond {
			look = time.Now()
			s.cfg.Controller.LookAt(job.Site)
		}
	}
}

// answers reports whether a site can be looked at just now.
func (s *Server) answers(name federation.SiteName) bool {
	sites := s.cfg.Controller.Sites()
	i := slices.IndexFunc(sites, func(site *federation.Site) bool { return site.Name == name })
	return i >= 0 && sites[i].Answering
}

// within finds the job of a HeaderJob: by its own number, else by its array's.
func (s *Server) within(r *http.Request, ref string) (job federation.Job, ok bool) {
	for text := range strings.SplitSeq(ref, ",") {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			continue
		}
		if job, err = s.cfg.Store.Job(r.Context(), federation.JobID(n)); err == nil {
			return job, true
		}
	}
	return job, false
}
