package staging

import (
	"context"
	"errors"
	"io"
	"path"
	"time"

	"fsub/federation"
)

// linkedFor is how long the links of an array's task do for its other tasks, and maxLinked of how many arrays that is known.
const (
	linkedFor = time.Minute
	maxLinked = 1000
)

// Link implements federation.Stager.
func (s *Stager) Link(ctx context.Context, sub federation.Submission, sees func(string) bool) error {
	spec := sub.Job.Spec
	plan, err := NewPlan(spec.Fed)
	if err != nil {
		return s.tell(ctx, &sub, err)
	}
	if err := s.bringBack(ctx, &sub, plan); err != nil {
		return s.tell(ctx, &sub, err)
	}
	var links, copies []Item
	for _, it := range plan.In {
		from := it.From
		if !path.IsAbs(from) {
			from = path.Join(spec.WorkDir, from)
		}
		switch {
		case it.To == "": // it is there
		case sees(from):
			links = append(links, it)
		default:
			copies = append(copies, it)
		}
	}
	if len(links)+len(copies) == 0 || s.linkedBefore(sub.Job) {
		return nil
	}
	free, err := s.slots.Take(ctx, sub.Job.UID)
	if err != nil {
		return err
	}
	defer free()
	u := userOf(sub.Job, sub.Payload.Environment)
	if len(links) > 0 {
		err = s.cfg.Files.Link(ctx, u, spec.WorkDir, links)
	}
	if err == nil && len(copies) > 0 {
		err = s.copy(ctx, u, spec.WorkDir, copies)
	}
	return s.tell(ctx, &sub, err)
}

// copy copies files into dir.
func (s *Stager) copy(ctx context.Context, u User, dir string, items []Item) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, w := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := s.cfg.Files.Pack(ctx, u, dir, items, s.cfg.Max, w)
		packed <- err
		w.CloseWithError(err)
	}()
	_, err := s.cfg.Files.Unpack(ctx, u, dir, Item{From: ".", To: "."}, s.cfg.Max, r)
	r.CloseWithError(errors.New("no more is written"))
	if packErr := <-packed; packErr != nil {
		return packErr
	}
	return err
}

// linkedBefore reports whether another task of the job's array had its links made a moment ago.
func (s *Stager) linkedBefore(j *federation.Job) bool {
	if j.Part == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if now.Sub(s.linked[j.Part.Array]) < linkedFor {
		return true
	}
	if len(s.linked) >= maxLinked || s.linked == nil {
		s.linked = map[federation.JobID]time.Time{}
	}
	s.linked[j.Part.Array] = now
	return false
}
