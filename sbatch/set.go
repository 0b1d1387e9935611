package sbatch

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"time"
)

// The setters of the carried options. Each takes the value over in sbatch's canonical form, or
// refuses it in sbatch's words. What only a controller can judge (account, partition, features,
// array and dependency syntax) passes as written.

func text(field *string, v string) error {
	*field = v
	return nil
}

// setText takes over a text of the Spec as it is.
func setText(p *parser, o *option, v string) error { return text(p.req.Spec.text(o.name), v) }

// setPartition: an empty name is not the default partition, and slurmctld refuses it by this one.
func setPartition(p *parser, _ *option, v string) error {
	return text(&p.req.Spec.Partition, cmp.Or(v, "(null)"))
}

func setClusters(p *parser, _ *option, v string) error { return text(&p.req.Spec.Clusters, v) }
func setNothing(*parser, *option, string) error        { return nil }

func setQuiet(p *parser, _ *option, _ string) error     { p.notices.quiet = true; return nil }
func setVerbose(p *parser, _ *option, _ string) error   { p.notices.verbose++; return nil }
func setTestOnly(p *parser, _ *option, _ string) error  { p.req.TestOnly = true; return nil }
func setParsable(p *parser, _ *option, _ string) error  { p.req.Parsable = true; return nil }
func setWait(p *parser, _ *option, _ string) error      { p.req.Wait = true; return nil }
func setHold(p *parser, _ *option, _ string) error      { p.req.Spec.Hold = true; return nil }
func setIgnorePBS(p *parser, _ *option, _ string) error { p.ignorePBS = true; return nil }
func setNoRequeue(p *parser, _ *option, _ string) error { p.req.Spec.Requeue = new(false); return nil }

// setRequeue takes the word expedite since 25.11.
func setRequeue(p *parser, o *option, v string) error {
	p.req.Spec.Requeue = new(true)
	delete(p.shown, o.name)
	switch v {
	case "":
	case "expedite":
		p.show(o.name, v)
	default:
		return o.invalid()
	}
	return nil
}

// setNodeList and setNodeFile take -w and -F; the last one counts.
func setNodeList(p *parser, _ *option, v string) error {
	p.own.nodeFile = false
	return text(&p.req.Spec.NodeList, v)
}

func setNodeFile(p *parser, _ *option, v string) error {
	p.own.nodeFile = true
	return text(&p.req.Spec.NodeList, v)
}

func setWrap(p *parser, o *option, v string) error {
	p.wrap = &v
	p.show(o.name, v)
	return nil
}

func setExport(p *parser, o *option, v string) error {
	p.env.export = &v
	p.show(o.name, v)
	return nil
}

func setExportFile(p *parser, o *option, v string) error {
	p.show(o.name, v)
	return text(&p.env.file, v)
}

func setBBF(p *parser, o *option, v string) error {
	p.show(o.name, v)
	return text(&p.own.burstBuffer, v)
}

// file takes a file name pattern; the word none is /dev/null.
func file(field *string, v string) error {
	if strings.EqualFold(v, "none") {
		v = "/dev/null"
	}
	*field = v
	return nil
}

func setInput(p *parser, _ *option, v string) error  { return file(&p.req.Spec.Input, v) }
func setOutput(p *parser, _ *option, v string) error { return file(&p.req.Spec.Output, v) }
func setError(p *parser, _ *option, v string) error  { return file(&p.req.Spec.Error, v) }

func setChdir(p *parser, _ *option, v string) error {
	p.req.Spec.WorkDir = absolute(p.in.Dir, v)
	return nil
}

// absolute is name, seen from dir, without tidying it up: sbatch does not, and %-patterns may hold dots.
func absolute(dir, name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	return dir + "/" + name
}

func setNTasks(p *parser, o *option, v string) (err error) {
	p.req.Spec.NTasks, err = p.release.count("--ntasks", v, 1)
	return err
}

func setNTasksPerNode(p *parser, o *option, v string) (err error) {
	p.req.Spec.NTasksPerNode, err = p.release.count("--ntasks-per-node", v, 1)
	return err
}

func setCPUsPerTask(p *parser, o *option, v string) (err error) {
	p.req.Spec.CPUsPerTask, err = p.release.count("--cpus-per-task", v, 1)
	return err
}

func setMem(p *parser, o *option, v string) error { return setMemory(o, &p.req.Spec.MemPerNode, v) }
func setMemPerCPU(p *parser, o *option, v string) error {
	return setMemory(o, &p.req.Spec.MemPerCPU, v)
}
func setMemPerGPU(p *parser, o *option, v string) error {
	return setMemory(o, &p.req.Spec.MemPerGPU, v)
}

func setMemory(o *option, field *MemMiB, v string) error {
	m, ok := size(v)
	if !ok {
		return o.invalid()
	}
	if m == 0 {
		m = MemAll
	}
	*field = m
	return nil
}

func setTime(p *parser, o *option, v string) error {
	return p.limit(o, &p.req.Spec.TimeLimit, v)
}

func setTimeMin(p *parser, o *option, v string) error {
	return p.limit(o, &p.req.Spec.TimeMin, v)
}

func (p *parser) limit(o *option, field *time.Duration, v string) error {
	d, minutes, ok := timeLimit(v)
	if !ok {
		return o.invalid()
	}
	*field = d
	delete(p.shown, o.name)
	if d == Unlimited && minutes != math.MaxUint32 { // longer than a Duration
		p.show(o.name, minutesText(minutes))
	}
	return nil
}

func setBegin(p *parser, o *option, v string) error    { return p.when(o, &p.req.Spec.Begin, v) }
func setDeadline(p *parser, o *option, v string) error { return p.when(o, &p.req.Spec.Deadline, v) }

func (p *parser) when(o *option, field *time.Time, v string) error {
	t, pos, ok := pointInTime(v, p.in.Now, p.release)
	if !ok {
		lines := []string{"sbatch: error: Invalid --" + o.name + " specification"}
		if pos != noPosition {
			lines = append([]string{"Invalid time specification (pos=" + strconv.Itoa(pos) + "): " + v}, lines...)
		}
		return exit(exitBadOption, lines...)
	}
	*field = t
	return nil
}

// setGRES takes NAME[:TYPE][:COUNT],... and drops the prefix gres/ that may stand before each.
func setGRES(p *parser, o *option, v string) error {
	switch {
	case strings.EqualFold(v, "help") || strings.EqualFold(v, "list"):
		return errorLine(exitFatal, "--gres=", v, " is not carried by fsub yet; run: sinfo -o %G")
	case strings.EqualFold(v, "none"):
		p.req.Spec.GRES = ""
		p.show("gres", v)
		return nil
	}
	delete(p.shown, "gres")
	items := strings.Split(v, ",")
	for i := range items {
		if p.release >= Slurm2411 {
			items[i] = strings.TrimPrefix(items[i], "gres/")
		}
	}
	p.req.Spec.GRES = strings.Join(items, ",")
	return nil
}

func setExclusive(p *parser, o *option, v string) error {
	p.req.Spec.Exclusive = ""
	p.given.allow(o)
	switch w := strings.ToLower(v); w {
	case "":
		p.req.Spec.Exclusive = "exclusive"
	case "exclusive", "user", "mcs", "oversubscribe":
		p.req.Spec.Exclusive = w
	case "allocation":
		if p.release < Slurm2605 {
			return o.invalid()
		}
		p.req.Spec.Exclusive = "exclusive"
	case "topo":
		if p.release < Slurm2411 {
			return o.invalid()
		}
		p.req.Spec.Exclusive = w
	default:
		return o.invalid()
	}
	return nil
}

// setNice takes what strtoll would: a value that is not a number is 0, as in sbatch.
func setNice(p *parser, _ *option, v string) error {
	const most = 2147483645
	n := int64(100)
	if v != "" {
		n, _, _ = number(v)
	}
	if n < -most || n > most {
		return errorLine(exitBadOption, "Invalid --nice value, out of range (+/- 2147483645)")
	}
	p.req.Spec.Nice = int(n)
	return nil
}

// setOpenMode looks at the first letter only, as sbatch does.
func setOpenMode(p *parser, o *option, v string) error {
	switch {
	case v != "" && v[0]|0x20 == 'a':
		p.req.Spec.OpenMode = "append"
	case v != "" && v[0]|0x20 == 't':
		p.req.Spec.OpenMode = "truncate"
	default:
		return o.invalid()
	}
	return nil
}

// setSwitches takes COUNT[@TIME].
func setSwitches(p *parser, o *option, v string) error {
	most, wait, timed := strings.Cut(v, "@")
	n, err := p.release.count("--switches", most, 1)
	if err != nil {
		return err
	}
	p.req.Spec.Switches, p.req.Spec.SwitchesWait = n, 0
	if timed {
		p.req.Spec.setSwitchesWait(wait)
	}
	return nil
}

// setSwitchesWait takes the time of --switches. Without end, or unreadable, it is what it is when not
// given: as long as the site lets jobs wait. No time at all is a second, since 0 means not given.
func (s *Spec) setSwitchesWait(v string) {
	s.SwitchesWait = 0
	if n, ok := seconds(v); ok && n != unlimitedSeconds {
		s.SwitchesWait = time.Duration(max(1, uint32(n))) * time.Second
	}
}

// setGetUserEnv takes [SECONDS][MODE], MODE being s or l in either case, with anything behind it.
// Neither changes what a job gets.
func setGetUserEnv(p *parser, o *option, v string) error {
	n, rest, _ := number(v)
	mode := strings.ToUpper(rest[:min(1, len(rest))])
	if !strings.Contains("SL", mode) {
		return o.invalid()
	}
	p.env.login = true
	if p.release >= Slurm2605 {
		p.show(o.name, "set")
	} else {
		p.show(o.name, strconv.Itoa(int(int32(n)))+mode) // sbatch keeps it in an int
	}
	return nil
}

func setPropagate(p *parser, _ *option, v string) error {
	if v == "" {
		v = "ALL"
	}
	p.env.propagate = &v
	p.show("propagate", v)
	return nil
}

// setNodes takes MIN[-MAX] with k and m for multiples of 1024, or a list of sizes.
func setNodes(p *parser, o *option, v string) error {
	if strings.ContainsAny(v, ",:") && p.release >= Slurm2411 {
		return p.req.Spec.setNodeSizes(v)
	}
	least, most, ranged := strings.Cut(v, "-")
	lo, ok := nodeCount(least)
	if ranged && least == "" {
		lo, ok = 1, true // "-3" is 1-3
	}
	if !ok {
		return errorLine(exitBadOption, `"`, least, `" is not a valid node count`)
	}
	hi := lo
	if ranged && most == "" {
		return errorLine(exitBadOption, "Maximum node count -1 is less than minimum node count ", strconv.Itoa(lo))
	}
	if ranged {
		if hi, ok = nodeCount(most); !ok {
			return errorLine(exitBadOption, `"`, most, `" is not a valid node count`)
		}
	}
	if hi < lo {
		return errorLine(exitBadOption, "Maximum node count ", strconv.Itoa(hi), " is less than minimum node count ", strconv.Itoa(lo))
	}
	if p.req.Spec.More != nil {
		p.req.Spec.More.NodeSizes = ""
	}
	p.req.Spec.MinNodes, p.req.Spec.MaxNodes = lo, hi
	return nil
}

// setNodeSizes takes 1,2,4 and 1-9:2. A gapless one is the plain range; any other is kept as it is written.
func (s *Spec) setNodeSizes(v string) error {
	sizes := map[int]bool{}
	lo, hi := math.MaxInt, 0
	for _, item := range strings.Split(v, ",") {
		span, step, stepped := strings.Cut(item, ":")
		from, to, ranged := strings.Cut(span, "-")
		a, ok := nodeCount(from)
		ok = ok || item == "" // "1," is 0 and 1
		b, by := a, 1
		if !ok {
			item = from
		}
		if ok && ranged {
			if b, ok = nodeCount(to); !ok {
				item = to
			}
		}
		if ok && stepped {
			by, ok = nodeCount(step)
			ok = ok && ranged && by > 0
		}
		if !ok || b < a || b > 1<<20 {
			return errorLine(exitBadOption, `"`, item, `" is not a valid node count`)
		}
		for n := a; n <= b; n += by {
			sizes[n] = true
			lo, hi = min(lo, n), max(hi, n)
		}
	}
	s.more().NodeSizes = ""
	if len(sizes) != hi-lo+1 {
		s.more().NodeSizes = v
	}
	s.MinNodes, s.MaxNodes = lo, hi
	return nil
}

func nodeCount(s string) (int, bool) {
	n, unit, ok := number(s)
	switch strings.TrimRight(unit, " ") {
	case "":
	case "k", "K":
		n *= 1 << 10
	case "m", "M":
		n *= 1 << 20
	default:
		return 0, false
	}
	return int(n), ok && n >= 0 && n <= math.MaxInt32
}
