package sbatch

import (
	"strconv"
	"strings"
	"time"
)

// The setters of the options in [More]. Plain texts, counts and flags go by the option's name.

func (s *Spec) more() *More {
	if s.More == nil {
		s.More = new(More)
	}
	return s.More
}

func (p *parser) more() *More { return p.req.Spec.more() }

func moreText(p *parser, o *option, v string) error {
	return text(p.more().field(o.name).(*string), v)
}

func moreFlag(p *parser, o *option, _ string) error {
	*p.more().field(o.name).(*bool) = true
	return nil
}

func moreCount(p *parser, o *option, v string) (err error) {
	*p.more().field(o.name).(*int), err = p.release.count("--"+o.name, v, 1)
	return err
}

func moreYesNo(p *parser, o *option, v string) error {
	if !strings.EqualFold(v, "yes") && !strings.EqualFold(v, "no") {
		return o.invalid()
	}
	*p.more().field(o.name).(*YesNo) = YesNo(strings.ToLower(v))
	return nil
}

// setGPUBind and setTRESBind say the same thing: the last one counts.
func setGPUBind(p *parser, _ *option, v string) error {
	if err := checkGPUBind(p.release, v); err != nil {
		return err
	}
	p.more().GPUBind, p.more().TRESBind = v, ""
	p.show("gpu-bind", v)
	p.show("tres-bind", "gres/gpu:"+v)
	return nil
}

func setTRESBind(p *parser, _ *option, v string) error {
	p.more().TRESBind, p.more().GPUBind = v, ""
	p.show("tres-bind", v)
	return nil
}

func yesIf(b bool) YesNo {
	if b {
		return Yes
	}
	return No
}

// setCoreSpec: asking for 0 cores is not the same as not asking.
func setCoreSpec(p *parser, o *option, v string) (err error) {
	m := p.more()
	m.CoreSpec, err = p.release.count("--core-spec", v, 0)
	m.NoCoreSpec = m.CoreSpec == 0
	return err
}

func setTmp(p *parser, o *option, v string) error {
	n, ok := size(v)
	if !ok {
		return o.invalid()
	}
	p.more().TmpDisk = n
	return nil
}

func setDelayBoot(p *parser, o *option, v string) error {
	s, ok := seconds(v)
	if !ok {
		return o.invalid()
	}
	p.more().DelayBoot = time.Duration(s) * time.Second
	delete(p.shown, o.name)
	if s < 0 { // without end, or negative
		p.more().DelayBoot = Unlimited
		if s != unlimitedSeconds {
			p.show(o.name, clockText(time.Duration(uint32(s))*time.Second))
		}
	}
	return nil
}

func setNoKill(p *parser, o *option, v string) error {
	switch strings.ToLower(v) {
	case "", "set":
		p.more().NoKill = true
	case "off", "no":
		p.more().NoKill = false
	default:
		return o.invalid()
	}
	return nil
}

func setWaitAllNodes(p *parser, o *option, v string) error {
	n, err := p.release.count("--wait-all-nodes", v, 0)
	if err == nil && n > 1 {
		return o.invalid()
	}
	p.more().WaitAllNodes = yesIf(n == 1)
	return err
}

func setOOMKillStep(p *parser, o *option, v string) error {
	if v != "" && v != "0" && v != "1" {
		return o.invalid()
	}
	p.more().OOMKillStep = yesIf(v != "0")
	return nil
}

// setOversubscribe is the contrary of --exclusive.
func setOversubscribe(p *parser, _ *option, _ string) error {
	return text(&p.req.Spec.Exclusive, "oversubscribe")
}

func setSegment(p *parser, o *option, v string) error {
	if err := shapeSegment(p, o, v); err != nil {
		return err
	}
	n, _, _ := number(v)
	p.more().Segment = int(n)
	return nil
}

func setPriority(p *parser, o *option, v string) error {
	if err := shapePriority(p, o, v); err != nil {
		return err
	}
	if strings.EqualFold(v, "TOP") {
		return text(&p.more().Priority, "TOP")
	}
	n, _, _ := number(v)
	return text(&p.more().Priority, strconv.FormatInt(n, 10))
}

func setProfile(p *parser, o *option, v string) error {
	if err := shapeProfile(p, o, v); err != nil {
		return err
	}
	var kept []string
	v = strings.ToLower(v)
	for _, w := range [...]string{"none", "all"} { // either counts alone
		if strings.Contains(v, w) {
			return text(&p.more().Profile, w)
		}
	}
	for _, w := range [...]string{"energy", "lustre", "network", "task"} {
		if strings.Contains(v, w) {
			kept = append(kept, w)
		}
	}
	return text(&p.more().Profile, strings.Join(kept, ","))
}

func setAcctgFreq(p *parser, o *option, v string) error {
	if err := shapeAcctgFreq(p, o, v); err != nil {
		return err
	}
	return text(&p.more().AcctgFreq, v)
}

// setGRESFlags keeps the words with commas, in sbatch's order.
func setGRESFlags(p *parser, o *option, v string) error {
	if err := shapeGRESFlags(p, o, v); err != nil {
		return err
	}
	given := "," + strings.ToLower(v) + ","
	var kept []string
	for _, w := range [...]string{"disable-binding", "enforce-binding", "one-task-per-sharing", "multiple-tasks-per-sharing"} {
		if strings.Contains(given, ","+w+",") {
			kept = append(kept, w)
		}
	}
	return text(&p.more().GRESFlags, strings.Join(kept, ","))
}

func setResvPorts(p *parser, o *option, v string) error {
	if v == "" {
		v = "0"
	}
	n, err := p.release.count("--resv-port", v, 0)
	p.more().ResvPorts = strconv.Itoa(n)
	return err
}

// setHint keeps the word: sbatch looks at it only when all options are known; see verifyHint.
func setHint(p *parser, _ *option, v string) error {
	p.hint = &v
	p.show("hint", v)
	return text(&p.more().Hint, v)
}

// verifyHint checks the word, and leaves it out where other options say how tasks lie on cores.
func (p *parser) verifyHint() error {
	if p.hint == nil {
		return nil
	}
	for _, other := range [...]string{"ntasks-per-core", "threads-per-core", "extra-node-info"} {
		if p.given.has(other) {
			p.given.ignore("hint")
			others, than := "--ntasks-per-core, --threads-per-core,", "than"
			switch {
			case p.release < Slurm2411:
				than = "then"
			case p.release >= Slurm2605:
				others = "--ntasks-per-core, --cores-per-socket, --threads-per-core, --sockets-per-node,"
			}
			p.notices.informVerbose("Following options are mutually exclusive with --hint: " + others + " -B and --cpu-bind (other " + than +
				" --cpu-bind=verbose). Ignoring --hint.")
			p.more().Hint = ""
			return nil
		}
	}
	switch strings.ToLower(*p.hint) {
	case "compute_bound", "memory_bound", "multithread", "nomultithread":
		return nil
	case "help":
		return &Exit{Code: exitFatal, Stdout: hintHelp}
	}
	return errorLine(exitFatal, `unrecognized --hint argument "`, *p.hint, `", see --hint=help`)
}

const hintHelp = "Application hint options:\n" +
	"    --hint=             Bind tasks according to application hints\n" +
	"        compute_bound   use all cores in each socket\n" +
	"        memory_bound    use only one core in each socket\n" +
	"        [no]multithread [don't] use extra threads with in-core multi-threading\n" +
	"        help            show this help message\n"

// setExtraNodeInfo is -B: sockets of a node, cores of a socket, threads of a core. Of a range the least counts.
func setExtraNodeInfo(p *parser, o *option, v string) error {
	if err := shapeExtraNodeInfo(p, o, v); err != nil {
		return err
	}
	m := p.more()
	fields := [...]*int{&m.SocketsPerNode, &m.CoresPerSocket, &m.ThreadsPerCore}
	m.SocketsPerNode, m.CoresPerSocket, m.ThreadsPerCore = 0, 0, 0 // values of earlier options are dropped
	for i, part := range strings.Split(v, ":") {
		if i == len(fields) {
			break
		}
		least, _, _ := strings.Cut(part, "-")
		n, _, _ := number(least) // "*" is 0: any number
		*fields[i] = int(n)
	}
	return nil
}

// setDistribution keeps -m in sbatch's form.
func setDistribution(p *parser, o *option, v string) error {
	if err := shapeDistribution(p, o, v); err != nil {
		return err
	}
	methods, pack, packed := strings.Cut(v, ",")
	list := strings.Split(strings.ToLower(methods), ":")
	for i := range list {
		if list[i] == "*" {
			list[i] = [...]string{"block", "cyclic", "cyclic"}[i]
		}
	}
	d := strings.Join(list, ":")
	if packed {
		d += "," + strings.ToLower(pack)
	}
	return text(&p.more().Distribution, d)
}

// tresPerTask is what --tres-per-task says of CPUs and GPUs.
type tresPerTask struct {
	given bool
	cpus  int
	gpus  string
}

// setTRESPerTask takes cpu=N, gres/NAME[:TYPE][=N] and license/NAME=N; the site judges what it is
// not. CPUs and GPUs are the same as -c and --gpus-per-task.
func setTRESPerTask(p *parser, _ *option, v string) error {
	p.show("tres-per-task", v)
	t := tresPerTask{given: v != ""}
	var rest, gpus []string
	for _, item := range strings.Split(v, ",") {
		kind, count, _ := strings.Cut(item, "=")
		n, tail, ok := number(count)
		switch {
		case kind == "cpu" && ok && tail == "" && n > 0:
			t.cpus = int(n)
		case kind == "gres/gpu" && ok && tail == "":
			gpus = append(gpus, count)
		case strings.HasPrefix(kind, "gres/gpu:"):
			gpus = append(gpus, strings.TrimSuffix(strings.TrimPrefix(kind, "gres/gpu:")+":"+count, ":"))
		case kind == "gres/gpu":
			gpus = append(gpus, "1")
		default:
			rest = append(rest, item)
		}
	}
	t.gpus = strings.Join(gpus, ",")
	p.own.tres = t
	return text(&p.more().TRESPerTask, strings.Join(rest, ","))
}
