package demand

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"fsub/sbatch"
	"fsub/sbatch/gres"
)

// readAlternatives makes a demand for each kind of GPU that will do.
func (d *Demand) readAlternatives(s *sbatch.Spec) {
	if s.Fed == nil || len(s.Fed.Accelerators) == 0 || !d.AsksGPUs() {
		return
	}
	for _, as := range s.Fed.Accelerators {
		if slices.ContainsFunc(d.Alternatives, func(a Alternative) bool { return a.As == as }) {
			continue
		}
		with, fed := Accelerated(*s, as), *s.Fed
		fed.Accelerators = nil
		with.Fed = &fed
		d.Alternatives = append(d.Alternatives, Alternative{as, Of(&with)})
	}
}

// Accelerated is s with GPUs as "TYPE" or "TYPE:FACTOR" says: of that type, FACTOR times as many, and what is asked for by the GPU divided, so
// that the whole stays the same. "" and what cannot be read change nothing.
func Accelerated(s sbatch.Spec, as string) sbatch.Spec {
	kind, factor, ok := accelerator(as)
	if !ok {
		return s
	}
	s.GPUs, s.GPUsPerNode, s.GPUsPerTask = otherGPUs(s.GPUs, kind, factor), otherGPUs(s.GPUsPerNode, kind, factor), otherGPUs(s.GPUsPerTask, kind, factor)
	s.GRES = otherGRES(s.GRES, kind, factor)
	if s.MemPerGPU > 0 {
		s.MemPerGPU = sbatch.MemMiB(math.Ceil(float64(s.MemPerGPU) / factor))
	}
	if s.More == nil {
		return s
	}
	m := *s.More
	m.GPUsPerSocket = otherGPUs(m.GPUsPerSocket, kind, factor)
	if m.CPUsPerGPU > 0 {
		m.CPUsPerGPU = int(math.Ceil(float64(m.CPUsPerGPU) / factor))
	}
	if m.NTasksPerGPU > 0 && s.NTasks > 0 {
		s.NTasks = scaled(s.NTasks, factor) // one task for each GPU means more tasks
	}
	s.More = &m
	return s
}

// Accelerator reports whether text is a kind of GPU that a job may ask for, "TYPE" or "TYPE:FACTOR".
func Accelerator(text string) bool {
	_, _, ok := accelerator(text)
	return ok
}

func accelerator(as string) (kind string, factor float64, ok bool) {
	kind, text, given := strings.Cut(as, ":")
	factor = 1
	if given {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || !(f >= 1.0/1024 && f <= 1024) {
			return "", 0, false
		}
		factor = f
	}
	return kind, factor, kind != "" && !strings.ContainsAny(kind, ",= ")
}

// scaled is factor times n, whole ones.
func scaled(n int, factor float64) int {
	return int(math.Ceil(float64(n)*factor - 1e-9))
}

// otherGPUs asks for GPUs of one kind, where any were asked for.
func otherGPUs(text, kind string, factor float64) string {
	list, err := gres.ParseGPUs(text)
	n := 0
	for _, g := range list {
		n += g.Count
	}
	if err == nil && n > 0 {
		return kind + ":" + strconv.Itoa(scaled(n, factor))
	}
	return text
}

// otherGRES is otherGPUs for a list with other GRES in it, which stay.
func otherGRES(text, kind string, factor float64) string {
	var items []string
	gpus, at := 0, 0
	for item := range strings.SplitSeq(text, ",") {
		list, err := gres.Parse(item)
		if err != nil || len(list) == 0 || list[0].Name != "gpu" || list[0].Count == 0 {
			items = append(items, item)
			continue
		}
		if gpus == 0 {
			at = len(items)
		}
		gpus += list[0].Count
	}
	if gpus == 0 {
		return text
	}
	return strings.Join(slices.Insert(items, at, "gpu:"+kind+":"+strconv.Itoa(scaled(gpus, factor))), ",")
}
