package place

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"fsub/federation"
	"fsub/sbatch"
)

// variant is one way to ask for what a job needs: with GPUs of one of the kinds that will do.
type variant struct {
	as  string // of Spec.Fed.Accelerators; "": as the job says
	ask *ask
}

func variants(spec *sbatch.Spec, dropSwitches bool) []variant {
	if spec.Fed == nil || len(spec.Fed.Accelerators) == 0 || !asksGPUs(spec) {
		return []variant{{ask: newAsk(spec, dropSwitches)}}
	}
	var out []variant
	for _, as := range spec.Fed.Accelerators {
		if !slices.ContainsFunc(out, func(v variant) bool { return v.as == as }) {
			with := accelerated(*spec, as)
			out = append(out, variant{as, newAsk(&with, dropSwitches)})
		}
	}
	return out
}

func asksGPUs(s *sbatch.Spec) bool {
	if s.GPUs != "" || s.GPUsPerNode != "" || s.GPUsPerTask != "" || s.More != nil && s.More.GPUsPerSocket != "" {
		return true
	}
	asks, _ := parseGRES(s.GRES)
	return slices.ContainsFunc(asks, func(a gresAsk) bool { return a.Name == "gpu" })
}

// Effective is what a job asks of a site where it was offered o: its own Spec, with the kind and the number of GPUs that the offer
// counts with. Whatever it asks for by the GPU is divided, so that the whole stays the same.
func Effective(spec sbatch.Spec, o *federation.Offer) sbatch.Spec {
	out := accelerated(spec, o.As)
	if len(spec.Het) == 0 || len(o.Parts) != len(spec.Het)+1 {
		return out
	}
	out = accelerated(spec, o.Parts[0].As)
	out.Het = slices.Clone(spec.Het)
	for i := range out.Het {
		out.Het[i] = accelerated(out.Het[i], o.Parts[i+1].As)
	}
	return out
}

// accelerated asks for GPUs as "TYPE" or "TYPE:FACTOR" says; "" and what cannot be read change nothing.
func accelerated(s sbatch.Spec, as string) sbatch.Spec {
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
	asks, ok := parseGPUs(text)
	if n := countGRES(asks); ok && n > 0 {
		return kind + ":" + strconv.Itoa(scaled(n, factor))
	}
	return text
}

// otherGRES is otherGPUs for a list with other GRES in it, which stay.
func otherGRES(text, kind string, factor float64) string {
	var items []string
	gpus, at := 0, 0
	for item := range strings.SplitSeq(text, ",") {
		asks, ok := parseGRES(item)
		if !ok || len(asks) == 0 || asks[0].Name != "gpu" {
			items = append(items, item)
			continue
		}
		if gpus == 0 {
			at = len(items)
		}
		gpus += asks[0].Count
	}
	if gpus == 0 {
		return text
	}
	return strings.Join(slices.Insert(items, at, "gpu:"+kind+":"+strconv.Itoa(scaled(gpus, factor))), ",")
}
