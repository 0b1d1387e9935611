package arrays

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// patience is how long anything may take on a machine that is busy with other tests.
const patience = 3 * time.Minute

// pair carries out a plan on both sides.
type pair struct {
	t     *testing.T
	plan  *plan
	sides [2]*side // sbatch, fsub
}

func newPair(t *testing.T, site string, p *plan) *pair {
	pr := &pair{t: t, plan: p}
	for i, name := range []string{"sbatch", "fsub"} {
		s := newSide(t, name, site, fmt.Sprint(p.seed))
		s.write(t, "a.sh", p.script)
		s.write(t, "b.sh", dependentScript)
		for gate := range p.gates {
			s.write(t, "gate."+gate, "")
		}
		pr.sides[i] = s
	}
	return pr
}

// explain logs, if the test has failed, what the plan was and what is known of its arrays.
func (pr *pair) explain() {
	if !pr.t.Failed() {
		return
	}
	pr.t.Logf("the plan:\n%s", pr.plan)
	for _, s := range pr.sides {
		for letter := range s.ids {
			s.tell(pr.t, letter)
		}
	}
}

// carryOut does all that the plan says. It ends at the first step of which the two make something else.
func (pr *pair) carryOut() {
	pr.submit("A", pr.plan.submit, "a.sh")
	if pr.plan.depend != nil {
		pr.submit("B", pr.plan.depend, "b.sh")
	}
	began := time.Now()
	for n, step := range pr.plan.steps {
		pr.t.Logf("%5.1fs  step %d: %s", time.Since(began).Seconds(), n+1, step)
		words := strings.Fields(step)
		switch words[0] {
		case "settle":
			pr.settle()
		case "open":
			for _, s := range pr.sides {
				s.remove("gate." + words[1])
			}
		case "again":
			pr.again(words[1])
		case "await-held":
			pr.await(words[1], "PD|JobHeldUser")
		default:
			pr.both(words)
		}
		if pr.t.Failed() {
			return
		}
	}
}

func (pr *pair) submit(letter string, options []string, script string) {
	var outs [2]said
	for i, s := range pr.sides {
		args := []string{"sbatch", "--parsable"}
		for _, o := range options {
			if strings.HasPrefix(o, "--dependency=") {
				o = s.replace(o)
			}
			args = append(args, o)
		}
		out := s.run(pr.t, append(args, script)...)
		s.ids[letter] = strings.TrimSpace(out.stdout)
		outs[i] = out
		pr.t.Cleanup(func() { s.cancel(letter) })
	}
	if outs[0].code != 0 || outs[0].code != outs[1].code || pr.sides[0].masked(outs[0].stderr) != pr.sides[1].masked(outs[1].stderr) {
		pr.t.Fatalf("submission of %s: sbatch says %+v, ours %+v", letter, outs[0], outs[1])
	}
}

// both has both sides run a command, and compares what they say.
func (pr *pair) both(words []string) {
	var saids [2]string
	for i, s := range pr.sides {
		args := make([]string, len(words))
		for k, w := range words {
			args[k] = s.resolve(pr.t, w)
		}
		out := s.run(pr.t, args...)
		saids[i] = fmt.Sprintf("exit %d\n%s%s", out.code, s.masked(out.stdout), s.masked(out.stderr))
		if slices.Contains(words, "%A") || slices.Contains(words, "%B") || slices.Contains(words, "jobid=%A") {
			saids[i] = withoutEnded(saids[i])
		}
		if s.site == "delta" && saids[i] == "exit 1\n" {
			saids[i] = "exit 0\n"
		}
		if slices.Contains(words, "USR1") { // slurmctld answers once the task has the signal, and says so if it has ended by then
			saids[i] = strings.Replace(saids[i], "exit 229\n", "exit 0\n", 1)
		}
		if slices.Contains(words, "comment=later") { // the task has ended, and may be forgotten
			saids[i] = strings.ReplaceAll(saids[i], "Invalid job id specified", "Job has already finished")
		}
	}
	if saids[0] != saids[1] {
		pr.t.Errorf("%s (-sbatch +fsub):\n%s", strings.Join(words, " "), cmp.Diff(saids[0], saids[1]))
	}
}

// ended are words of slurmctld about tasks that have ended within MinJobAge, and about arrays that have ended before.
var ended = regexp.MustCompile(`(?m)^(NUMBER_\S+: (Job has already finished|No error)|(slurm_suspend error: )?Invalid job id specified( for job NUMBER)?|` +
	`(slurm_suspend error: )?Job has already finished( for job NUMBER)?)\n`)

// withoutEnded leaves out of what a command says of a whole array that tasks of it have ended: slurmctld says so of those that it remembers, which
// is a matter of time. The others have been changed all the same.
func withoutEnded(said string) string {
	if left := ended.ReplaceAllString(said, ""); left == "exit 1\n" {
		return "exit 0\n"
	}
	return said
}

// calm reports whether nothing will happen any more to the tasks that a queue shows, unless somebody does it.
func (s *side) calm(rows []string) bool {
	for _, row := range rows {
		f := strings.SplitN(row, "|", 4)
		if len(f) < 3 {
			return false
		}
		name := f[0]
		switch f[1] {
		case "R":
			index := strings.TrimPrefix(name, "A_")
			if !slices.ContainsFunc([]string{".0", ".1", ".2", ".3"}, func(run string) bool {
				return s.has("gate."+index+run) && s.has("seen."+index+run) && !s.has("seen."+index+"."+string(run[1]+1))
			}) {
				return false
			}
		case "PD":
			if !slices.Contains([]string{"JobHeldUser", "JobArrayTaskLimit", "Dependency"}, f[2]) {
				return false
			}
		case "CG", "CF":
			return false
		}
	}
	return true
}

// settle waits until both sides are calm and show the same.
func (pr *pair) settle() {
	pr.t.Helper()
	pause := time.Second
	if pr.plan.depend != nil {
		pause = 3 * time.Second // slurmctld looks at dependencies now and then
	}
	var rows, was [2][]string
	since := time.Now()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(250 * time.Millisecond) {
		calm := true
		for i, s := range pr.sides {
			rows[i] = s.queue(pr.t)
			calm = calm && s.calm(rows[i])
		}
		if !calm || !slices.Equal(rows[0], rows[1]) || !slices.Equal(rows[0], was[0]) {
			was, since = rows, time.Now()
		}
		if time.Since(since) > pause {
			pr.t.Logf("  %s", strings.Join(rows[0], " "))
			pr.compareAccounting("while it runs", []string{"-X", "-P", "-o", "jobid,jobname,partition,account,alloccpus,state,nodelist,exitcode"})
			return
		}
	}
	pr.t.Errorf("squeue (-sbatch +fsub):\n%s", cmp.Diff(rows[0], rows[1]))
}

// await waits until a task of the array is as wanted on both sides.
func (pr *pair) await(index, want string) {
	pr.t.Helper()
	for _, s := range pr.sides {
		var row string
		deadline := time.Now().Add(patience)
		for {
			row = strings.TrimSpace(s.run(pr.t, "squeue", "-h", "-j", s.ids["A"]+"_"+index, "-o", "%t|%r").stdout)
			row = strings.Replace(row, heldAgain, "JobHeldUser", 1)
			if strings.HasPrefix(row, want) {
				break
			}
			if time.Now().After(deadline) {
				pr.t.Fatalf("task %s of %s is %q, want %q", index, s.name, row, want)
			}
			time.Sleep(200 * time.Millisecond)
		}
	}
}

// again has a requeued task start. Slurm lets it wait for two minutes; and it takes the end of the first run for that of the second if it is too near.
func (pr *pair) again(index string) {
	pr.await(index, "PD")
	time.Sleep(6 * time.Second)
	pr.both([]string{"scontrol", "update", "jobid=%A_" + index, "starttime=now"})
}

var reference = regexp.MustCompile(`%([AB])(:\d+)?`)

// replace puts the numbers of arrays into words of a plan.
func (s *side) replace(word string) string {
	return reference.ReplaceAllStringFunc(word, func(m string) string {
		if id := s.ids[m[1:2]]; id != "" && len(m) == 2 {
			return id
		}
		return m
	})
}

// resolve is replace, and knows the numbers of tasks, too. One that has the array's own is named by its index: Slurm takes the number for all of the array.
func (s *side) resolve(t *testing.T, word string) string {
	return s.replace(reference.ReplaceAllStringFunc(word, func(m string) string {
		_, index, named := strings.Cut(m, ":")
		if !named {
			return m
		}
		name := s.ids[m[1:2]] + "_" + index
		number := strings.TrimSpace(s.run(t, "squeue", "-h", "-r", "-j", name, "-o", "%A").stdout)
		if number == s.ids[m[1:2]] || s.site == "delta" { // where scancel does not find a requeued task by its number
			return name
		}
		return number
	}))
}
