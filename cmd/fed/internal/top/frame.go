package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"fsub/accounting"
	"fsub/cmd/fed/internal/cli"
	"fsub/cmd/fed/internal/node"
	"fsub/federation"
	v1 "fsub/federation/api/v1"
	"fsub/federation/plain"
)

// topData is what fed top shows, as the daemon told it last.
type topData struct {
	at    time.Time
	sites []v1.Site
	pools []v1.Pool    // operators only
	nodes []v1.Node    // that take no jobs
	jobs  []v1.JobLine // the first of them
	// counts are how many jobs there are of each state.
	counts []v1.JobCount
	wrong  []v1.Fault
	err    error // why it could not be read: what is shown is old
}

// topView is how it is shown.
type topView struct {
	width, height int
	sort          int // of topSorts
	reverse       bool
	filter        string // only jobs and nodes that have this somewhere in their line
	typing        bool   // the filter is being typed
	paused        bool
}

// topSorts are the columns by which jobs can be sorted.
var topSorts = []struct {
	name    string
	order   string // in which the daemon lists them
	compare func(a, b *v1.JobLine) int
}{
	{"age", "submit", func(a, b *v1.JobLine) int { return a.Submit.Compare(b.Submit) }},
	{"user", "user", func(a, b *v1.JobLine) int { return cmp.Compare(a.User, b.User) }},
	{"state", "state", func(a, b *v1.JobLine) int { return cmp.Compare(a.State, b.State) }},
	{"site", "site", func(a, b *v1.JobLine) int { return cmp.Compare(a.Site, b.Site) }},
	{"reason", "state", func(a, b *v1.JobLine) int { return cmp.Compare(a.Reason, b.Reason) }},
}

// order is the daemon's order of jobs that is nearest to the view's.
func (v *topView) order() string {
	if v.reverse {
		return "-" + topSorts[v.sort].order
	}
	return topSorts[v.sort].order
}

// frame draws what fits into the view. Each section has some lines at least, and the jobs what is left. Nothing is wider than the view.
func (d *topData) frame(v *topView, now time.Time) string {
	lines := []string{d.head(now)}
	for _, f := range d.wrong {
		lines = append(lines, fmt.Sprintf("! %s  (for %s)", cli.OneLine(f.Text), v1.Age(now.Sub(f.Since))))
	}
	if text := d.idle(); text != "" {
		lines = append(lines, text)
	}
	sites, free, pools, nodes, jobs := d.siteLines(now), d.freeLines(), d.poolLines(), d.nodeLines(v.filter), d.jobLines(v, now)
	for _, section := range []struct {
		lines []string
		most  int
	}{{sites, v.height * 2 / 5}, {free, v.height / 6}, {pools, v.height / 6}, {nodes, v.height / 5}} {
		if len(section.lines) > 1 { // a title alone says nothing
			lines = append(lines, cut(section.lines, max(section.most, 3), 0)...)
		}
	}
	lines = append(lines, cut(jobs, max(v.height-1-len(lines), 2), d.left())...)
	for len(lines) < v.height-1 {
		lines = append(lines, "")
	}
	lines = append(lines[:max(v.height-1, 1)], v.keys(d))
	for i, l := range lines {
		lines[i] = clip(l, v.width)
	}
	return strings.Join(lines, "\n")
}

// cut leaves n lines of a section, the last of which says how many more there are: those that are left out, and more that the section does not have.
func cut(section []string, n, more int) []string {
	if len(section) <= n && more == 0 {
		return section
	}
	n = min(n, len(section)+1)
	return append(slices.Clone(section[:n-1]), fmt.Sprintf("  ... %d more", len(section)-n+1+more))
}

// left is how many jobs there are beyond those that were read.
func (d *topData) left() int {
	all := 0
	for _, n := range d.counts {
		if !n.State.Ended() {
			all += int(n.Jobs)
		}
	}
	return max(0, all-len(d.jobs))
}

func clip(line string, width int) string {
	r := []rune(strings.TrimRight(line, " "))
	if len(r) > width {
		return string(r[:max(width-1, 0)]) + "~"
	}
	return string(r)
}

func (d *topData) head(now time.Time) string {
	silent, running, waiting := 0, 0, 0
	for _, s := range d.sites {
		if !s.Answering {
			silent++
		}
	}
	for _, n := range d.counts {
		switch {
		case n.State == federation.Pending:
			waiting += int(n.Jobs)
		case !n.State.Ended():
			running += int(n.Jobs)
		}
	}
	text := fmt.Sprintf("fed %s  %d sites", d.at.Local().Format("15:04:05"), len(d.sites))
	if silent > 0 {
		text += fmt.Sprintf(" (%d silent)", silent)
	}
	text += fmt.Sprintf("  jobs: %d running, %d waiting  nodes out: %d", running, waiting, len(d.nodes))
	switch {
	case d.err != nil && d.at.IsZero():
		text = fmt.Sprintf("fed: no data: %v", d.err)
	case d.err != nil:
		text = fmt.Sprintf("fed: no data since %s: %v", v1.Age(now.Sub(d.at)), d.err)
	}
	return text
}

// idle tells how many GPUs running jobs hold and leave idle, and where; "": none.
func (d *topData) idle() string {
	gpus, jobs := 0, 0
	var at []string
	for i := range d.sites {
		s := &d.sites[i]
		gpus, jobs = gpus+s.GPUsIdleHeld, jobs+s.JobsIdleHeld
		if s.GPUsIdleHeld > 0 {
			at = append(at, fmt.Sprintf("%s %d", s.Name, s.GPUsIdleHeld))
		}
	}
	if gpus == 0 {
		return ""
	}
	return fmt.Sprintf("held and idle: %d GPUs (%s) by jobs: %d", gpus, strings.Join(at, ", "), jobs)
}

func (d *topData) siteLines(now time.Time) []string {
	out := []string{row("SITE", 11, "STATE", 9, "HEALTH", 9, "AGE", 5, "NODES", -5, "IDLE", -5, "GPUS", -5, "FREE", -5, "RUN", -5, "WAIT", -5, "CALLS", -5)}
	for _, s := range d.sites {
		health, age, calls := s.Health(), "-", "-"
		if !s.Seen.IsZero() {
			age = v1.Age(now.Sub(s.Seen))
		}
		if s.CallsPerSecond > 0 {
			calls = fmt.Sprintf("%.0f%%", 100*s.CallsUsed)
		}
		n := func(i int) string { return fmt.Sprint(i) }
		out = append(out, row(string(s.Name), 11, string(s.State), 9, health, 9, age, 5, n(s.Nodes), -5, n(s.NodesIdle), -5, n(s.GPUs), -5, n(s.GPUsFree), -5, n(s.Running), -5, n(s.Bound), -5, calls, -5))
	}
	return out
}

// freeLines tell how whole the free GPUs are, the most fragmented first.
func (d *topData) freeLines() []string {
	type kind struct {
		site federation.SiteName
		*v1.FreeGPUs
	}
	var all []kind
	for i := range d.sites {
		for k := range d.sites[i].Fragments {
			if f := &d.sites[i].Fragments[k]; f.Free > 0 {
				all = append(all, kind{d.sites[i].Name, f})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b kind) int { return cmp.Compare(b.Fragmented, a.Fragmented) })
	out := []string{row("FREE GPUS", 22, "FREE", -6, "ON-NODES", -9, "ON-LEAVES", -9, "ON-BLOCKS", -9, "FRAGMENTED", -10)}
	for _, f := range all {
		n := func(i, of int) string {
			if of == 0 {
				return "-"
			}
			return fmt.Sprint(i)
		}
		out = append(out, row(string(f.site)+"/"+f.Type, 22, n(f.Free, 1), -6, n(f.OnNodes, 1), -9, n(f.OnLeaves, f.Leaves), -9, n(f.OnBlocks, f.Blocks), -9,
			fmt.Sprintf("%.0f%%", 100*f.Fragmented), -10))
	}
	return out
}

func (d *topData) poolLines() []string {
	out := []string{row("POOL", 22, "START", -5, "IDLE", -5, "BUSY", -5, "END", -5, "MAX", -5, "WAIT", -5, "$/H", -8, "TODAY", -8)}
	for _, p := range d.pools {
		n := func(i int) string { return fmt.Sprint(i) }
		out = append(out, row(string(p.Site)+"/"+p.Name, 22, n(p.Starting), -5, n(p.Idle), -5, n(p.Busy), -5, n(p.Ending), -5, n(p.Max), -5, n(p.Waiting), -5, accounting.Bare(p.PricePerHour.Rate()), -8, p.Today.USD(), -8))
	}
	return out
}

// nodeLines are the nodes that take no jobs, by state and reason.
func (d *topData) nodeLines(filter string) []string {
	type key struct{ state, reason string }
	var order []key
	names := map[key][]string{}
	for i := range d.nodes {
		n := &d.nodes[i]
		k := key{node.NodeState(n), node.NodeReason(n)}
		if names[k] == nil {
			order = append(order, k)
		}
		names[k] = append(names[k], string(n.Site)+"/"+n.Name)
	}
	slices.SortStableFunc(order, func(a, b key) int { return cmp.Compare(len(names[b]), len(names[a])) })
	out := []string{row("OUT", -4, "STATE", 10, "NODES", 28, "REASON", 40)}
	for _, k := range order {
		line := row(fmt.Sprint(len(names[k])), -4, k.state, 10, strings.Join(cli.CompressNames(names[k]), ","), 28, k.reason, 200)
		if strings.Contains(strings.ToLower(line), strings.ToLower(filter)) {
			out = append(out, line)
		}
	}
	return out
}

func (d *topData) jobLines(v *topView, now time.Time) []string {
	jobs := slices.Clone(d.jobs)
	by := topSorts[v.sort].compare
	slices.SortStableFunc(jobs, func(a, b v1.JobLine) int {
		if v.reverse {
			return by(&b, &a)
		}
		return by(&a, &b)
	})
	out := []string{row("JOBID", 16, "USER", 9, "NAME", 12, "STATE", 9, "SITE", 9, "AGE", 6, "NODES/REASON", 60)}
	for i := range jobs {
		j := &jobs[i]
		line := row(j.Ref(), 16, j.User, 9, j.Name, 12, string(j.State), 9, string(j.Site), 9, v1.Age(now.Sub(j.Submit)), 6, cmp.Or(j.Nodes, j.Why()), 200)
		if strings.Contains(strings.ToLower(line), strings.ToLower(v.filter)) {
			out = append(out, line)
		}
	}
	return out
}

func (v *topView) keys(d *topData) string {
	if v.typing {
		return "filter: " + v.filter + "_   (enter: keep, esc: none)"
	}
	order := ""
	if v.reverse {
		order = ", reversed"
	}
	text := fmt.Sprintf("q quit  s sort (%s%s)  r reverse  / filter", topSorts[v.sort].name, order)
	if v.filter != "" {
		text += " (" + v.filter + ")"
	}
	if text += "  p pause"; v.paused {
		text += " (paused)"
	}
	return text
}

// row writes cells, each followed by its width: to the left, or for a negative one to the right.
func row(cells ...any) string {
	var b strings.Builder
	for i := 0; i < len(cells); i += 2 {
		text, width := plain.Line(cells[i].(string)), cells[i+1].(int)
		if text == "" {
			text = "-"
		}
		if width < 0 {
			fmt.Fprintf(&b, "%*s ", -width, text)
			continue
		}
		if r := []rune(text); len(r) > width {
			text = string(r[:width-1]) + "~"
		}
		fmt.Fprintf(&b, "%-*s ", width, text)
	}
	return b.String()
}
