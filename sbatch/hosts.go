package sbatch

import (
	"slices"
	"strconv"
	"strings"
)

// verifyHosts reads the host files that -w and -x may name, and refuses a list that is none.
func (p *parser) verifyHosts() error {
	s := &p.req.Spec
	var err error
	fromEnv := false
	if name, ok := lookup(p.in.Env, "SLURM_HOSTFILE"); ok && s.NodeList == "" {
		const failure = "sbatch: error: Failure getting NodeNames from hostfile"
		if s.NodeList, err = p.hostFile(name, false); err != nil {
			return p.exit(p.exitError, "sbatch: error: slurm_allocate_resources error opening file "+name+", "+p.openFailure, failure)
		}
		if s.NodeList == "" {
			return p.exit(p.exitError, "sbatch: error: Hostlist is empty!", failure)
		}
		p.distribution, p.more().Distribution, fromEnv = "arbitrary", "arbitrary", true
	}
	if p.nodeFile || strings.Contains(s.NodeList, "/") {
		if s.NodeList, err = p.hostFile(s.NodeList, p.nodeFile); err != nil {
			return err
		}
	}
	if strings.Contains(s.Exclude, "/") {
		if s.Exclude, err = p.hostFile(s.Exclude, false); err != nil {
			return err
		}
	}
	hosts, ok := expandHosts(s.NodeList)
	if !ok {
		return p.fatal("Invalid node list specified")
	}
	if fromEnv && s.NTasks > 0 && s.NTasks < len(hosts) { // one task for each host of the list
		s.NodeList = strings.Join(hosts[:s.NTasks], ",")
	}
	return nil
}

// hostFile reads a list of hosts: any number on a line, with commas or blanks, # begins a comment.
func (p *parser) hostFile(name string, byOption bool) (string, error) {
	const most = 1 << 20
	body, err := p.in.Files.Read(absolute(p.in.Dir, name), most)
	if err != nil {
		p.openFailure = reason(err)
		line := "sbatch: error: slurm_allocate_resources error opening file " + name + ", " + p.openFailure
		if byOption {
			return "", p.exit(exitBadOption, line, "sbatch: error: Invalid --nodefile node file")
		}
		return "", p.exit(p.exitError, line)
	}
	var hosts []string
	for line := range strings.Lines(string(body)) {
		line, _, _ = strings.Cut(line, "#")
		hosts = append(hosts, strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r < 0x80 && isBlank(byte(r)) })...)
	}
	return strings.Join(hosts, ","), nil
}

// reason is the last part of an error's text, in the C library's spelling.
func reason(err error) string {
	t := err.Error()
	t = t[strings.LastIndex(t, ": ")+1:]
	if t = strings.TrimSpace(t); t == "" {
		return "Input/output error"
	}
	return strings.ToUpper(t[:1]) + t[1:]
}

// hostCount counts the different hosts of a list such as n1,r[1-2]n[01-16].
func hostCount(list string) (n int, ok bool) {
	if list == "" {
		return 0, true
	}
	hosts, ok := expandHosts(list)
	slices.Sort(hosts)
	return len(slices.Compact(hosts)), ok
}

// expandHosts is every host of a list, as often and in the order as it is named.
func expandHosts(list string) (hosts []string, ok bool) {
	for list != "" {
		end := itemEnd(list)
		if end < 0 {
			return nil, false
		}
		if hosts, ok = expandHost(hosts, "", list[:end]); !ok {
			return nil, false
		}
		list = strings.TrimPrefix(list[end:], ",")
	}
	return hosts, true
}

// itemEnd is where the first item of a hostlist ends: at a comma outside brackets. -1 if brackets do not match.
func itemEnd(list string) int {
	depth := 0
	for i := 0; i < len(list); i++ {
		switch list[i] {
		case '[':
			depth++
		case ']':
			depth--
		case ',':
			if depth == 0 {
				return i
			}
		}
		if depth < 0 || depth > 1 {
			return -1
		}
	}
	if depth != 0 {
		return -1
	}
	return len(list)
}

// maxHosts bounds the expansion of a list: more nodes than any Slurm cluster may have.
const maxHosts = 1 << 16

// expandHost adds every host of one item to hosts; prefix is what is already expanded.
func expandHost(hosts []string, prefix, item string) (_ []string, ok bool) {
	open := strings.IndexByte(item, '[')
	if open < 0 {
		if prefix+item != "" {
			hosts = append(hosts, prefix+item)
		}
		return hosts, len(hosts) <= maxHosts
	}
	ranges, rest, ok := strings.Cut(item[open+1:], "]")
	if !ok {
		return nil, false
	}
	for _, r := range strings.Split(ranges, ",") {
		low, high, ranged := strings.Cut(r, "-")
		if !ranged {
			high = low
		}
		a, err1 := strconv.Atoi(low)
		b, err2 := strconv.Atoi(high)
		if err1 != nil || err2 != nil || a < 0 || b < a || b-a > maxHosts {
			return nil, false
		}
		for n := a; n <= b; n++ {
			digits := strconv.Itoa(n)
			if pad := len(low) - len(digits); pad > 0 {
				digits = strings.Repeat("0", pad) + digits
			}
			if hosts, ok = expandHost(hosts, prefix+item[:open]+digits, rest); !ok {
				return nil, false
			}
		}
	}
	return hosts, true
}
