package submit

import (
	"encoding/json"
	"strconv"
	"time"

	"fsub/sbatch"
)

// appendSubmit writes a v1.SubmitRequest. It is written by hand because encoding/json takes longer
// to look at the types than all the rest of a submission takes; a test compares the two on every field.
func appendSubmit(b []byte, host string, req *sbatch.Request) []byte {
	o := object{b: append(b, `{"spec":{`...), first: true}
	o.spec(&req.Spec)
	o.b = append(o.b, `},"payload":{`...)
	o.first = true
	o.key("script")
	o.b = appendString(o.b, req.Payload.Script)
	o.list("argv", req.Payload.Argv)
	o.list("environment", req.Payload.Environment)
	o.b, o.first = append(o.b, '}'), false
	o.text("submit_host", host)
	o.flag("test_only", req.TestOnly)
	o.flag("explain", req.Explain)
	return append(o.b, '}')
}

// roomFor is the length of the request, near enough that a script is not copied a second time to make room.
func roomFor(req *sbatch.Request) int {
	n := 4096 + len(req.Payload.Script) + len(req.Payload.Script)/16
	for _, v := range req.Payload.Environment {
		n += len(v) + 8
	}
	return n
}

func (o *object) spec(s *sbatch.Spec) {
	o.text("name", s.Name)
	o.text("account", s.Account)
	o.text("partition", s.Partition)
	o.text("qos", s.QOS)
	o.text("reservation", s.Reservation)
	o.text("comment", s.Comment)
	o.text("constraint", s.Constraint)
	o.text("array", s.Array)
	o.text("dependency", s.Dependency)
	o.number("min_nodes", int64(s.MinNodes))
	o.number("max_nodes", int64(s.MaxNodes))
	o.number("ntasks", int64(s.NTasks))
	o.number("ntasks_per_node", int64(s.NTasksPerNode))
	o.number("cpus_per_task", int64(s.CPUsPerTask))
	o.number("mem_per_node", int64(s.MemPerNode))
	o.number("mem_per_cpu", int64(s.MemPerCPU))
	o.number("mem_per_gpu", int64(s.MemPerGPU))
	o.text("gres", s.GRES)
	o.text("gpus", s.GPUs)
	o.text("gpus_per_node", s.GPUsPerNode)
	o.text("gpus_per_task", s.GPUsPerTask)
	o.text("nodelist", s.NodeList)
	o.text("exclude", s.Exclude)
	o.text("exclusive", s.Exclusive)
	o.number("switches", int64(s.Switches))
	o.number("switches_wait", int64(s.SwitchesWait))
	o.number("time_limit", int64(s.TimeLimit))
	o.number("time_min", int64(s.TimeMin))
	o.time("begin", s.Begin)
	o.time("deadline", s.Deadline)
	o.flag("hold", s.Hold)
	o.number("nice", int64(s.Nice))
	if s.Requeue != nil {
		o.key("requeue")
		o.b = strconv.AppendBool(o.b, *s.Requeue)
	}
	o.text("mail_type", s.MailType)
	o.text("mail_user", s.MailUser)
	o.text("work_dir", s.WorkDir)
	o.text("input", s.Input)
	o.text("output", s.Output)
	o.text("error", s.Error)
	o.text("open_mode", s.OpenMode)
	if g := s.Signal; g != nil {
		o.key("signal")
		o.b, o.first = append(o.b, '{'), true
		o.key("name")
		o.b = appendString(o.b, g.Name)
		o.key("before")
		o.b = strconv.AppendInt(o.b, int64(g.Before), 10)
		o.flag("batch_only", g.BatchOnly)
		o.flag("reservation", g.Reservation)
		o.b, o.first = append(o.b, '}'), false
	}
	if s.More != nil {
		o.rare("more", s.More)
	}
	o.text("clusters", s.Clusters)
	if s.Fed != nil {
		o.rare("fed", s.Fed)
	}
	if len(s.Plugin) > 0 {
		o.rare("plugin", s.Plugin)
	}
	if len(s.Het) > 0 {
		o.rare("het", s.Het)
	}
	o.text("command", s.Command)
	o.text("digest", s.Digest)
	o.text("submit_line", s.SubmitLine)
}

// rare writes what few jobs have, and what has many fields. Its types cannot fail.
func (o *object) rare(name string, v any) {
	if text, err := json.Marshal(v); err == nil {
		o.key(name)
		o.b = append(o.b, text...)
	}
}

// object writes the members of a JSON object. Zero values are left out, as the tags of the types say.
type object struct {
	b     []byte
	first bool
}

func (o *object) key(name string) {
	if !o.first {
		o.b = append(o.b, ',')
	}
	o.first = false
	o.b = append(append(append(o.b, '"'), name...), '"', ':')
}

func (o *object) text(name, v string) {
	if v != "" {
		o.key(name)
		o.b = appendString(o.b, v)
	}
}

func (o *object) number(name string, n int64) {
	if n != 0 {
		o.key(name)
		o.b = strconv.AppendInt(o.b, n, 10)
	}
}

func (o *object) flag(name string, v bool) {
	if v {
		o.key(name)
		o.b = append(o.b, "true"...)
	}
}

func (o *object) time(name string, t time.Time) {
	if !t.IsZero() {
		o.key(name)
		o.b = append(t.AppendFormat(append(o.b, '"'), time.RFC3339Nano), '"')
	}
}

func (o *object) list(name string, items []string) {
	if len(items) == 0 {
		return
	}
	o.key(name)
	for i, v := range items {
		o.b = append(o.b, "[,"[min(i, 1)])
		o.b = appendString(o.b, v)
	}
	o.b = append(o.b, ']')
}

// appendString writes a JSON string. Invalid UTF-8 is written as it is, which is not valid JSON:
// the daemon and slurmrestd accept it in scripts, arguments and environments, and there is no other
// way to carry it.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[start:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		start = i
	}
	return append(append(b, s[start:]...), '"')
}
