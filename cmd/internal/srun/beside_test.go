package srun

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fsub/cloud/layout"
	"fsub/cloud/steps/wire"
)

var besideTable = flag.String("table-beside", "testdata/beside.tsv", "what real srun did with steps beside each other, to compare with")

// TestBeside compares with what real srun did with steps that ran, and waited, beside each other in real jobs. A line "job" is a job's options, nodes and
// environment, and, where ours goes another way, why. The lines below it are what was done in that job, one after the other: a step was started, by its
// options, or ended, by its number from 0 on; and what came of it for which steps. Which of the steps that wait goes first is a matter of chance in Slurm:
// that it can go, and that no other can then, is compared.
func TestBeside(t *testing.T) {
	text, err := os.ReadFile(*besideTable)
	if err != nil {
		t.Fatal(err)
	}
	same, jobs := 0, 0
	because := map[string]int{}
	for _, one := range strings.Split("\n"+strings.TrimSpace(string(text)), "\njob\t")[1:] {
		jobs++
		lines := strings.Split(one, "\n")
		head := append(strings.Split(lines[0], "\t"), "", "")
		differs := besideOne(t, head, lines[1:])
		switch why := head[3]; {
		case differs == "" && why != "":
			t.Errorf("%s\nis said to be another (%s), but is the same", one, why)
		case differs == "":
			same++
		case why == "":
			t.Errorf("%s\n%s", one, differs)
		default:
			because[why]++
		}
	}
	if jobs < 50 {
		t.Errorf("only %d jobs were compared", jobs)
	}
	t.Logf("%d of %d are the same, others: %v", same, jobs, because)
}

// besideOne follows what was done in one job. It returns where ours goes another way, or "".
func besideOne(t *testing.T, head, lines []string) string {
	j := newBesideModel(t, head)
	last := ends(lines)
	for _, line := range lines {
		f := append(strings.Split(line, "\t"), "", "")
		want := changes(f[2])
		maps.DeleteFunc(want, func(n int, _ string) bool { return n < len(j.steps) && j.steps[n].apart })
		differs := ""
		if n, err := strconv.Atoi(f[1]); f[0] == "end" && err == nil {
			j.end(n)
			delete(want, n)
		} else {
			n = len(j.steps)
			differs = j.begin(strings.Fields(f[1]), want[n], last[n])
			delete(want, n)
		}
		if differs == "" {
			differs = j.follow(want)
		}
		if differs != "" {
			return line + "\n" + differs
		}
	}
	return ""
}

// begin starts a step. Of one that real Slurm let wait and never ran ours may say so at once: it is set apart.
func (j *besideModel) begin(args []string, want, last string) string {
	got := j.start(args)
	busy := strings.HasSuffix(want, busyText) // which is what becomes of those that wait with -I
	if (want == "waits" || busy) && last != "" {
		if got != last && got != "waits" && !((last == "waits" || busy) && strings.HasPrefix(got, "1 ")) {
			return "ours " + got
		}
		s := j.steps[len(j.steps)-1]
		s.waits, s.apart = false, true
		return ""
	}
	if want != got {
		return "ours " + got
	}
	return ""
}

const busyText = "Requested nodes are busy"

// changes reads "2 runs ...; 3 0".
func changes(text string) map[int]string {
	all := map[int]string{}
	for item := range strings.SplitSeq(text, "; ") {
		if n, state, ok := strings.Cut(item, " "); ok {
			k, _ := strconv.Atoi(n)
			all[k] = state
		}
	}
	return all
}

// ends are what came of steps in the end, if they never ran: slurmctld lets steps wait that it can never start, some of them for ever, and refuses the others
// when nothing else runs.
func ends(lines []string) map[int]string {
	last := map[int]string{}
	for _, line := range lines {
		for n, state := range changes(append(strings.Split(line, "\t"), "", "")[2]) {
			if !strings.HasPrefix(last[n], "runs") {
				last[n] = state
			}
		}
	}
	maps.DeleteFunc(last, func(_ int, state string) bool { return strings.HasPrefix(state, "runs") })
	return last
}

// besideModel is a job as the books of the agent have it.
type besideModel struct {
	t      *testing.T
	env    []string
	groups [][]layout.Free
	from   []int  // where steps look for nodes first
	asked  []bool // for GPUs
	steps  []*besideStepModel
}

type besideStepModel struct {
	calls   []*call
	request *wire.Request
	said    []string
	waits   bool
	apart   bool            // what comes of it is not compared
	parts   [][]layout.Part // nil: it does not run
}

func newBesideModel(t *testing.T, head []string) *besideModel {
	j := &besideModel{t: t, env: strings.Fields(head[2])}
	nodes := stepNodes(t, head[1])
	components := strings.Split(head[0], " : ")
	for i, c := range components {
		n := len(nodes)
		if len(components) > 1 {
			n, _ = strconv.Atoi(strings.Fields(c[strings.Index(c, "-N")+2:])[0])
			j.env = append(j.env, fmt.Sprintf("SLURM_JOB_ID_HET_GROUP_%d=1", i))
		}
		j.from = append(j.from, 0)
		j.groups, j.asked, nodes = append(j.groups, nodes[:n]), append(j.asked, strings.Contains(c, "gpu")), nodes[n:]
	}
	return j
}

// start is a step's srun: what comes of it at once.
func (j *besideModel) start(args []string) string {
	s := &besideStepModel{}
	j.steps = append(j.steps, s)
	var notices bytes.Buffer
	i := slices.Index(args, ":")
	if i >= 0 {
		args = slices.Concat(args[:i], []string{"true"}, args[i:])
	}
	srun := session{env: j.env, stderr: &notices}
	err := srun.parse(append(args, "true"))
	for line := range strings.Lines(notices.String()) {
		s.said = append(s.said, strings.TrimSpace(line))
	}
	if e, ok := err.(*exit); ok {
		return s.refused(e.code, strings.Split(strings.TrimSpace(e.stderr), "\n")...)
	}
	if s.request, err = request(srun.calls); err != nil {
		j.t.Fatal(err)
	}
	s.calls = srun.calls
	return j.try(s)
}

func (s *besideStepModel) refused(code int, lines ...string) string {
	return strconv.Itoa(code) + " " + strings.Join(append(s.said, lines...), "|")
}

// try is what the books do.
func (j *besideModel) try(s *besideStepModel) string {
	s.waits = false
	err := j.place(s)
	if errors.Is(err, layout.ErrBusy) && !slices.ContainsFunc(j.steps, func(o *besideStepModel) bool { return o.parts != nil }) {
		err = layout.Refuse(layout.TooMany)
	}
	switch r, refused := errors.AsType[*layout.Refused](err); {
	case err == nil:
		return "runs " + s.outlay(j)
	case refused && r.Tried():
		return s.refused(1, "srun: error: Unable to create step for job JOB: "+r.Text)
	case refused:
		return s.refused(1, "srun: error: "+strings.ReplaceAll(r.Text, "\n", "|srun: error: "))
	case s.request.Wait > 0:
		return s.refused(1, "srun: error: Unable to create step for job JOB: "+err.Error())
	}
	s.waits = true
	return "waits"
}

func (j *besideModel) place(s *besideStepModel) error {
	for _, p := range s.request.Parts {
		if p.Group >= len(j.groups) {
			return &layout.Refused{Text: fmt.Sprintf("Requested het-group offset exceeds highest hetjob index (%d > %d)", p.Group, len(j.groups)-1)}
		}
		ask := p.Ask
		ask.Start = j.from[p.Group]
		ask.NoGPUs = ask.NoGPUs || !ask.Asks() && !j.asked[p.Group]
		parts, err := layout.Place(ask, j.groups[p.Group])
		if err != nil {
			j.give(s, -1)
			s.parts = nil
			return err
		}
		s.parts = append(s.parts, parts)
		j.count(p, parts, 1)
	}
	for i, p := range s.request.Parts {
		j.from[p.Group] = layout.Next(s.parts[i], len(j.groups[p.Group]))
	}
	return nil
}

// count takes a part of a step, or gives it back.
func (j *besideModel) count(p wire.Part, parts []layout.Part, sign int) {
	for _, part := range parts {
		n := &j.groups[p.Group][part.Node]
		n.Steps += sign
		if !p.Ask.Overlap {
			n.IdleCPUs, n.IdleMem, n.IdleGPUs = n.IdleCPUs-sign*part.CPUs, n.IdleMem-int64(sign)*part.Mem, n.IdleGPUs-sign*part.GPUs
		}
	}
}

func (j *besideModel) give(s *besideStepModel, sign int) {
	for i, parts := range s.parts {
		j.count(s.request.Parts[i], parts, sign)
	}
}

func (j *besideModel) end(n int) {
	j.give(j.steps[n], -1)
	j.steps[n].parts = nil
}

// follow takes those that wait and were seen to go, in an order in which they can; none that could go may be left.
func (j *besideModel) follow(want map[int]string) string {
	if len(want) == 0 {
		for n, s := range j.steps {
			if s.waits {
				if got := j.try(s); got != "waits" {
					return fmt.Sprintf("ours %d %s", n, got)
				}
			}
		}
		return ""
	}
	first := ""
	for _, n := range slices.Sorted(maps.Keys(want)) {
		if n >= len(j.steps) || !j.steps[n].waits {
			return fmt.Sprintf("%d does not wait", n)
		}
		from := slices.Clone(j.from)
		got, rest := j.try(j.steps[n]), maps.Clone(want)
		delete(rest, n)
		differs := fmt.Sprintf("ours %d %s", n, got)
		if got == want[n] {
			if differs = j.follow(rest); differs == "" {
				return ""
			}
		}
		j.end(n)
		j.from, j.steps[n].waits = from, true
		first = cmp.Or(first, differs)
	}
	return first
}

// outlay is how the step was laid out.
func (s *besideStepModel) outlay(j *besideModel) string {
	o := outlay{nodes: map[string]string{}, perTask: "-"}
	ranks := 0
	for i, parts := range s.parts {
		p := &s.request.Parts[i]
		first, own := ranks, 0
		for _, part := range parts {
			name := j.groups[p.Group][part.Node].Name
			for _, r := range part.Ranks {
				o.tasks = append(o.tasks, [2]string{strconv.Itoa(first + r), strings.TrimPrefix(name, "n")})
			}
			own += len(part.Ranks)
			o.nodes[name] = fmt.Sprintf("%d/%d", part.CPUs, seenGPUs(p.GPUBind, &p.Ask, &part))
		}
		if v, ok := lookup(p.Env, "SLURM_CPUS_PER_TASK"); ok {
			o.perTask = v
		}
		if o.distribution = p.Distribution; o.distribution == "" || o.distribution[0] == ',' {
			o.distribution = layout.Default(p.Ask, own) + o.distribution
		}
		ranks += own
	}
	return o.String()
}
