package staging

import (
	"context"
	"errors"
	"fmt"
	"io"

	"fsub/accounting/egress"
	"fsub/federation"
)

// Collect implements federation.Stager.
func (s *Stager) Collect(ctx context.Context, j *federation.Job, a *federation.Attempt, ended federation.SiteJob) ([]string, int64, error) {
	plan, err := NewPlan(j.Spec.Fed)
	if err != nil {
		return nil, 0, err
	}
	tasks, err := tasksOf(j.Spec.Array)
	if err != nil {
		return nil, 0, err
	}
	env, err := s.environment(ctx, j)
	if err != nil {
		return nil, 0, err
	}
	free, err := s.slots.Take(ctx, j.UID)
	if err != nil {
		return nil, 0, err
	}
	defer free()
	started := map[int]*federation.Task{}
	for _, t := range ended.Tasks {
		if !t.Start.IsZero() {
			started[t.Index] = &federation.Task{Job: j.ID, Index: t.Index, SiteJobID: t.SiteJobID, Nodes: t.Nodes}
		}
	}
	c := collector{Stager: s, job: j, attempt: a, plan: plan, user: userOf(j, env), prefix: prefixOf(a.Key)}
	c.files, c.missing = make([]int, len(plan.Out)), make([]int, len(plan.Out))
	var lasting error
	for _, t := range tasks {
		record := started[t]
		if t != noTask && record == nil {
			continue
		}
		err := c.task(ctx, t, record)
		if err != nil && !errors.Is(err, federation.ErrInvalid) && !errors.Is(err, federation.ErrDenied) {
			return c.notes, c.bytes, err
		}
		lasting = errors.Join(lasting, err)
	}
	c.sum()
	if c.lost {
		if err := s.loseCopies(ctx, c.prefix); err != nil {
			return c.notes, c.bytes, err
		}
		lasting = errors.Join(lasting, egress.ErrDamaged)
	}
	return c.notes, c.bytes, lasting
}

// environment reads what a job was submitted with; of a part of an array that is the whole array's.
func (s *Stager) environment(ctx context.Context, j *federation.Job) ([]string, error) {
	id := j.ID
	if j.Part != nil {
		id = j.Part.Array
	}
	p, err := s.cfg.Payload(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read the environment of job %d: %w", id, err)
	}
	return p.Environment, nil
}

// collector brings the results of one attempt home.
type collector struct {
	*Stager
	job     *federation.Job
	attempt *federation.Attempt
	plan    Plan
	user    User
	prefix  string
	notes   []string
	// By directive: files brought home, and tasks of which nothing came.
	files, missing []int
	bytes          int64 // that were sent
	lost           bool  // a task was not started since no copy of what it keeps is whole
}

// sum adds what came of each directive to the notes.
func (c *collector) sum() {
	for i, it := range c.plan.Out {
		if c.files[i] > 0 {
			c.note("stage-out: %d files of %s", c.files[i], it.From)
		}
		if c.missing[i] > 0 {
			c.note("stage-out: nothing came back of %s (%d times)", it.From, c.missing[i])
		}
	}
}

// maxNotes bounds what one job adds to its history.
const maxNotes = 20

func (c *collector) note(format string, args ...any) {
	if len(c.notes) < maxNotes {
		c.notes = append(c.notes, fmt.Sprintf(format, args...))
	}
}

// task brings one task's results home, once: what is home is marked so.
func (c *collector) task(ctx context.Context, task int, record *federation.Task) error {
	st, err := c.state(ctx, c.prefix, task)
	if notThere(err) {
		st, err = state{}, nil
		c.note("%s sent nothing back: no node could fetch the job's files, or it ended before it had", c.attempt.Site)
	}
	if err != nil {
		return err
	}
	if c.lost = c.lost || st.Lost; st.Older {
		c.note("keep: the newest copy was damaged: it began with the one before")
	}
	if err := c.count(ctx, task, st); err != nil {
		return err
	}
	mark, run := c.prefix+taskName(task)+"/home", fmt.Sprintf("run %d\n", st.Run) // a site may run it once more
	if done, err := c.read(ctx, mark); done == run || err != nil && !notThere(err) {
		return err
	}
	err = c.output(ctx, task, record, st)
	for i, it := range c.plan.Out {
		if transient(err) {
			return err
		}
		err = errors.Join(err, c.unpack(ctx, task, i, it))
	}
	if transient(err) {
		return err
	}
	return errors.Join(err, c.cfg.Objects.Put(ctx, mark, text(run)))
}

// count adds what a task has sent: output and files.
func (c *collector) count(ctx context.Context, task int, st state) error {
	c.bytes += st.Out + st.Err
	for i := range c.plan.Out {
		size, err := c.cfg.Objects.Size(ctx, c.prefix+taskName(task)+"/"+filesName(i))
		if err != nil && !notThere(err) {
			return err
		}
		c.bytes += max(size, 0)
	}
	return nil
}

// transient reports whether trying again may help.
func transient(err error) bool {
	return err != nil && !errors.Is(err, federation.ErrInvalid) && !errors.Is(err, federation.ErrDenied)
}

// output writes the output files. A job that sent nothing back has one too, which says so.
func (c *collector) output(ctx context.Context, task int, record *federation.Task, st state) error {
	if err := c.stream(ctx, task, record, "out", st.Out, false, st); err != nil {
		return err
	}
	if !c.twoFiles(c.job) {
		return nil
	}
	return c.stream(ctx, task, record, "err", st.Err, true, st)
}

func (c *collector) stream(ctx context.Context, task int, record *federation.Task, name string, size int64, stderr bool, st state) error {
	log := &logReader{ctx: ctx, objects: c.cfg.Objects, prefix: c.prefix + taskName(task) + "/" + name + ".", end: size}
	defer log.Close()
	last := ""
	if !st.Done && (stderr || !c.twoFiles(c.job)) {
		last = fmt.Sprintf("fsub: this may not be all: %s did not send the end of the output\n", c.attempt.Site)
	}
	if last != "" && !st.Known {
		last = fmt.Sprintf("fsub: nothing came back from %s: its nodes do not reach the store, or the job ended before it began\n", c.attempt.Site)
	}
	if size == MaxLog {
		last = fmt.Sprintf("\nfsub: cut off after %d bytes\n", MaxLog)
	}
	file := c.cfg.Output(c.job, record, stderr)
	err := c.cfg.Files.Write(ctx, c.user, file, c.job.Spec.OpenMode == "append", io.MultiReader(log, text(last)))
	if err != nil {
		return fmt.Errorf("output to %s: %w", file, err)
	}
	return nil
}

// unpack unpacks what one stage-out directive named.
func (c *collector) unpack(ctx context.Context, task, i int, it Item) error {
	key := c.prefix + taskName(task) + "/" + filesName(i)
	size, err := c.cfg.Objects.Size(ctx, key)
	switch {
	case notThere(err):
		c.missing[i]++
		return nil
	case err != nil:
		return err
	case size > c.cfg.Max:
		return invalid("stage-out: %s has %d bytes, at most %d are carried (blobs: max_mib)", it.From, size, c.cfg.Max)
	}
	r, err := c.cfg.Objects.Get(ctx, key, 0, -1)
	if err != nil {
		return err
	}
	defer r.Close()
	n, err := c.cfg.Files.Unpack(ctx, c.user, c.job.Spec.WorkDir, it, c.cfg.Max, r)
	if err != nil {
		return err
	}
	c.files[i] += n
	return nil
}
