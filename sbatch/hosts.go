package sbatch

import (
	"errors"
	"slices"
	"strings"

	"fsub/slurm/hostlist"
)

// verifyHosts reads the host files that -w and -x may name, and refuses a list that is none.
func (p *parser) verifyHosts() error {
	s := &p.req.Spec
	var err error
	fromEnv := false
	if name, ok := lookup(p.in.Env, "SLURM_HOSTFILE"); ok && s.NodeList == "" {
		const failure = "sbatch: error: Failure getting NodeNames from hostfile"
		if s.NodeList, err = p.in.hostFile(name); err != nil {
			return exit(p.exitError, err.Error(), failure)
		}
		if s.NodeList == "" {
			return exit(p.exitError, "sbatch: error: Hostlist is empty!", failure)
		}
		p.own.distribution, p.more().Distribution, fromEnv = "arbitrary", "arbitrary", true
	}
	if byOption := p.own.nodeFile; byOption || strings.Contains(s.NodeList, "/") {
		if s.NodeList, err = p.in.hostFile(s.NodeList); err != nil && byOption {
			return exit(exitBadOption, err.Error(), "sbatch: error: Invalid --nodefile node file")
		} else if err != nil {
			return exit(p.exitError, err.Error())
		}
	}
	if strings.Contains(s.Exclude, "/") {
		if s.Exclude, err = p.in.hostFile(s.Exclude); err != nil {
			return exit(p.exitError, err.Error())
		}
	}
	hosts, ok := expandHosts(s.NodeList)
	if !ok {
		return fatal("Invalid node list specified")
	}
	if fromEnv && s.NTasks > 0 && s.NTasks < len(hosts) { // one task for each host of the list
		s.NodeList = strings.Join(hosts[:s.NTasks], ",")
	}
	return nil
}

// hostFile reads a list of hosts: any number on a line, with commas or blanks, # begins a comment. An
// error is the line that sbatch prints.
func (in *Input) hostFile(name string) (string, error) {
	const most = 1 << 20
	body, err := in.Files.Read(absolute(in.Dir, name), most)
	if err != nil {
		return "", errors.New("sbatch: error: slurm_allocate_resources error opening file " + name + ", " + reason(err))
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
	hosts, err := hostlist.ExpandLoosely(list)
	return hosts, err == nil
}
