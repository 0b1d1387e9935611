package cloud

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fsub/cloud/agentapi"
	"fsub/cloud/layout"
	"fsub/cloud/records"
	"fsub/federation"
	"fsub/federation/demand"
	"fsub/federation/reasons"
)

// maxPayloads is how many bytes of scripts and environments stay in memory until they are needed.
const maxPayloads = 64 << 20

// Submit implements federation.Driver.
func (d *Driver) Submit(ctx context.Context, s federation.Submission) (federation.Receipt, error) {
	if err := d.isLoaded(ctx); err != nil {
		return federation.Receipt{}, err
	}
	if err := d.cfg.mayRun(&s); err != nil {
		return federation.Receipt{}, err
	}
	receipt := federation.Receipt{SiteJobID: uint32(s.Job.Number()), Adopted: true}
	if !s.First {
		if has, err := d.hasAttempt(ctx, &s); has || err != nil {
			return receipt, err
		}
	}
	user, err := d.users.identity(ctx, &s)
	switch {
	case errors.Is(err, federation.ErrDenied):
		return federation.Receipt{}, fmt.Errorf("site %s: %w", d.cfg.Site, err)
	case errors.Is(err, federation.ErrNotFound):
		return federation.Receipt{}, fmt.Errorf("site %s has no user %s: %w", d.cfg.Site, s.User.Name, federation.ErrDenied)
	case err != nil:
		return federation.Receipt{}, fmt.Errorf("look up user %s: %w: %w", s.User.Name, err, federation.ErrNotSent)
	}
	payload, err := json.Marshal(s.Payload)
	if err != nil {
		return federation.Receipt{}, fmt.Errorf("the job's script: %w: %w", err, federation.ErrInvalid)
	}
	batch, adopted, err := d.accept(&s, user, payload)
	if err != nil {
		return federation.Receipt{}, err
	}
	receipt.Adopted = adopted
	return receipt, d.rec.Durable(ctx, batch)
}

// mayRun refuses what can be refused by looking at the submission alone.
func (c *Config) mayRun(s *federation.Submission) error {
	spec := s.Job.Spec
	switch {
	case spec.Array != "" && s.Job.Part == nil:
		return &federation.SlurmError{Kind: federation.ErrInvalid, Number: 2081, Text: "Invalid job array specification", Detail: "a rented pool takes each task as a separate job"}
	case spec.Nice < 0 && s.User.UID != 0:
		return &federation.SlurmError{Kind: federation.ErrInvalid, Number: 2002, Text: "Access/permission denied", Detail: "only root may ask for a negative nice value"}
	case c.OnlyUser != "" && s.User.Name != c.OnlyUser:
		return fmt.Errorf("site %s runs jobs of user %s only: %w", c.Site, c.OnlyUser, federation.ErrDenied)
	}
	if users, ok := c.Accounts[spec.Account]; c.Accounts != nil && (!ok || !slices.Contains(users, s.User.Name)) {
		return &federation.SlurmError{Kind: federation.ErrDenied, Number: 2045, Text: "Invalid account or account/partition combination specified"}
	}
	return nil
}

// hasAttempt reports whether the site has taken the very attempt before, perhaps so long ago that only the records know it.
func (d *Driver) hasAttempt(ctx context.Context, s *federation.Submission) (bool, error) {
	d.mu.Lock()
	j := d.jobs.byID[s.Job.ID]
	d.mu.Unlock()
	if j != nil && j.Key == s.Key {
		return false, nil // accept sees it too, and waits until it is durable
	}
	stored, err := d.cfg.Store.PoolRecords(ctx, d.cfg.Site, records.PoolJob, s.Job.ID)
	if err != nil {
		return false, fmt.Errorf("look for job %d: %w: %w", s.Job.ID, err, federation.ErrNotSent)
	}
	return slices.ContainsFunc(stored, func(r records.PoolRecord) bool { return r.ID == s.Key }), nil
}

// accept takes a job in, and returns the batch that makes it durable.
func (d *Driver) accept(s *federation.Submission, user agentapi.User, payload []byte) (*records.Batch, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if old := d.jobs.byID[s.Job.ID]; old != nil {
		switch {
		case old.Key == s.Key:
			return d.rec.Flush(), true, nil
		case old.End.IsZero():
			return nil, false, fmt.Errorf("job %d is there already, as %s: %w", s.Job.ID, old.Key, federation.ErrConflict)
		}
		d.jobs.forget(old)
	}
	now := d.now()
	j := &job{payload: payload}
	j.jobRecord = jobRecord{Job: *s.Job, Key: s.Key, Partition: s.Partition, User: user, Base: s.Restarts, Accepted: now, State: federation.Pending,
		Reason: reasons.None}
	j.claim(s)
	if !d.pools.known {
		return nil, false, fmt.Errorf("what can be rented is not known yet: %w", d.offers.unknown())
	}
	if err := d.pools.canEverRun(d.cfg.Site, j); err != nil {
		return nil, false, err
	}
	d.jobs.take(j)
	d.queue.enqueue(j)
	d.scheduler.schedule()
	return d.rec.Flush(), false, nil
}

// canEverRun fails with ErrCapacity if no machines of the pool would do, however many there were, and with ErrInvalid if no Slurm takes such GPUs.
func (ps *pools) canEverRun(site federation.SiteName, j *job) error {
	for i, w := range j.Wants {
		p := ps.named(w.Partition)
		if p == nil {
			return fmt.Errorf("site %s has no partition %s: %w", site, w.Partition, federation.ErrCapacity)
		}
		why := fmt.Errorf("nothing is offered")
		can := slices.ContainsFunc(p.groups, func(ng *nodeGroup) bool {
			if w.Offering != "" && ng.offering.ID != w.Offering {
				return false
			}
			need, _, err := demand.Need(j.needs(i), ng.shape(), p.options())
			if err == nil && need > p.Max {
				err = fmt.Errorf("it needs %d machines, and the pool may have %d", need, p.Max)
			}
			if err != nil {
				why = err
			}
			return err == nil
		})
		if refused, ok := errors.AsType[*demand.Refused](why); ok && !can { // nor would a Slurm cluster take it
			said, _, _ := strings.Cut(refused.Text, "\n")
			return &federation.SlurmError{Kind: federation.ErrInvalid, Number: 2072, Text: layout.NoGPUs.String(), Detail: said}
		}
		if !can {
			return &federation.SlurmError{Kind: federation.ErrCapacity, Number: 2014, Text: "Requested node configuration is not available",
				Detail: fmt.Sprintf("partition %s: %v", w.Partition, why)}
		}
	}
	return nil
}
