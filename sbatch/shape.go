package sbatch

import (
	"math"
	"strconv"
	"strings"
)

// The checks of options that are known and not carried: a wrong value is refused in sbatch's words,
// as if the option were carried, and a valid one is not kept. A value that switches an option off
// does not refuse the job.

func shapeGRESFlags(p *parser, o *option, v string) error {
	if w := strings.ToLower(v); p.release < Slurm2411 && w != "disable-binding" && w != "enforce-binding" {
		return o.invalid()
	}
	enforce, disable, oneTask := false, false, false
	for _, w := range strings.Split(v, ",") {
		switch strings.ToLower(w) {
		case "disable-binding":
			disable = true
		case "enforce-binding":
			enforce = true
		case "one-task-per-sharing":
			oneTask = true
		case "", "multiple-tasks-per-sharing":
		default:
			return errorLine(exitBadOption, "Invalid --gres-flags specification: ", w)
		}
	}
	if enforce && disable {
		return errorLine(exitBadOption, "Invalid --gres-flags combo: disable-binding and enforce-binding are mutually exclusive.")
	}
	if oneTask { // no version of slurmrestd has a word for it, so that no site's slurm.conf matters
		return errorLine(exitBadOption, "In order to use --gres-flags=one-task-per-sharing you must also have "+
			"SelectTypeParameters=MULTIPLE_SHARING_GRES_PJ in your slurm.conf")
	}
	return nil
}

func shapePriority(p *parser, o *option, v string) error {
	if strings.EqualFold(v, "TOP") {
		return nil
	}
	switch n, _, _ := number(v); {
	case n < 0:
		return errorLine(exitBadOption, "Priority must be >= 0")
	case n >= math.MaxUint32-1:
		return errorLine(exitBadOption, "Priority must be < 4294967294")
	}
	return nil
}

func shapeProfile(p *parser, o *option, v string) error {
	for _, w := range [...]string{"none", "all", "energy", "lustre", "network", "task"} {
		if strings.Contains(strings.ToLower(v), w) { // anywhere
			return nil
		}
	}
	return errorLine(exitBadOption, "invalid --profile=", v, " option")
}

func shapeAcctgFreq(p *parser, o *option, v string) error {
	var lines []string
	for _, w := range strings.Split(v, ",") {
		n := strings.ToLower(w)
		for _, kind := range [...]string{"task=", "energy=", "network=", "filesystem="} {
			if rest, ok := strings.CutPrefix(n, kind); ok {
				n = rest
				break
			}
		}
		if _, _, ok := number(n); !ok && w != "" {
			lines = append(lines, "sbatch: error: Invalid --acctg-freq specification: "+w)
		}
	}
	if lines != nil {
		return exit(exitBadOption, lines...)
	}
	return nil
}

func shapeSegment(p *parser, o *option, v string) error {
	n, rest, ok := number(v)
	if !ok && v != "" || rest != "" || n < 0 || n > math.MaxUint16 {
		return o.invalid()
	}
	return nil
}

// shapeUser is --uid and --gid. Root could run a job as another user; the daemon takes the user
// from the kernel.
func shapeUser(p *parser, o *option, v string) error {
	if !p.in.Root {
		return errorLine(exitBadOption, "--", o.name, " only permitted by root user")
	}
	id, ok := accountID(p.in.Files, map[string]string{"uid": "/etc/passwd", "gid": "/etc/group"}[o.name], v)
	if !ok {
		return o.invalid()
	}
	p.show(o.name, id)
	return nil
}

// accountID finds a user or group by name or number in a file of them.
func accountID(files Files, file, v string) (id string, ok bool) {
	const most = 4 << 20
	body, err := files.Read(file, most)
	if err != nil {
		return "", false
	}
	for line := range strings.Lines(string(body)) {
		fields := strings.Split(line, ":")
		if len(fields) > 2 && (fields[0] == v || fields[2] == v) {
			return fields[2], true
		}
	}
	return "", false
}

// shapeExtraNodeInfo is -B S[:C[:T]], each a number or *.
func shapeExtraNodeInfo(p *parser, o *option, v string) error {
	for i, part := range strings.Split(v, ":") {
		if part == "" || part[0] == '*' || i > 2 {
			continue
		}
		least, most, ranged := strings.Cut(part, "-")
		n, rest, ok := number(least)
		if ranged {
			most, _, _ = strings.Cut(most, "-")
			ok = ok && digits(most)
		}
		if !ok || rest != "" || n < 0 {
			return errorLine(exitFatal, `Invalid numeric value "`, part, `" for `, [...]string{"first", "second", "third"}[i],
				" arg of -B.")
		}
	}
	return nil
}

// shapeDistribution is -m: up to three methods, for nodes, sockets and cores, then Pack or NoPack.
func shapeDistribution(p *parser, o *option, v string) error {
	p.own.distribution = ""
	methods, pack, packed := strings.Cut(v, ",")
	if packed && !strings.EqualFold(pack, "Pack") && !strings.EqualFold(pack, "NoPack") {
		return o.invalid()
	}
	for i, m := range strings.Split(methods, ":") {
		m = strings.ToLower(m)
		switch {
		case i > 2:
			return o.invalid()
		case m == "*" || m == "block" || m == "cyclic" || m == "fcyclic" && i > 0:
		case m == "arbitrary" && len(methods) == len(m):
			p.own.distribution = m
		case i == 0 && (m == "plane" || strings.HasPrefix(m, "plane=")):
			if n, err := strconv.Atoi(strings.TrimPrefix(m, "plane=")); err != nil || n <= 0 {
				return exit(exitBadOption, "sbatch: error: Invalid plane size or size not specified",
					"sbatch: error: Invalid --distribution specification")
			}
		default:
			return o.invalid()
		}
	}
	return nil
}

// show keeps the value of an option that the request has no place for, as sbatch lists it.
func (p *parser) show(name, v string) {
	if p.shown == nil {
		p.shown = map[string]string{}
	}
	p.shown[name] = v
}

func setShown(p *parser, o *option, v string) error {
	if o.arg == no {
		v = "set"
	}
	p.show(o.name, v)
	return nil
}

// setMemUpdate is MARGIN@DELAY of 26.05.
func setMemUpdate(p *parser, o *option, v string) error {
	margin, delay, ok := strings.Cut(v, "@")
	if !ok {
		return exit(exitBadOption, "sbatch: error: --mem-update requires MARGIN@DELAY format")
	}
	m, rest, _ := number(margin)
	d, rest2, _ := number(delay)
	if !digits(margin) || rest+rest2 != "" || m < 1 || m > math.MaxUint16 || d < 1 || d > math.MaxUint16 {
		return o.invalid()
	}
	p.show(o.name, v)
	return nil
}

// setPower is --power=level of 22.05 and 23.*; what it does not know it passes over, and says so.
func setPower(p *parser, o *option, v string) error {
	shown := "unset"
	for _, w := range strings.Split(v, ",") {
		if strings.EqualFold(w, "level") {
			shown = "LEVEL"
		} else if w != "" {
			p.notices.warn("sbatch: error: Ignoring unrecognized power option (" + w + ")")
		}
	}
	p.show(o.name, shown)
	return nil
}
