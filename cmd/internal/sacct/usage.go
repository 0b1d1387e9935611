package sacct

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fsub/slurm/wire"
)

// measure is one of the lists of what was measured of a step.
type measure func(*wire.DBStep) []wire.TaskTRES

func inMax(s *wire.DBStep) []wire.TaskTRES  { return s.TRES.Requested.Max }
func inMin(s *wire.DBStep) []wire.TaskTRES  { return s.TRES.Requested.Min }
func outMax(s *wire.DBStep) []wire.TaskTRES { return s.TRES.Consumed.Max }
func outMin(s *wire.DBStep) []wire.TaskTRES { return s.TRES.Consumed.Min }

func inAverage(s *wire.DBStep) []wire.TaskTRES  { return ofAll(s.TRES.Requested.Average) }
func inTotal(s *wire.DBStep) []wire.TaskTRES    { return ofAll(s.TRES.Requested.Total) }
func outAverage(s *wire.DBStep) []wire.TaskTRES { return ofAll(s.TRES.Consumed.Average) }
func outTotal(s *wire.DBStep) []wire.TaskTRES   { return ofAll(s.TRES.Consumed.Total) }

func ofAll(list []wire.TRES) []wire.TaskTRES {
	out := make([]wire.TaskTRES, len(list))
	for i, t := range list {
		out[i].TRES = t
	}
	return out
}

func tresKey(t wire.TRES) string {
	if t.Name != "" {
		return t.Type + "/" + t.Name
	}
	return t.Type
}

// find is what of measured of one TRES, nil if it was not.
func find(of measure, key string, r *record) *wire.TaskTRES {
	if r.step == nil {
		return nil
	}
	list := of(r.step)
	if i := slices.IndexFunc(list, func(t wire.TaskTRES) bool { return tresKey(t.TRES) == key }); i >= 0 {
		return &list[i]
	}
	return nil
}

// usage is the amount of one TRES; usageNode and usageTask say where it was.
func usage(of measure, key string, text func(*command, int64) string) func(*command, *record) string {
	return func(c *command, r *record) string {
		if t := find(of, key, r); t != nil {
			return text(c, t.Count)
		}
		return ""
	}
}

func usageNode(of measure, key string) func(*command, *record) string {
	return func(_ *command, r *record) string {
		if t := find(of, key, r); t != nil {
			return t.Node
		}
		return ""
	}
}

func usageTask(of measure, key string) func(*command, *record) string {
	return func(_ *command, r *record) string {
		if t := find(of, key, r); t != nil {
			return decimal(t.Task)
		}
		return ""
	}
}

// usageText is all that was measured: "cpu=00:00:03,energy=0,fs/disk=35553,mem=15492K".
func usageText(of measure) func(*command, *record) string {
	return each(of, func(c *command, t *wire.TaskTRES) string {
		switch tresKey(t.TRES) {
		case "cpu":
			return cpuClock(c, t.Count)
		case "mem", "vmem":
			return c.bytes(t.Count)
		case "fs/disk", "pages":
			return c.pages(t.Count)
		}
		return decimal(t.Count)
	})
}

func usageNodes(of measure) func(*command, *record) string {
	return each(of, func(_ *command, t *wire.TaskTRES) string { return t.Node })
}

func usageTasks(of measure) func(*command, *record) string {
	return each(of, func(_ *command, t *wire.TaskTRES) string {
		if t.Type == "energy" { // measured by the node
			return ""
		}
		return decimal(t.Task)
	})
}

// each writes name=text of every TRES of a step, in the order of the alphabet. What has no text is left out.
func each(of measure, text func(*command, *wire.TaskTRES) string) func(*command, *record) string {
	return func(c *command, r *record) string {
		if r.step == nil {
			return ""
		}
		var out []string
		for _, t := range of(r.step) {
			if s := text(c, &t); s != "" {
				out = append(out, tresKey(t.TRES)+"="+s)
			}
		}
		slices.Sort(out)
		return strings.Join(out, ",")
	}
}

// cpuClock writes milliseconds of CPU time.
func cpuClock(_ *command, ms int64) string { return clock(ms / 1000) }

const byteUnits = "KMGTP"

// bytes writes a number of bytes: in the largest unit that needs no more than a half of it, or as
// --units or --noconvert ask.
func (c *command) bytes(n int64) string {
	if c.units != "" {
		return inUnit(n, strings.Index(byteUnits, c.units)+1)
	}
	if c.noConvert {
		return decimal(n)
	}
	unit := 0
	for unit < len(byteUnits) && n >= 1024 && n%512 == 0 {
		if n%1024 != 0 {
			return strconv.FormatFloat(float64(n)/1024, 'f', 2, 64) + byteUnits[unit:unit+1]
		}
		n /= 1024
		unit++
	}
	if unit == 0 {
		return decimal(n)
	}
	return decimal(n) + byteUnits[unit-1:unit]
}

// megabytes is how sacct writes what was read and written, unless a unit is asked for.
func (c *command) megabytes(n int64) string {
	if c.units != "" {
		return inUnit(n, strings.Index(byteUnits, c.units)+1)
	}
	return inUnit(n, 2)
}

// pages are as they were counted, but for --units, which sacct takes for them too.
func (c *command) pages(n int64) string {
	if c.units != "" {
		return inUnit(n, strings.Index(byteUnits, c.units)+1)
	}
	return decimal(n)
}

// inUnit divides by 1024 steps times.
func inUnit(n int64, steps int) string {
	if n == 0 {
		return "0"
	}
	f := float64(n)
	for range steps {
		f /= 1024
	}
	if f == float64(int64(f)) {
		return decimal(int64(f)) + byteUnits[steps-1:steps]
	}
	return strconv.FormatFloat(f, 'f', 2, 64) + byteUnits[steps-1:steps]
}

// frequency writes kHz with the unit's prefix alone: 2.60M.
func frequency(n int64) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.2fM", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.2fK", float64(n)/1e3)
	}
	return decimal(n)
}

func frequencyMin(_ *command, r *record) string { return frequencyText(r, false) }

func frequencyMax(_ *command, r *record) string { return frequencyText(r, true) }

func frequencyText(r *record, most bool) string {
	if r.step == nil {
		return "Unknown"
	}
	n := r.step.CPU.RequestedFrequency.Min
	if most {
		n = r.step.CPU.RequestedFrequency.Max
	}
	if !n.Set {
		return "Unknown"
	}
	return decimal(n.Number)
}

func governor(_ *command, r *record) string {
	if r.step == nil || r.step.CPU.Governor == "" {
		return "Unknown"
	}
	return r.step.CPU.Governor
}

// energy of a job is that of its sruns; of one that has none sacct does not say it.
func energy(_ *command, r *record) string {
	if r.step != nil {
		return decimal(r.step.Statistics.Energy.Consumed.Value())
	}
	var sum int64
	sruns := 0
	for i := range r.Steps {
		if name := stepName(&r.Steps[i]); name != "" && name[0] <= '9' {
			sruns++
			sum += r.Steps[i].Statistics.Energy.Consumed.Value()
		}
	}
	if sruns == 0 && len(r.Steps) > 0 {
		return ""
	}
	return decimal(sum)
}
