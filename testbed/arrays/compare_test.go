package arrays

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"fsub/federation"
)

var (
	stamp     = regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+`)
	aNode     = regexp.MustCompile(`(alpha|gamma|delta|leaf)\d+`)
	someNodes = regexp.MustCompile(`(alpha|gamma|delta)\[[^]]*\]`)
	number    = regexp.MustCompile(`\d{5,}`)
)

// masked is a text with words for what no two jobs have in common: their directory, times, nodes, and numbers. Which task has the array's own number
// is a matter of chance in Slurm (that which starts last, or is left when the others have been split off), so that both numbers get one word.
func (s *side) masked(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, s.dir, "DIR"), "/usr/bin/sbatch ", "sbatch ")
	text = aNode.ReplaceAllString(someNodes.ReplaceAllString(stamp.ReplaceAllString(text, "TIME"), "$1[#]"), "$1#")
	return s.today(number.ReplaceAllString(socket.ReplaceAllString(text, "fsub.sock"), "NUMBER"))
}

// except are variables of the environment whose value differs from one job to the next also if sbatch submits both.
var except = map[string]string{
	"SLURM_JOB_START_TIME": "a second apart",
	"SLURM_JOB_END_TIME":   "a second apart",
	"SLURM_TASK_PID":       "a process of its own",
	"SLURM_JOB_SLUID":      "another name of the job, 26.05",
	"SLURM_SUBMIT_HOST":    "the host where the command was called",
}

// ours are variables that only our jobs have, with the reason.
var ours = map[string]string{
	"FSUB_JOB_ID":       "the federated number at a site that gives numbers of its own, for commands in the job",
	"FSUB_ARRAY_JOB_ID": "the same of an array",
	"FSUB_RESTARTS":     "how often the federation has submitted it again",
	"PATH":              "our commands come first in a job",
}

// environments are the variables of all runs of all tasks, a line each.
func (s *side) environments() []string {
	files, _ := filepath.Glob(filepath.Join(s.dir, "*seen.*"))
	var lines []string
	for _, f := range files {
		text, _ := os.ReadFile(f)
		for _, kv := range strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00") {
			name, value, _ := strings.Cut(kv, "=")
			switch {
			case ours[name] != "":
				continue
			case except[name] != "":
				value = "..."
			}
			lines = append(lines, filepath.Base(f)+" "+name+"="+s.masked(value))
		}
	}
	sort.Strings(lines)
	return lines
}

// private are the files that are not the output of tasks.
var private = regexp.MustCompile(`^(a\.sh|b\.sh|gate\..*|b?seen\..*|b?part\..*|log)$`)

// childGone is said by a shell if a signal is late to it, and its child is gone before.
var childGone = regexp.MustCompile(`(?m)^Terminated( +sleep \S+)?\n`)

// files are the output files, with what is in them.
func (s *side) files() []string {
	entries, _ := os.ReadDir(s.dir)
	var all []string
	for _, e := range entries {
		if private.MatchString(e.Name()) {
			continue
		}
		text, _ := os.ReadFile(filepath.Join(s.dir, e.Name()))
		// slurmrestd of 24.11 and 22.05 cannot requeue: there a run is cancelled, and the task is submitted again.
		text = bytes.ReplaceAll(text, []byte(" DUE TO JOB REQUEUE ***"), []byte(" ***"))
		text = childGone.ReplaceAll(text, nil)
		info, err := e.Info()
		if err != nil {
			continue
		}
		all = append(all, s.masked(fmt.Sprintf("%s %v %q", e.Name(), info.Mode(), text)))
	}
	sort.Strings(all)
	return all
}

func (pr *pair) files() [2][]string { return [2][]string{pr.sides[0].files(), pr.sides[1].files()} }

// numbersAgree reports the files whose name has other numbers than their task has said.
func (s *side) numbersAgree() (bad []string) {
	entries, _ := os.ReadDir(s.dir)
	line := regexp.MustCompile(`A(\d+) j(\d+) a(\d+)`)
	for _, e := range entries {
		text, _ := os.ReadFile(filepath.Join(s.dir, e.Name()))
		said := line.FindSubmatch(text)
		if said == nil || private.MatchString(e.Name()) {
			continue
		}
		for _, n := range number.FindAllString(e.Name(), -1) {
			if n != string(said[1]) && n != string(said[2]) {
				bad = append(bad, e.Name()+" says "+string(said[0]))
			}
		}
		if strings.HasPrefix(e.Name(), string(said[1])+"_") || string(said[1]) == string(said[2]) || s.name == "sbatch" {
			continue
		}
		if strings.HasPrefix(e.Name(), string(said[1])+".") { // %J
			bad = append(bad, e.Name()+" says "+string(said[0]))
		}
	}
	return bad
}

// accounting is what sacct says of the arrays, sorted, masked.
func (s *side) accounting(pr *pair, options []string) []string {
	var all []string
	for _, letter := range []string{"A", "B"} {
		if s.ids[letter] == "" {
			continue
		}
		out := s.run(pr.t, append([]string{"sacct", "-n", "-j", s.ids[letter]}, s.columns(options)...)...)
		for line := range strings.Lines(out.stdout) {
			all = append(all, oneByOne(letter+" "+s.masked(strings.TrimSpace(line)))...)
		}
		if out.stderr != "" || out.code != 0 {
			all = append(all, fmt.Sprintf("%s exit %d: %s", letter, out.code, s.masked(out.stderr)))
		}
	}
	sort.Strings(all)
	return slices.DeleteFunc(all, func(l string) bool { return s.site == "delta" && nameless.MatchString(l) })
}

var (
	socket  = regexp.MustCompile(`fsub\d\.sock`) // of several daemons: jobs are told another one than was asked
	rest    = regexp.MustCompile(`^(. NUMBER_)\[([^]%]*)[^]]*\](\|.*(?:CANCELLED|PENDING).*)$`)
	onlyOne = regexp.MustCompile(`^(. NUMBER_)\[(\d+)(?:%\d+)?\](\|.*)$`)
)

// oneByOne writes tasks that have not started a line each. Slurm has one line for those that were the last of their array to wait,
// as they have the array's own record, and a line each for others; here tasks that were cancelled by themselves have a line each. One that is left to
// wait has brackets or has none, as the others have started, or have been changed and so split off.
func oneByOne(line string) (lines []string) {
	m := rest.FindStringSubmatch(line)
	if m == nil {
		return []string{onlyOne.ReplaceAllString(line, "$1$2$3")}
	}
	indices, _ := federation.ArrayIndices(m[2])
	for _, i := range indices {
		lines = append(lines, fmt.Sprint(m[1], i, m[3]))
	}
	return lines
}

// compareAccounting waits until sacct says the same of both.
func (pr *pair) compareAccounting(when string, options []string) {
	pr.t.Helper()
	pr.same("sacct "+strings.Join(options, " ")+" "+when, func() (lines [2][]string) {
		for i, s := range pr.sides {
			lines[i] = s.accounting(pr, options)
		}
		// slurmctld tells slurmdbd of tasks that it has made records of their own (for they were changed, or wait each for a task of another array)
		// only when they start or end. Where the two list other tasks as waiting, squeue alone compares those.
		begun := func(l string) bool { return !strings.Contains(l, "|PENDING|") }
		if !slices.Equal(slices.DeleteFunc(slices.Clone(lines[0]), begun), slices.DeleteFunc(slices.Clone(lines[1]), begun)) {
			for i := range lines {
				lines[i] = slices.DeleteFunc(lines[i], func(l string) bool { return !begun(l) })
			}
		}
		// Slurm forgets tasks that were cancelled while they waited, if others of their array went on to wait. Here they have a line each.
		lines[1] = slices.DeleteFunc(lines[1], func(l string) bool {
			return strings.Contains(l, "|CANCELLED") && strings.Contains(l, "|None assigned|") && !slices.Contains(lines[0], l)
		})
		return lines
	})
}

// same waits until both sides say the same, and reports what they say if they do not.
func (pr *pair) same(what string, of func() [2][]string) {
	pr.t.Helper()
	var saids [2][]string
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(500 * time.Millisecond) {
		if saids = of(); slices.Equal(saids[0], saids[1]) {
			return
		}
	}
	pr.t.Errorf("%s (-sbatch +fsub):\n%s", what, difference(saids[0], saids[1]))
}

// difference is what only one of two sorted lists has.
func difference(a, b []string) string {
	var only []string
	for _, l := range a {
		if !slices.Contains(b, l) {
			only = append(only, "- "+l)
		}
	}
	for _, l := range b {
		if !slices.Contains(a, l) {
			only = append(only, "+ "+l)
		}
	}
	if only == nil {
		return cmp.Diff(a, b)
	}
	return strings.Join(only, "\n")
}

// columns are those of sacct that do not differ between any two jobs. Not among them are Priority (a site's own number, and ours), Flags (which of
// slurmctld's two schedulers was faster), Reason (why a job last waited: a task that is held here, or waits for another, never is at its site, and
// only the site's accounting keeps that) and Cluster (before a task has a site it is the federation).
const columns = "jobid,jobidraw,jobname,user,uid,group,account,partition,qos,state,exitcode,derivedexitcode,restarts,timelimit," +
	"reqcpus,reqnodes,reqmem,reqtres,alloccpus,allocnodes,alloctres,ncpus,nnodes,nodelist,constraints,comment,workdir,submitline,submit,start,end"

// allRuns has sacct tell of the runs before the last one, too.
var allRuns = []string{"-X", "-D", "-P", "-o", "jobid,state,nodelist,exitcode,start,end"}

// compare compares what is left when all has ended.
func (pr *pair) compare() {
	pr.same("environments", func() [2][]string { return [2][]string{pr.sides[0].environments(), pr.sides[1].environments()} })
	pr.same("output files", pr.files)
	pr.compareAccounting("at the end", []string{"-X", "-P", "-o", columns})
	pr.compareAccounting("of all runs at the end", allRuns)
	if pr.sides[0].site != "delta" { // the API of 22.05 tells nothing of steps
		pr.compareAccounting("of steps at the end", []string{"-P", "-o", "jobid,jobname,state,nodelist,exitcode,alloccpus,nnodes,ntasks"})
	}
	for _, s := range pr.sides {
		for _, bad := range s.numbersAgree() {
			if s.site == "delta" { // the file has the federated number, and the task says the site's own
				continue
			}
			pr.t.Errorf("%s: file %s", s.name, bad)
		}
		pr.checkLimit(s)
	}
}

// checkLimit reads the tasks' own log: of an array whose tasks end by themselves never more ran at once than its limit.
func (pr *pair) checkLimit(s *side) {
	if pr.plan.limit == 0 || !pr.plan.limiting {
		return
	}
	text, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	now, most := map[int]bool{}, 0
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		i, _ := strconv.Atoi(f[1])
		if now[i] = f[0] == "+"; !now[i] {
			delete(now, i)
		}
		most = max(most, len(now))
	}
	if most > pr.plan.limit {
		pr.t.Errorf("%s: %d tasks ran at once, the limit is %d:\n%s", s.name, most, pr.plan.limit, text)
	}
}
