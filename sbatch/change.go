package sbatch

import (
	"strconv"
	"strings"
	"time"
)

// Change is one thing to be changed of a job that was submitted already, as scontrol update asks for it.
type Change struct {
	Key    string `json:"key"`    // as the user named it: TimeLimit
	Option string `json:"option"` // sbatch's option for the same: time
	Value  string `json:"value"`  // in sbatch's grammar, in UTC where it is a point in time; "" takes a text away
}

// ChangeError is a value that cannot be read. Text is the whole line, or lines, that scontrol prints.
type ChangeError struct{ Text string }

func (e *ChangeError) Error() string { return e.Text }

// changeable are the options that scontrol 24.11 can change of a job: with --array, --clusters or
// --reboot it would be another one.
var changeable = optionNames("account", "begin", "chdir", "comment", "constraint", "contiguous", "core-spec", "cpus-per-task", "deadline",
	"delay-boot", "dependency", "error", "exclude", "extra", "gres", "input", "job-name", "licenses", "mail-type", "mail-user", "mem",
	"mem-per-cpu", "mincpus", "network", "nice", "nodelist", "nodes", "ntasks", "ntasks-per-node", "output", "oversubscribe", "partition",
	"prefer", "qos", "requeue", "reservation", "switches", "thread-spec", "time", "time-min", "tmp", "wckey")

func optionNames(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// Changeable reports whether a job's owner can have sbatch's option changed after the job was submitted.
func Changeable(option string) bool { return changeable[option] }

// Changed returns a copy of s with changes made in their order; s stays as it is. Any error is a *ChangeError.
func (s Spec) Changed(changes []Change, now time.Time) (Spec, error) {
	if s.More != nil {
		m := *s.More
		s.More = &m
	}
	p := newParser(&Input{Now: now, Dir: s.WorkDir})
	p.req.Spec = s
	for _, c := range changes {
		if err := p.change(&c); err != nil {
			return s, err
		}
	}
	if m := p.req.Spec.More; m != nil && *m == (More{}) {
		p.req.Spec.More = nil
	}
	return p.req.Spec, nil
}

func (p *parser) change(c *Change) error {
	sp := &p.req.Spec
	if !Changeable(c.Option) {
		return &ChangeError{"Update of this parameter is not supported: " + c.Key + "=" + c.Value + "\nRequest aborted"}
	}
	switch c.Option {
	case "requeue":
		on, ok := choice(c.Value)
		if !ok {
			return c.invalid()
		}
		sp.Requeue = &on
		return nil
	case "contiguous":
		on, ok := choice(c.Value)
		if !ok {
			return c.invalid()
		}
		p.more().Contiguous = on
		return nil
	case "oversubscribe":
		on, ok := choice(c.Value)
		if !ok {
			return c.invalid()
		}
		sp.Exclusive = "exclusive"
		if on {
			sp.Exclusive = "oversubscribe"
		}
		return nil
	case "time":
		return p.changeLimit(c)
	case "mem":
		sp.MemPerCPU, sp.MemPerGPU = 0, 0
	case "mem-per-cpu":
		sp.MemPerNode, sp.MemPerGPU = 0, 0
	case "nice":
		if _, err := strconv.Atoi(c.Value); err != nil {
			return c.invalid()
		}
	}
	for i := range options {
		if o := &options[i]; o.name == c.Option {
			if err := o.set(p, o, c.Value); err != nil {
				return c.refused(err)
			}
			break
		}
	}
	return nil
}

// changeLimit takes a limit, or with + or - before it how much longer or shorter it gets.
func (p *parser) changeLimit(c *Change) error {
	sp := &p.req.Spec
	text, before := c.Value, sp.TimeLimit
	sign := time.Duration(0)
	switch {
	case strings.HasPrefix(text, "+"):
		sign, text = 1, text[1:]
	case strings.HasPrefix(text, "-") && text != "-1":
		sign, text = -1, text[1:]
	}
	d, _, ok := timeLimit(text)
	if !ok || sign != 0 && (d == Unlimited || before == Unlimited || before == 0 || before+sign*d <= 0) {
		return &ChangeError{"scontrol: error: Invalid TimeLimit value"}
	}
	if sp.TimeLimit = d; sign != 0 {
		sp.TimeLimit = before + sign*d
	}
	return nil
}

func choice(v string) (on, ok bool) {
	switch strings.ToUpper(v) {
	case "1", "YES":
		return true, true
	case "0", "NO":
		return false, true
	}
	return false, false
}

func (c *Change) invalid() error {
	return &ChangeError{"scontrol: error: Invalid " + c.Key + " value: " + c.Value}
}

// refused words sbatch's refusal of a value as scontrol does.
func (c *Change) refused(err error) error {
	e, ok := err.(*Exit)
	if !ok || len(e.Stderr) == 0 {
		return c.invalid()
	}
	line := e.Stderr[0]
	if strings.HasPrefix(line, "sbatch: error: Invalid") {
		return c.invalid()
	}
	return &ChangeError{strings.Replace(line, "sbatch:", "scontrol:", 1)}
}

// InUTC returns c with its value, if that is a point in time, written so that it means the same
// everywhere. now is in the caller's zone. Any error is a *ChangeError.
func (c Change) InUTC(now time.Time) (Change, error) {
	if c.Option != "begin" && c.Option != "deadline" {
		return c, nil
	}
	sp, err := Spec{}.Changed([]Change{c}, now)
	if err != nil {
		return c, err
	}
	at := sp.Begin
	if c.Option == "deadline" {
		at = sp.Deadline
	}
	c.Value = at.UTC().Format("2006-01-02T15:04:05")
	return c, nil
}
