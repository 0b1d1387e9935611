package cloud

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/demand"
	"fsub/sbatch"
)

// noted are the fields of a Spec that are only written down. timed is the other one that can change at any time.
var noted = []string{"Name", "Comment", "MailType", "MailUser", "Requeue", "Nice", "SubmitLine", "Clusters", "TimeMin"}

const timed = "TimeLimit"

// Update implements driver.Updater. A job of which more is changed than its time limit and what is only written down must be withdrawn and submitted again while it waits; once it
// runs it cannot be. A longer time limit must be paid for by the pool's budget, as at the start. Nothing else of before counts: the job may have come here in another form, as one that is staged.
func (d *Driver) Update(ctx context.Context, ref federation.JobRef, _ string, before, after *federation.Job) error {
	return d.act(ctx, ref, func(j *job, over bool) error {
		if j == nil || over {
			return notHere(ref)
		}
		fields := differing(before.Spec, after.Spec)
		if err := d.mayChange(j, fields, before, after); err != nil {
			return err
		}
		if err := d.mayPay(j, after.Spec.TimeLimit); err != nil {
			return err
		}
		j.Job.EditSpec(func(spec *sbatch.Spec) {
			was, now := reflect.ValueOf(spec).Elem(), reflect.ValueOf(after.Spec).Elem()
			for _, name := range fields {
				was.FieldByName(name).Set(now.FieldByName(name))
			}
		})
		j.Job.Demand = demand.Of(j.Job.Spec)
		d.put(j)
		if j.subqueue != nil && slices.Contains(fields, timed) {
			d.queue.try(j.subqueue) // budgets may bear it now
		}
		if r := j.run; r != nil && slices.Contains(fields, timed) {
			limit := j.limit(r.machines[0].pool)
			d.after(func() { r.limit = limit })
			d.runs.bumpAfter(r)
		}
		return nil
	})
}

// mayChange refuses what cannot be changed of a job here.
func (d *Driver) mayChange(j *job, fields []string, before, after *federation.Job) error {
	other := slices.DeleteFunc(slices.Clone(fields), func(name string) bool { return name == timed || slices.Contains(noted, name) })
	if before.Partition != after.Partition {
		other = append(other, "Partition")
	}
	switch p := d.pools.named(j.Partition); {
	case len(other) > 0 && j.State == federation.Pending:
		return fmt.Errorf("job %d: %s: it has to be submitted again for that: %w", j.id(), strings.Join(other, ", "), federation.ErrInvalid)
	case len(other) > 0:
		return fmt.Errorf("job %d has started, and %s cannot be changed any more: %w", j.id(), strings.Join(other, ", "), federation.ErrConflict)
	case p != nil && p.MaxTime > 0 && slices.Contains(fields, timed) && after.Spec.TimeLimit > p.MaxTime:
		return &federation.SlurmError{Kind: federation.ErrInvalid, Number: 2051, Text: "Requested time limit is invalid (missing or exceeds some limit)"}
	case slices.Contains(fields, timed) && after.Spec.TimeLimit > before.Spec.TimeLimit && j.run != nil:
		if until := j.run.until(); !until.IsZero() && d.now().Add(after.Spec.TimeLimit-j.elapsed(d.now())).After(until) {
			return fmt.Errorf("job %d: the cloud takes its machines back at %s, before the new time limit would end: %w", j.id(), until.UTC().Format(time.RFC3339), federation.ErrConflict)
		}
	}
	return nil
}

// differing are the names of the fields in which two Specs differ.
func differing(a, b *sbatch.Spec) (names []string) {
	x, y := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for i := range x.NumField() {
		if !reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			names = append(names, x.Type().Field(i).Name)
		}
	}
	return names
}
