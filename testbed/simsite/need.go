package simsite

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/sbatch"
	"fsub/sbatch/gres"
	"fsub/slurm/wire"
)

// need is what a job asks of nodes. Jobs with equal needs share one, and wait in one group: when the first of a group
// does not fit, none of it does.
type need struct {
	key        string
	parts      []*partition
	minNodes   int
	maxNodes   int // 0: no limit
	tasks      int
	perNode    int // tasks per node at most, 0: no limit
	cpusTask   int
	cpusNode   int // at least
	memNode    sbatch.MemMiB
	memCPU     sbatch.MemMiB
	memGPU     sbatch.MemMiB
	memAll     bool
	gresNode   []gresNeed
	gresTask   []gresNeed
	gresJob    []gresNeed
	require    []*node
	exclude    []*node
	features   [][]string // one of these sets of features
	exclusive  bool
	switches   int
	switchWait time.Duration
	resv       *reservation
}

type gresNeed struct {
	name, typ string
	count     int
}

// needKey tells needs apart without parsing them.
func needKey(d *wire.JobDesc) string {
	var b strings.Builder
	for _, s := range [...]string{d.Partition, d.Nodes, d.TRESPerJob, d.TRESPerNode, d.TRESPerTask, d.TRESPerSocket, d.Constraints,
		d.Reservation, d.MemoryPerTRES, strings.Join(d.RequiredNodes, ","), strings.Join(d.ExcludedNodes, ","), strings.Join(d.Shared, ",")} {
		b.WriteString(s)
		b.WriteByte('|')
	}
	var buf [20]byte
	for _, n := range [...]int64{int64(d.MinNodes), int64(d.MaxNodes), int64(d.Tasks), int64(d.TasksPerNode), int64(d.CPUsPerTask),
		int64(d.MinCPUs), int64(d.MinCPUsPerNode), d.MemoryPerNode.Or(-1), d.MemoryPerCPU.Or(-1), d.RequiredSwitches.Value(),
		int64(d.WaitForSwitch)} {
		b.Write(strconv.AppendInt(buf[:0], n, 10))
		b.WriteByte('|')
	}
	return b.String()
}

// needOf reads what a job asks of nodes, or refuses it.
func (s *Site) needOf(d *wire.JobDesc) (*need, error) {
	key := needKey(d)
	if nd := s.needs[key]; nd != nil {
		return nd, nil
	}
	nd := &need{key: key, cpusTask: max(d.CPUsPerTask, 1), cpusNode: d.MinCPUsPerNode, perNode: d.TasksPerNode,
		switches: int(d.RequiredSwitches.Value()), switchWait: time.Duration(d.WaitForSwitch) * time.Second}
	if d.WaitForSwitch == 0 {
		nd.switchWait = 300 * time.Second
	}
	for _, step := range []func(*wire.JobDesc, *need) error{s.needParts, s.needSize, s.needGRES, s.needMemory, s.needNodes} {
		if err := step(d, nd); err != nil {
			return nil, err
		}
	}
	if !s.possible(nd) {
		return nil, errNodeConfig
	}
	s.needs[key] = nd
	return nd, nil
}

func (s *Site) needParts(d *wire.JobDesc, nd *need) error {
	if d.Partition == "" {
		p := s.partition("")
		if p == nil {
			return errNoPartition
		}
		nd.parts = []*partition{p}
		return nil
	}
	for name := range strings.SplitSeq(d.Partition, ",") {
		p := s.partition(name)
		if p == nil || name == "" {
			return errPartition
		}
		nd.parts = append(nd.parts, p)
	}
	return nil
}

func (s *Site) needSize(d *wire.JobDesc, nd *need) error {
	nd.minNodes, nd.maxNodes = max(d.MinNodes, 0), d.MaxNodes
	if d.Nodes != "" {
		for r := range strings.SplitSeq(d.Nodes, ",") {
			lo, hi, isRange := strings.Cut(r, "-")
			if !isRange {
				hi = lo
			}
			a, err1 := strconv.Atoi(lo)
			b, err2 := strconv.Atoi(hi)
			if err1 != nil || err2 != nil || a < 1 || b < a {
				return errNodeCount
			}
			if nd.minNodes == 0 || a < nd.minNodes {
				nd.minNodes = a
			}
			nd.maxNodes = max(nd.maxNodes, b)
		}
	}
	nd.minNodes = max(nd.minNodes, 1)
	nd.tasks = d.Tasks
	if d.Tasks > 0 && d.Tasks < nd.minNodes {
		if s.modern() {
			return errTaskCount
		}
		nd.tasks = nd.minNodes
	}
	if nd.tasks == 0 {
		nd.tasks = nd.minNodes * max(nd.perNode, 1)
	}
	if d.MinCPUs > nd.tasks*nd.cpusTask && d.CPUsPerTask == 0 && d.Tasks == 0 {
		nd.cpusNode = max(nd.cpusNode, (d.MinCPUs+nd.minNodes-1)/nd.minNodes)
	}
	nd.exclusive = d.Shared.Has("none") || d.Shared.Has("exclusive")
	return nil
}

func (s *Site) needGRES(d *wire.JobDesc, nd *need) error {
	for _, f := range []struct {
		text string
		to   *[]gresNeed
	}{{d.TRESPerNode, &nd.gresNode}, {d.TRESPerTask, &nd.gresTask}, {d.TRESPerJob, &nd.gresJob}, {d.TRESPerSocket, &nd.gresNode}} {
		got, err := s.parseTRES(f.text)
		if err != nil {
			return err
		}
		*f.to = append(*f.to, got...)
	}
	return nil
}

// parseTRES reads "gres/gpu:h100:2,gres/nvme=1"; the form gres:gpu:1 is accepted as well, gpu:1 is not.
func (s *Site) parseTRES(text string) ([]gresNeed, error) {
	var out []gresNeed
	for item := range strings.SplitSeq(text, ",") {
		if item == "" || strings.HasPrefix(item, "cpu") {
			continue
		}
		rest, ok := strings.CutPrefix(item, "gres/")
		if !ok {
			if rest, ok = strings.CutPrefix(item, "gres:"); !ok {
				return nil, errTRES
			}
		}
		list, err := gres.Parse(rest)
		if err != nil || len(list) != 1 {
			return nil, errTRES
		}
		g := gresNeed{list[0].Name, list[0].Type, list[0].Count}
		if !s.hasGRES(g.name) {
			return nil, errGRES
		}
		if g.count > 0 {
			out = append(out, g)
		}
	}
	return out, nil
}

func (s *Site) hasGRES(name string) bool {
	for _, n := range s.nodes {
		for _, g := range n.gres {
			if g.Name == name {
				return true
			}
		}
	}
	return false
}

func (s *Site) needMemory(d *wire.JobDesc, nd *need) error {
	switch {
	case d.MemoryPerNode.Set && d.MemoryPerNode.Number == 0:
		nd.memAll = true
	case d.MemoryPerNode.Set:
		nd.memNode = sbatch.MemMiB(d.MemoryPerNode.Number)
	case d.MemoryPerCPU.Set:
		nd.memCPU = sbatch.MemMiB(d.MemoryPerCPU.Number)
	case d.MemoryPerTRES != "":
		got, err := s.parseTRES(d.MemoryPerTRES)
		if err != nil || len(got) != 1 {
			return errTRES
		}
		nd.memGPU = sbatch.MemMiB(got[0].count)
	default:
		nd.memCPU = nd.parts[0].DefMemPerCPU
	}
	return nil
}

func (s *Site) needNodes(d *wire.JobDesc, nd *need) error {
	var err error
	if nd.require, err = s.nodesOf(strings.Join(d.RequiredNodes, ",")); err != nil {
		return err
	}
	if nd.exclude, err = s.nodesOf(strings.Join(d.ExcludedNodes, ",")); err != nil {
		return err
	}
	nd.minNodes = max(nd.minNodes, len(nd.require))
	nd.tasks = max(nd.tasks, nd.minNodes)
	for _, n := range nd.require {
		if !slices.Contains(nd.parts[0].nodes, n) && len(nd.parts) == 1 {
			return errNotInPart
		}
	}
	if nd.features, err = s.parseFeatures(d.Constraints); err != nil {
		return err
	}
	if d.Reservation != "" {
		if nd.resv = s.reservation(d.Reservation); nd.resv == nil {
			return errReservation
		}
	}
	return nil
}

// parseFeatures reads "a&b|c": sets of features of which one is enough. Brackets and counts are not told apart.
func (s *Site) parseFeatures(text string) ([][]string, error) {
	if text == "" {
		return nil, nil
	}
	var out [][]string
	text = strings.Map(func(r rune) rune {
		if strings.ContainsRune("[]() ", r) {
			return -1
		}
		return r
	}, text)
	for alt := range strings.SplitSeq(text, "|") {
		var set []string
		for f := range strings.FieldsFuncSeq(alt, func(r rune) bool { return r == '&' || r == ',' }) {
			f, _, _ = strings.Cut(f, "*")
			known := slices.ContainsFunc(s.nodes, func(n *node) bool { return slices.Contains(n.features, f) })
			if !known {
				return nil, errFeature
			}
			set = append(set, f)
		}
		out = append(out, set)
	}
	return out, nil
}
