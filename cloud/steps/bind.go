package steps

import (
	"slices"
	"strconv"
	"strings"

	"fsub/cloud/steps/wire"
)

// bindCPUs says which CPUs each task of a node is kept on; nil: any. Without --cpu-bind they have
// the step's, where the job is bound at all.
func bindCPUs(n *wire.NodeLaunch) [][]int {
	bound := make([][]int, len(n.Ranks))
	kind, list, _ := strings.Cut(bindKind(n.Part.CPUBind), ":")
	items := splitList(list)
	each := max(n.Part.Ask.CPUsPerTask, 1)
	for i := range bound {
		if n.Bound {
			bound[i] = n.CPUIDs
		}
		switch kind {
		case "none", "no":
		case "rank":
			bound[i] = slice(n.CPUIDs, i, 1)
		case "cores", "threads", "core", "thread":
			bound[i] = slice(n.CPUIDs, i, each)
		case "map_cpu":
			if c, err := strconv.ParseUint(items[i%len(items)], 0, 31); err == nil {
				bound[i] = []int{int(c)}
			}
		case "mask_cpu":
			if m := mask(items[i%len(items)]); m != nil {
				bound[i] = m
			}
		}
	}
	return bound
}

// bindKind is the last word of --cpu-bind or --gpu-bind that is not about saying so; a list of CPUs
// has commas too.
func bindKind(v string) string {
	for {
		word, rest, more := strings.Cut(v, ",")
		switch word {
		case "q", "quiet", "v", "verbose":
			if !more {
				return ""
			}
			v = rest
		default:
			return v
		}
	}
}

func splitList(list string) []string { return strings.Split(list, ",") }

// slice is the i-th piece of each IDs; over the end it begins again.
func slice(ids []int, i, each int) []int {
	if len(ids) == 0 {
		return nil
	}
	if each > len(ids) {
		return ids
	}
	start := i * each % len(ids)
	if start+each > len(ids) {
		start = 0
	}
	return ids[start : start+each]
}

// mask reads a mask of CPUs in hexadecimal digits.
func mask(s string) (cpus []int) {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "0x"), "0X")
	for i := range len(s) {
		d, err := strconv.ParseUint(s[len(s)-1-i:len(s)-i], 16, 8)
		if err != nil {
			return nil
		}
		for b := range 4 {
			if d>>b&1 != 0 {
				cpus = append(cpus, 4*i+b)
			}
		}
	}
	return cpus
}

// bindGPUs says which GPUs each task sees: all of the step's, or what --gpu-bind or --gpus-per-task
// give it. The numbers are the machine's, since nothing hides its other GPUs. The only task of a
// node sees all of the step's, whatever it is bound to (24.11).
func bindGPUs(n *wire.NodeLaunch) [][]int {
	seen := make([][]int, len(n.Ranks))
	kind, list, _ := strings.Cut(bindKind(strings.TrimPrefix(n.Part.GPUBind, "gpu:")), ":")
	items := splitList(list)
	if kind == "" && n.Part.Ask.GPUsPerTask > 0 {
		kind, items = "per_task", []string{strconv.Itoa(n.Part.Ask.GPUsPerTask)}
	}
	if len(seen) == 1 {
		kind = ""
	}
	count, _ := strconv.Atoi(items[0])
	for i := range seen {
		seen[i] = n.GPUs
		switch kind {
		case "per_task":
			seen[i] = slice(n.GPUs, i, max(count, 1))
		case "single":
			seen[i] = slice(n.GPUs, i/max(count, 1), 1)
		case "map_gpu", "map":
			if g, err := strconv.ParseUint(items[i%len(items)], 0, 31); err == nil && int(g) < len(n.GPUs) {
				seen[i] = []int{n.GPUs[g]}
			}
		case "mask_gpu", "mask":
			var own []int
			for _, g := range mask(items[i%len(items)]) {
				if g < len(n.GPUs) {
					own = append(own, n.GPUs[g])
				}
			}
			if own != nil {
				seen[i] = own
			}
		}
	}
	return seen
}

// program is what a task runs.
func program(p *wire.Part, rank int) []string {
	if p.Programs == nil {
		return p.Argv
	}
	for i := range p.Programs {
		if offset := p.Programs[i].Offset(rank); offset >= 0 {
			argv := make([]string, len(p.Programs[i].Argv))
			r := strings.NewReplacer("%t", strconv.Itoa(rank), "%o", strconv.Itoa(offset))
			for k, w := range p.Programs[i].Argv {
				argv[k] = r.Replace(w)
			}
			return argv
		}
	}
	return []string{""}
}

// replaceFolder is PATH with the folder own in the place of other, and at its head where other is
// not in it. Whatever a script has put before that (a virtual environment) stays before it.
func replaceFolder(path, other, own string) string {
	if path == "" {
		return own
	}
	dirs := strings.Split(path, ":")
	for i, dir := range dirs {
		if dir == other && other != "" {
			dirs[i] = own
		}
	}
	if !slices.Contains(dirs, own) {
		dirs = slices.Insert(dirs, 0, own)
	}
	return strings.Join(dirs, ":")
}
