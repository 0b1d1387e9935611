package shapes

import (
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"fsub/slurm/hostlist"
)

// mask puts words for what no two runs of a script have in common. It is made for one file: nodes are numbered in the order of their names there, so that what a
// file says of the nodes of its job is compared, and which ones they were is not.
type mask struct {
	p     place
	dir   string
	nodes map[string]string
}

// Nodes are called alpha1; rented ones by their site, pool and number.
var (
	listed = regexp.MustCompile(`\b((?:alpha|local|aws|azure|gcp|tpu)[a-z0-9.-]*?)\[([0-9,-]+)\]`)
	single = regexp.MustCompile(`\b(?:alpha|local-[a-z0-9.-]+?-|(?:aws|azure|gcp|tpu)-[a-z0-9.-]+?-)\d+\b`)
)

func newMask(p place, dir, text string) *mask {
	m := &mask{p: p, dir: dir, nodes: map[string]string{}}
	text = strings.ReplaceAll(text, dir, "DIR")
	names := single.FindAllString(text, -1)
	for _, list := range listed.FindAllString(text, -1) {
		some, _ := hostlist.Expand(list)
		names = append(names, some...)
	}
	sort.Slice(names, func(i, j int) bool { return number(names[i]) < number(names[j]) })
	for _, n := range slices.Compact(names) {
		m.nodes[n] = "NODE" + strconv.Itoa(len(m.nodes)+1)
	}
	return m
}

func number(name string) int {
	i := len(name)
	for i > 0 && name[i-1] >= '0' && name[i-1] <= '9' {
		i--
	}
	n, _ := strconv.Atoi(name[i:])
	return n
}

// Numbers of jobs have eight digits in the federation, and six at a site that gives its own to the tasks of arrays. They are told apart no further; one that was
// filled up with zeros keeps its width.
var (
	jobID = regexp.MustCompile(`\d+`)
	isID  = regexp.MustCompile(`^0*([3-9]\d{7}|1\d{5})$`)
)

func maskIDs(s string) string {
	return jobID.ReplaceAllStringFunc(s, func(id string) string {
		switch {
		case !isID.MatchString(id):
			return id
		case id[0] == '0':
			return fmt.Sprintf("JOB%d", len(id))
		}
		return "JOB"
	})
}

var times = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+`), "TIME"},
	{regexp.MustCompile(`(?m)^(SLURM_JOB_(?:START|END)_TIME)=\d+$`), "$1=TIME"},
	{regexp.MustCompile(`(?m)^(SLURM_TASK_PID|SLURM_SRUN_COMM_PORT|SLURM_STEP_LAUNCHER_PORT|MASTER_PORT)=\d+$`), "$1=#"},
	{regexp.MustCompile(`line \d+: +\d+ (Killed|Terminated)`), "line # $1"},
	{regexp.MustCompile(`slurmstepd-NODE\d+:`), "slurmstepd:"}, // the real site has several slurmds on one machine, and so names them
	// Whether these are said depends on the moment.
	{regexp.MustCompile(`(?m)^Terminated\n`), ""},
	{regexp.MustCompile(`(?m)^srun: (Step created for|Job \S+ step creation temporarily disabled).*\n`), ""},
	{regexp.MustCompile(`(?m)^slurmstepd\S*: error: _handle_signal_container: failed signal 18 .*\n`), ""},
	{regexp.MustCompile(`(?m)^srun: Job step creation temporarily disabled.*\n`), ""},
	{regexp.MustCompile(`(?m)^srun: error: IO: Hey, you told me node \d+ was down!\n`), ""},
}

func (m *mask) text(s string) string {
	s = strings.ReplaceAll(s, m.dir, "DIR")
	s = listed.ReplaceAllStringFunc(s, func(list string) string {
		names, _ := hostlist.Expand(list)
		for i, n := range names {
			names[i] = m.nodes[n]
		}
		return strings.Join(names, ",")
	})
	s = single.ReplaceAllStringFunc(s, func(n string) string { return m.nodes[n] })
	for _, t := range times {
		s = t.pattern.ReplaceAllString(s, t.with)
	}
	s = sortErrors(eachTask(maskIDs(s)))
	if strings.Contains(s, "SLURM_JOB_ID=") {
		s = m.environment(s)
	}
	return s
}

func (m *mask) name(s string) string {
	for n := range m.nodes {
		s = strings.ReplaceAll(s, n, "NODE")
	}
	s = single.ReplaceAllString(s, "NODE")
	return maskIDs(s)
}

var tasksEnded = regexp.MustCompile(`(?m)^(srun: error: NODE\d+: )tasks ([0-9,-]+)(: .*\n)`)

// eachTask gives every task a line of its own. Tasks that end in the same way are told of in one line when their node has seen it at one moment.
func eachTask(s string) string {
	return tasksEnded.ReplaceAllStringFunc(s, func(line string) string {
		part := tasksEnded.FindStringSubmatch(line)
		tasks, err := hostlist.Expand("[" + part[2] + "]")
		if err != nil {
			return line
		}
		var out strings.Builder
		for _, task := range tasks {
			fmt.Fprintf(&out, "%stask %s%s", part[1], task, part[3])
		}
		return out.String()
	})
}

// sortErrors puts lines of errors that follow each other in order: they come from several nodes and tasks at once.
func sortErrors(s string) string {
	lines := strings.SplitAfter(s, "\n")
	isError := func(l string) bool { return strings.HasPrefix(l, "srun: ") || strings.HasPrefix(l, "slurmstepd: ") }
	for i := 0; i < len(lines); i++ {
		k := i
		for k < len(lines) && isError(lines[k]) {
			k++
		}
		slices.Sort(lines[i:k])
		i = max(i, k)
	}
	return strings.Join(lines, "")
}

// variables that differ, with the reason and what is compared of them instead.
var variables = map[string]struct {
	with string // "" leaves the line out
	why  string
}{
	"SLURM_CONF":                  {"", "rented machines have no slurm.conf"},
	"SLURM_CLUSTER_NAME":          {"SITE", "the site's name"},
	"SLURM_SUBMIT_HOST":           {"HOST", "where the command was called"},
	"SLURM_TOPOLOGY_ADDR":         {"ADDR", "rented machines have no tree of switches"},
	"SLURM_TOPOLOGY_ADDR_PATTERN": {"PATTERN", "the same"},
	"FSUB_SITES":                  {"", "ours: where the script runs"},
	"FSUB_SOCKET":                 {"", "ours: a way to the daemon"},
	"FSUB_STEPS":                  {"", "ours: a way to the step service of a rented machine"},
	"FSUB_COMMANDS":               {"", "ours: the folder of a rented machine's commands"},
	"PATH":                        {"", "our commands come first in it"},
	"SLURM_JOB_GPUS":              {"GPUS", "as they fall free"},
	"SLURM_STEP_GPUS":             {"GPUS", "as they fall free"},
	"CUDA_VISIBLE_DEVICES":        {"GPUS", "as they fall free"},
	"GPU_DEVICE_ORDINAL":          {"GPUS", "as they fall free"},
	"ROCR_VISIBLE_DEVICES":        {"GPUS", "as they fall free"},
	"ZE_AFFINITY_MASK":            {"GPUS", "as they fall free"},
	"SLURM_LAUNCH_NODE_IPADDR":    {"ADDR", "nodes of the real site are all 127.0.0.1"},
	"SLURM_SRUN_COMM_HOST":        {"ADDR", "the same"},
}

func (m *mask) environment(s string) string {
	var out []string
	for line := range strings.SplitSeq(strings.TrimSuffix(s, "\n"), "\n") {
		name, value, ok := strings.Cut(line, "=")
		v, known := variables[name]
		switch {
		case strings.HasPrefix(name, "TPU_"), strings.HasPrefix(name, "MEGASCALE_"): // what a TPU host has besides
		case !ok || !known:
			out = append(out, line)
		case v.with == "GPUS":
			out = append(out, fmt.Sprintf("%s=%d of them", name, len(strings.Split(value, ","))))
		case v.with != "":
			out = append(out, name+"="+v.with)
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n") + "\n"
}
