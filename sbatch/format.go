package sbatch

import (
	"strconv"
	"strings"
	"time"
)

// Options writes s as words of a command line, in the order of the table's fields. Parsed again
// they give s, but for what Parse derives from the script (Command, and a Name that is its file's).
func (s *Spec) Options() []string {
	var w words
	s.write(&w)
	return w.list
}

func (s *Spec) write(w *words) {
	w.text("job-name", s.Name)
	w.text("account", s.Account)
	w.text("partition", s.Partition)
	w.text("qos", s.QOS)
	w.text("reservation", s.Reservation)
	w.text("clusters", s.Clusters)
	w.text("comment", s.Comment)
	w.text("constraint", s.Constraint)
	w.text("array", s.Array)
	w.text("dependency", s.Dependency)
	if s.More == nil || s.More.NodeSizes == "" || w.keyed {
		w.nodes(s.MinNodes, s.MaxNodes)
	}
	w.number("ntasks", s.NTasks)
	w.number("ntasks-per-node", s.NTasksPerNode)
	w.number("cpus-per-task", s.CPUsPerTask)
	w.memory("mem", s.MemPerNode)
	w.memory("mem-per-cpu", s.MemPerCPU)
	w.memory("mem-per-gpu", s.MemPerGPU)
	w.text("gres", s.GRES)
	w.text("gpus", s.GPUs)
	w.text("gpus-per-node", s.GPUsPerNode)
	w.text("gpus-per-task", s.GPUsPerTask)
	w.text("nodelist", s.NodeList)
	w.text("exclude", s.Exclude)
	w.text("exclusive", s.Exclusive)
	w.switches(s.Switches, s.SwitchesWait)
	w.limit("time", s.TimeLimit)
	w.limit("time-min", s.TimeMin)
	w.when("begin", s.Begin)
	w.when("deadline", s.Deadline)
	w.flag("hold", s.Hold)
	w.number("nice", s.Nice)
	if s.Requeue != nil {
		w.flag("requeue", *s.Requeue)
		w.flag("no-requeue", !*s.Requeue)
	}
	w.text("mail-type", s.MailType)
	w.text("mail-user", s.MailUser)
	w.text("chdir", s.WorkDir)
	w.text("input", s.Input)
	w.text("output", s.Output)
	w.text("error", s.Error)
	w.text("open-mode", s.OpenMode)
	if s.Signal != nil {
		w.add("signal", s.Signal.String())
	}
	if s.More != nil {
		w.more(s.More)
	}
	s.Fed.options(w)
	for _, o := range s.Plugin {
		if o.Value == "" {
			w.flag(o.Name, true)
		} else {
			w.add(o.Name, o.Value)
		}
	}
}

// more adds what m asks for, in the order of the option table.
func (w *words) more(m *More) {
	for i := range options {
		name := options[i].name
		if w.keyed && !options[i].to.counts() {
			continue
		}
		switch f := m.field(name).(type) {
		case *string:
			w.text(name, *f)
		case *int:
			w.number(name, *f)
		case *bool:
			w.flag(name, *f)
		}
	}
	w.memory("tmp", m.TmpDisk)
	if m.DelayBoot == Unlimited {
		w.add("delay-boot", "UNLIMITED")
	} else if m.DelayBoot != 0 {
		w.add("delay-boot", clockText(m.DelayBoot))
	}
	if m.NoCoreSpec {
		w.add("core-spec", "0")
	}
	w.text("kill-on-invalid-dep", string(m.KillOnInvalidDep))
	w.yesNo("wait-all-nodes", m.WaitAllNodes)
	w.yesNo("oom-kill-step", m.OOMKillStep)
}

// yesNo writes a choice as 1 or 0.
func (w *words) yesNo(name string, v YesNo) {
	switch v {
	case Yes:
		w.add(name, "1")
	case No:
		w.add(name, "0")
	}
}

// String is the value of --signal.
func (s *Signal) String() string {
	flags := ""
	if s.Reservation {
		flags = "R"
	}
	if s.BatchOnly {
		flags += "B"
	}
	if flags != "" {
		flags += ":"
	}
	return flags + s.Name + "@" + strconv.FormatInt(int64(s.Before/time.Second), 10)
}

// words are the options of a Spec as a command line has them, or, if keyed, a key of likeness: see likeness.go.
type words struct {
	list  []string
	keyed bool
	key   []byte
}

func (w *words) add(name, v string) {
	if w.keyed {
		w.addKey(name, v)
	} else {
		w.list = append(w.list, "--"+name+"="+v)
	}
}

func (w *words) text(name, v string) {
	if v != "" {
		w.add(name, v)
	}
}

func (w *words) flag(name string, v bool) {
	switch {
	case !v:
	case w.keyed:
		w.addKey(name, "")
	default:
		w.list = append(w.list, "--"+name)
	}
}

// texts writes a list with commas.
func (w *words) texts(name string, list []string) {
	if !w.keyed {
		w.text(name, strings.Join(list, ","))
		return
	}
	for _, v := range list {
		w.addKey(name, v)
	}
}

func (w *words) switches(n int, wait time.Duration) {
	switch {
	case n == 0:
	case w.keyed:
		w.number("switches", n)
		w.number("switches", int(wait))
	default:
		w.add("switches", strconv.Itoa(n)+switchesWaitText(wait))
	}
}

func (w *words) number(name string, n int) {
	if n != 0 {
		w.add(name, strconv.Itoa(n))
	}
}

func (w *words) nodes(least, most int) {
	switch {
	case least == 0 && most == 0:
	case w.keyed:
		w.number("nodes", least)
		w.add("nodes", strconv.Itoa(most))
	case least == most:
		w.number("nodes", least)
	case most == 0: // derived from --nodelist, which says it again
	default:
		w.add("nodes", strconv.Itoa(least)+"-"+strconv.Itoa(most))
	}
}

func (w *words) memory(name string, m MemMiB) {
	switch {
	case m == MemAll:
		w.add(name, "0")
	case m != 0:
		w.add(name, strconv.FormatInt(int64(m), 10))
	}
}

func (w *words) limit(name string, d time.Duration) {
	switch {
	case d == Unlimited:
		w.add(name, "UNLIMITED")
	case w.keyed:
		w.number(name, int(d))
	case d != 0:
		w.add(name, strconv.FormatInt(int64(d/time.Minute), 10))
	}
}

func (w *words) when(name string, t time.Time) {
	if !t.IsZero() {
		w.add(name, "uts"+strconv.FormatInt(t.Unix(), 10))
	}
}

// switchesWaitText is the second half of --switches.
func switchesWaitText(d time.Duration) string {
	if d == 0 {
		return ""
	}
	s := int64(d / time.Second)
	return "@" + strconv.FormatInt(s/60, 10) + ":" + strconv.FormatInt(s%60, 10)
}
