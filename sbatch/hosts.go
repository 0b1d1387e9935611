package sbatch

import (
	"strconv"
	"strings"
)

// verifyHosts reads the host files that -w and -x may name, and refuses a list that is none.
func (p *parser) verifyHosts() error {
	s := &p.req.Spec
	if name, ok := lookup(p.in.Env, "SLURM_HOSTFILE"); ok && s.NodeList == "" && name != "" {
		return p.notYet("SLURM_HOSTFILE (an arbitrary distribution of tasks)")
	}
	var err error
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
	if _, ok := hostCount(s.NodeList); !ok {
		return p.fatal("Invalid node list specified")
	}
	return nil
}

// hostFile reads a list of hosts: any number on a line, with commas or blanks, # begins a comment.
func (p *parser) hostFile(name string, byOption bool) (string, error) {
	const most = 1 << 20
	body, err := p.in.Files.Read(absolute(p.in.Dir, name), most)
	if err != nil {
		line := "sbatch: error: slurm_allocate_resources error opening file " + name + ", " + reason(err)
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
	seen := map[string]bool{}
	for list != "" {
		end := itemEnd(list)
		if end < 0 || !expandHost("", list[:end], seen) {
			return 0, false
		}
		list = strings.TrimPrefix(list[end:], ",")
	}
	return len(seen), true
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

// expandHost puts every host of one item into seen; prefix is what is already expanded.
func expandHost(prefix, item string, seen map[string]bool) bool {
	open := strings.IndexByte(item, '[')
	if open < 0 {
		if prefix+item != "" {
			seen[prefix+item] = true
		}
		return len(seen) <= maxHosts
	}
	ranges, rest, ok := strings.Cut(item[open+1:], "]")
	if !ok {
		return false
	}
	for _, r := range strings.Split(ranges, ",") {
		low, high, ranged := strings.Cut(r, "-")
		if !ranged {
			high = low
		}
		a, err1 := strconv.Atoi(low)
		b, err2 := strconv.Atoi(high)
		if err1 != nil || err2 != nil || a < 0 || b < a || b-a > maxHosts {
			return false
		}
		for n := a; n <= b; n++ {
			digits := strconv.Itoa(n)
			if pad := len(low) - len(digits); pad > 0 {
				digits = strings.Repeat("0", pad) + digits
			}
			if !expandHost(prefix+item[:open]+digits, rest, seen) {
				return false
			}
		}
	}
	return true
}
