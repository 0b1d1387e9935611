package sbatch

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// defined writes the options that were given, each in sbatch's canonical form, as sbatch -v lists them.
func (p *parser) defined() map[string]string {
	out := map[string]string{}
	for i, from := range p.given.sources {
		if from == fromNowhere {
			continue
		}
		name := options[i].name
		if v, ok := p.shown[name]; ok {
			out[name] = v
		} else if v, ok := p.definedValue(name); ok {
			if name == "tasks-per-node" {
				name = "ntasks-per-node"
			}
			out[name] = v
		}
	}
	for _, o := range p.req.Spec.Plugin {
		out[o.Name] = o.Value
	}
	var fed words
	p.req.Spec.Fed.options(&fed)
	for _, w := range fed.list {
		name, v, _ := strings.Cut(w[2:], "=")
		if had, ok := out[name]; ok { // several copies
			v = had + "\n" + v
		}
		out[name] = v
	}
	return out
}

// definedValue is the value of one option; false if it does not count.
func (p *parser) definedValue(name string) (string, bool) {
	s := &p.req.Spec
	switch name {
	case "nodelist", "nodefile":
		return s.NodeList, p.own.nodeFile == (name == "nodefile")
	case "requeue", "no-requeue": // whichever came last, under both names
		if s.Requeue == nil {
			return "", false
		}
		return map[bool]string{true: "requeue", false: "no-requeue"}[*s.Requeue], true
	case "clusters", "cluster":
		return s.Clusters, true
	case "test-only":
		return map[bool]string{true: "set", false: "unset"}[p.req.TestOnly], true
	case "hold", "parsable", "wait", "ignore-pbs":
		return "set", true
	case "quiet":
		return "1", true
	case "verbose":
		return strconv.Itoa(p.notices.verbose), true
	case "help", "usage", "version":
		return "", false
	case "mem", "mem-per-cpu", "mem-per-gpu":
		v := plainValue(s, name)
		return v, v != "0" // put away by another one
	case "time":
		return limitMinutes(s.TimeLimit), true
	case "time-min":
		return limitMinutes(s.TimeMin), true
	case "mail-type":
		if s.MailType == "" {
			return "NONE", true
		}
	case "gres":
		prefix := "gres/"
		if p.release < Slurm2411 {
			prefix = "gres:"
		}
		return prefix + strings.ReplaceAll(s.GRES, ",", ","+prefix), true
	case "nodes":
		if s.MinNodes == s.MaxNodes {
			return strconv.Itoa(s.MinNodes), true
		}
		return fmt.Sprintf("%d-%d", s.MinNodes, s.MaxNodes), true
	case "open-mode":
		return s.OpenMode[:1], true
	case "signal":
		return strings.TrimSuffix(s.Signal.String(), "@60"), true
	case "switches":
		if s.SwitchesWait == 0 {
			return strconv.Itoa(s.Switches), true
		}
		return strconv.Itoa(s.Switches) + "@" + clockText(s.SwitchesWait), true
	}
	if v, ok := s.More.definedValue(name); ok {
		return v, true
	}
	return plainValue(s, name), true
}

// definedValue is the value of an option of [More]; false if name is not one of them.
func (m *More) definedValue(name string) (string, bool) {
	if m == nil {
		m = &More{}
	}
	switch name {
	case "tmp":
		if m.TmpDisk == 0 {
			return memoryText(MemAll), true // sbatch writes it so, though it is not memory
		}
		return memoryText(m.TmpDisk), true
	case "delay-boot":
		return limitText(m.DelayBoot), true
	case "gres-flags":
		if m.GRESFlags == "" {
			return "unset", true
		}
	case "profile":
		switch m.Profile {
		case "all":
			return "Energy,Lustre,Network,Task", true
		case "none":
			return "None", true
		}
		var words []string
		for _, w := range [...]string{"Energy", "Lustre", "Network", "Task"} {
			if strings.Contains(m.Profile, strings.ToLower(w)) {
				words = append(words, w)
			}
		}
		return strings.Join(words, ","), true
	case "priority":
		if m.Priority == "TOP" {
			return "-3", true // so sbatch writes its number for it
		}
		n, _, _ := number(m.Priority)
		return strconv.Itoa(int(int32(n))), true
	case "mem-bind":
		if m.MemBind == "" {
			return "unset", true
		}
	case "segment":
		if m.Segment == 0 {
			return "unset", true
		}
	case "oversubscribe":
		return name, true
	case "extra-node-info":
		var b strings.Builder
		for i, n := range [...]int{m.SocketsPerNode, m.CoresPerSocket, m.ThreadsPerCore} {
			if n != 0 {
				b.WriteString([...]string{"", ":", ":"}[i] + strconv.Itoa(n))
			}
		}
		return b.String(), true
	case "kill-on-invalid-dep":
		return string(m.KillOnInvalidDep), true
	case "wait-all-nodes", "oom-kill-step":
		return map[YesNo]string{Yes: "1", No: "0"}[*m.field(name).(*YesNo)], true
	}
	switch f := m.field(name).(type) {
	case *bool:
		return map[bool]string{true: "set", false: "unset"}[*f], true
	case *int:
		if *f == 0 && (name == "sockets-per-node" || name == "cores-per-socket" || name == "threads-per-core") {
			return "-2", true // -B put it away
		}
		return strconv.Itoa(*f), true
	case *string:
		return *f, name != "nodes"
	}
	return "", false
}

// plainValue is the value of an option that is a text, a number, a size or a time of the Spec.
func plainValue(s *Spec, name string) string {
	switch name {
	case "cpus-per-task":
		return strconv.Itoa(s.CPUsPerTask)
	case "ntasks":
		return strconv.Itoa(s.NTasks)
	case "ntasks-per-node", "tasks-per-node":
		return strconv.Itoa(s.NTasksPerNode)
	case "nice":
		return strconv.Itoa(s.Nice)
	case "mem":
		return memoryText(s.MemPerNode)
	case "mem-per-cpu":
		return memoryText(s.MemPerCPU)
	case "mem-per-gpu":
		return memoryText(s.MemPerGPU)
	case "begin":
		return s.Begin.Format(timeLayout)
	case "deadline":
		return s.Deadline.Format(timeLayout)
	}
	if f := s.text(name); f != nil {
		return *f
	}
	return ""
}

const timeLayout = "2006-01-02T15:04:05"

// memoryText is an amount as sbatch writes it: "4G", "100" for MiB, "0?" for all.
func memoryText(m MemMiB) string {
	switch {
	case m == MemAll:
		return "0?"
	case m != 0 && m%(1<<20) == 0:
		return strconv.FormatInt(int64(m>>20), 10) + "T"
	case m != 0 && m%(1<<10) == 0:
		return strconv.FormatInt(int64(m>>10), 10) + "G"
	}
	return strconv.FormatInt(int64(m), 10)
}

func limitText(d time.Duration) string {
	if d == Unlimited {
		return "UNLIMITED"
	}
	return clockText(d)
}

// limitMinutes is a limit as sbatch writes it. One that is too long for a Duration was written when it was read.
func limitMinutes(d time.Duration) string {
	if d == Unlimited {
		return minutesText(math.MaxUint32)
	}
	return minutesText(uint32(d / time.Minute))
}

// minutesText is a time limit as sbatch writes it.
func minutesText(n uint32) string {
	if n == math.MaxUint32 {
		return "UNLIMITED"
	}
	text := fmt.Sprintf("%02d:%02d:00", n/60%24, n%60)
	if days := n / (24 * 60); days > 0 {
		text = strconv.Itoa(int(days)) + "-" + text
	}
	return text
}

func clockText(d time.Duration) string {
	s := int64(d / time.Second)
	text := fmt.Sprintf("%02d:%02d:%02d", s/3600%24, s/60%60, s%60)
	if s >= 86400 {
		text = strconv.FormatInt(s/86400, 10) + "-" + text
	}
	return text
}

// sayDefined keeps the table of -v.
func (n *notices) sayDefined(defined map[string]string) {
	if n.verbose == 0 {
		return
	}
	rule := strings.Repeat("-", 20)
	n.inform("sbatch: defined options")
	n.inform("sbatch: " + rule + " " + rule)
	for i := range options {
		name := options[i].name
		if v, ok := defined[name]; ok {
			n.inform(fmt.Sprintf("sbatch: %-20s: %s", name, v))
		}
	}
	n.inform("sbatch: " + rule + " " + rule)
	n.inform("sbatch: end of defined options")
}
