package staging

import (
	"context"
	"errors"
	"time"

	"fsub/federation"
)

// Sweep removes the objects of jobs that ended before, or that are not known any more, and returns how many it removed. Objects
// younger than before stay whatever their job is: it may just be coming into being.
func (s *Stager) Sweep(ctx context.Context, before time.Time, job func(context.Context, federation.JobID) (federation.Job, error)) (int, error) {
	verdicts := map[federation.JobID]bool{}
	over := func(id federation.JobID) (bool, error) {
		if v, ok := verdicts[id]; ok {
			return v, nil
		}
		j, err := job(ctx, id)
		if err != nil && !errors.Is(err, federation.ErrNotFound) {
			return false, err
		}
		v := err != nil || j.State.Ended() && j.End.Before(before)
		verdicts[id] = v
		return v, nil
	}
	var keys []string
	err := s.cfg.Objects.List(ctx, s.cfg.Federation+"/", func(key string, at time.Time) error {
		id := jobOf(s.cfg.Federation, key)
		if id == 0 || !at.Before(before) {
			return nil
		}
		gone, err := over(id)
		if err == nil && gone {
			keys = append(keys, key)
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	for n, key := range keys {
		if err := s.cfg.Objects.Delete(ctx, key); err != nil && !notThere(err) {
			return n, err
		}
	}
	return len(keys), nil
}
