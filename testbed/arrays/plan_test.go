package arrays

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"fsub/federation"
	"fsub/slurm/hostlist"
)

// plan is an array, perhaps a second one that depends on it, and what is done to both. In its words %A and %B stand for their numbers,
// %A:3 for the number of task 3.
//
// A step is one of
//
//	settle             until what can run has run, or waits for its gate
//	open 3.0           the gate of task 3, in its first run
//	again 3            once the requeued task 3 waits and nothing of its run is left, have it start now
//	COMMAND...         run by both sides, which must say the same
type plan struct {
	seed     uint64
	submit   []string // of the array: options of sbatch
	script   string
	depend   []string // of the one that depends on it; nil: there is none
	gates    map[string]bool
	indices  []int
	limit    int   // of tasks at once
	limiting bool  // all tasks end by themselves, under one limit
	named    []int // the tasks that the second array depends on one by one
	steps    []string
}

func (p *plan) String() string {
	text := fmt.Sprintf("seed %d\nsbatch %s a.sh\n", p.seed, strings.Join(p.submit, " "))
	if p.depend != nil {
		text += fmt.Sprintf("sbatch %s b.sh\n", strings.Join(p.depend, " "))
	}
	text += "gates " + strings.Join(slices.Sorted(maps.Keys(p.gates)), " ") + "\n"
	return text + strings.Join(p.steps, "\n") + "\n--- a.sh\n" + p.script
}

// draw makes plans of random numbers.
type draw struct {
	*rand.Rand
	*plan
	waiting []int // tasks that are held
	running []int // tasks that wait for their gates
}

func newPlan(seed uint64) *plan {
	d := &draw{Rand: rand.New(rand.NewPCG(seed, 9)), plan: &plan{seed: seed, gates: map[string]bool{}}}
	array := d.array(1 + d.IntN(7))
	d.indices, _ = federation.ArrayIndices(array)
	d.limit = federation.ArrayLimit(array)
	d.submit = append([]string{"--array=" + array}, d.options("a")...)
	held := d.chance(80)
	if held {
		d.submit = append(d.submit, "-H")
	}
	d.script = d.task()
	d.waiting = slices.Clone(d.indices)
	if held && d.chance(50) {
		d.depend = d.dependent()
	}
	if held {
		for range d.IntN(4) {
			d.changeWaiting()
		}
	}
	d.release(held)
	d.say("scontrol release %%A") // those held one by one, and those that are requeued and held
	d.say("settle")
	for _, gate := range slices.Sorted(maps.Keys(d.gates)) {
		d.say("open %s", gate)
	}
	d.say("settle")
	d.limiting = !slices.ContainsFunc(d.steps, func(s string) bool {
		return strings.HasPrefix(s, "scancel") || strings.HasPrefix(s, "again") || strings.Contains(s, "Throttle")
	})
	d.say("scancel %%A")
	if d.depend != nil {
		d.say("scancel %%B")
	}
	d.say("settle")
	return d.plan
}

func (d *draw) say(format string, args ...any) {
	d.steps = append(d.steps, fmt.Sprintf(format, args...))
}
func (d *draw) chance(percent int) bool { return d.IntN(100) < percent }
func (d *draw) one(of ...string) string { return of[d.IntN(len(of))] }
func (d *draw) some(of []int, most int) []int {
	return slices.Sorted(slices.Values(d.shuffled(of)[:1+d.IntN(min(most, len(of)))]))
}
func (d *draw) shuffled(of []int) (out []int) {
	for _, i := range d.Perm(len(of)) {
		out = append(out, of[i])
	}
	return out
}

// list writes tasks as all commands read them: scontrol knows no steps in brackets.
func list(tasks []int) string { return hostlist.Ranges(tasks) }

// array draws the argument of --array for n tasks: a range, steps, or a list with gaps, with a limit or without.
func (d *draw) array(n int) string {
	first, step := d.IntN(12), 1
	var text string
	switch d.IntN(3) {
	case 0:
		text = fmt.Sprintf("%d-%d", first, first+n-1)
	case 1: // no more than Slurm writes out: squeue -r of 24.11 leaves out the last task of "10-30:4%3"
		step, n = 2+d.IntN(4), min(n, 5)
		text = fmt.Sprintf("%d-%d:%d", first, first+(n-1)*step+d.IntN(step), step)
	default:
		var words []string
		for at := first; n > 0; at += 2 + d.IntN(5) {
			if run := 1 + d.IntN(min(n, 3)); run > 1 {
				words = append(words, fmt.Sprintf("%d-%d", at, at+run-1))
				at, n = at+run-1, n-run
			} else {
				words = append(words, fmt.Sprint(at))
				n--
			}
		}
		d.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
		text = strings.Join(words, ",")
	}
	if d.chance(45) {
		text += fmt.Sprintf("%%%d", 1+d.IntN(4))
	}
	return text
}

// options draws options that tasks, their files or their lines show.
func (d *draw) options(name string) []string {
	o := []string{"--mem=50M", "-N1", fmt.Sprintf("-t%d", 20+d.IntN(20))} // one node: two tasks are spread over two where nodes are nearly full
	add := func(percent int, words ...string) {
		if d.chance(percent) {
			o = append(o, words[d.IntN(len(words))])
		}
	}
	add(70, "-J"+name+"-sweep", "-J"+name+"_%x")
	add(70, "-o%A_%a.out", "-o%x.%4a.%u.out", "-o%A-%j-%a.out", "-o%J.%2a.out")
	add(30, "-e%A_%a.err", "-e%x.%j.%a.err")
	add(40, "--open-mode=append", "--open-mode=truncate")
	add(40, "-c2", "-n2", "-c1", "-n1")
	add(30, "--comment=of an array", "--comment=x")
	add(30, "--requeue", "--nice=7", "-pshort", "--export=ALL,EXTRA=%a")
	return o
}

// task draws the script of the tasks, which end each in their own way.
func (d *draw) task() string {
	text := taskHead + "case $i in\n"
	for _, i := range d.indices {
		nap, end := d.one("0", "0", "0.3", "1"), d.one("exit 0", "exit 0", "exit 0", "exit 3", "exit 130", "kill -9 $$")
		text += fmt.Sprintf("%d) sleep %s; echo \"- $i\" >>log; %s ;;\n", i, nap, end)
	}
	return text + "esac\n"
}

// taskHead writes down what the task sees, says in its own file which it is, and waits for its gate if there is one.
const taskHead = `#!/bin/bash
i=$SLURM_ARRAY_TASK_ID r=${SLURM_RESTART_COUNT:-0}
trap 'echo signalled; exit 7' USR1
echo "+ $i" >>log
echo "A$SLURM_ARRAY_JOB_ID j$SLURM_JOB_ID a$i run $r"
echo "err $i" >&2
cat /proc/$$/environ >part.$i.$r && mv part.$i.$r seen.$i.$r
while [ -e gate.$i.$r ]; do sleep 0.1; done
`

// dependentScript is that of the tasks of an array that depends on the other one.
const dependentScript = `#!/bin/bash
echo "A$SLURM_ARRAY_JOB_ID j$SLURM_JOB_ID a$SLURM_ARRAY_TASK_ID"
cat /proc/$$/environ >bpart.$SLURM_ARRAY_TASK_ID && mv bpart.$SLURM_ARRAY_TASK_ID bseen.$SLURM_ARRAY_TASK_ID
[ $((SLURM_ARRAY_TASK_ID % 3)) != 1 ]
`

// dependent draws the options of an array that waits for the other one, or for tasks of it.
func (d *draw) dependent() []string {
	array := "--array=" + d.submit[0][len("--array="):]
	array, _, _ = strings.Cut(array, "%")
	if d.chance(40) {
		array = "--array=" + d.array(1+d.IntN(5))
	}
	one, two := d.indices[d.IntN(len(d.indices))], d.indices[d.IntN(len(d.indices))]
	task, other := fmt.Sprintf("%%A_%d", one), fmt.Sprintf("%%A_%d", two)
	on := d.one("aftercorr:%A", "aftercorr:%A", "aftercorr:%A", "afterok:%A", "afterany:%A", "afternotok:%A", "after:%A", "afterok:"+task, "afterany:"+task,
		"afternotok:"+task, "afterany:"+task+":"+other, "afterok:"+task+"?afternotok:"+other)
	if strings.Contains(on, task) {
		d.named = []int{one, two}
	}
	o := append([]string{array, "--dependency=" + on}, d.options("b")...)
	if d.chance(30) {
		o = append(o, "--kill-on-invalid-dep=yes")
	}
	return o
}

// changeWaiting draws something that is done to tasks that are held. None is cancelled that others depend on: Slurm forgets a task that is cancelled
// while it waits, if others of its array go on, and lets run what depends on its success. Here that never runs, as it does not for a cancelled job. Nor is
// one changed by itself where they start one after another: slurmctld starts those first, by their index, and we in the order in which they were changed.
func (d *draw) changeWaiting() {
	if len(d.waiting) == 0 {
		return
	}
	i := d.waiting[d.IntN(len(d.waiting))]
	cancel := func(format, names string, some []int) {
		if !slices.ContainsFunc(some, func(i int) bool { return slices.Contains(d.named, i) }) {
			d.say(format, names)
			d.waiting = slices.DeleteFunc(d.waiting, func(i int) bool { return slices.Contains(some, i) })
		}
	}
	what := d.IntN(13)
	if d.limit > 0 && slices.Contains([]int{2, 3, 5, 7}, what) {
		return
	}
	switch what {
	case 0:
		cancel("scancel %%A_%s", fmt.Sprint(i), []int{i})
	case 1:
		some := d.some(d.waiting, 3)
		cancel("scancel %%A_[%s]", list(some), some)
	case 2:
		d.say("scontrol update jobid=%%A_%d timelimit=%d", i, 5+d.IntN(10))
	case 3:
		d.say("scontrol update jobid=%%A_%d comment=by-itself", i)
	case 4:
		d.limit = 1 + d.IntN(4)
		d.say("scontrol update jobid=%%A ArrayTaskThrottle=%d", d.limit)
	case 5:
		d.say("scontrol hold %%A_%d", i)
	case 6:
		d.say("scontrol requeue %%A_%d", i)
	case 7:
		d.say("scontrol update jobid=%%A_[%s] nice=10", list(d.some(d.waiting, 3)))
	case 8:
		cancel("scancel -t PENDING %%A_%s", fmt.Sprint(i), []int{i})
	case 9:
		d.say("scancel -t RUNNING %%A")
	case 10:
		d.say("scontrol update jobid=%%A comment=whole")
	case 11:
		d.say("scontrol update jobid=%%A timelimit=%d", 15+d.IntN(5))
	case 12:
		if d.depend != nil && d.chance(50) {
			d.say("scontrol hold %%B")
			d.say("scontrol release %%B")
		} else {
			d.say("scancel %%A_%d", 900+i)
		}
	}
}

// release lets tasks start, all or some of them, and does things with those that run.
func (d *draw) release(held bool) {
	ready := d.waiting
	if held && len(ready) > 2 && d.chance(40) {
		ready = d.some(ready, len(ready)-1)
	}
	most := 3
	if d.limit > 0 {
		most = min(most, d.limit)
	}
	if len(ready) > 0 {
		d.running = d.some(ready, most)
	}
	for _, i := range d.running {
		d.gates[fmt.Sprintf("%d.0", i)] = true
	}
	switch {
	case !held:
	case len(ready) < len(d.waiting):
		d.say("scontrol release %%A_[%s]", list(ready))
	default:
		d.say("scontrol release %%A")
	}
	d.say("settle")
	for _, i := range d.running {
		d.follow(i, 0)
		if d.chance(8) {
			d.say("%s", d.one("scancel %A", "scancel -t RUNNING %A", "scancel -t PENDING %A"))
			d.say("settle")
			return
		}
	}
}

// follow draws what becomes of a task whose run waits for its gate.
func (d *draw) follow(i, run int) {
	open := func() { d.say("open %d.%d", i, run) }
	again := func() {
		if run++; d.chance(50) {
			d.gates[fmt.Sprintf("%d.%d", i, run)] = true
		}
		d.say("again %d", i)
		d.say("settle")
		if d.gates[fmt.Sprintf("%d.%d", i, run)] {
			d.follow(i, run)
		}
	}
	switch d.IntN(14) {
	case 0, 1:
		d.say("scancel %%A_%d", i)
	case 2:
		d.say("scancel %%A:%d", i)
	case 3, 4, 5, 6:
		if run < 2 {
			d.say("scontrol requeue %s", d.one(fmt.Sprintf("%%A_%d", i), fmt.Sprintf("%%A:%d", i)))
			again()
			return
		}
		open()
	case 7:
		if run < 2 {
			d.say("scontrol requeuehold %%A_%d", i)
			d.say("await-held %d", i)
			d.say("scontrol release %%A_%d", i)
			again()
			return
		}
		open()
	case 8:
		d.say("scontrol update jobid=%%A_%d timelimit=%d", i, 2+d.IntN(3))
		open()
	case 9:
		d.say("scancel -b -s USR1 %%A_%d", i)
	case 10:
		d.say("scontrol hold %%A_%d", i)
		d.say("settle")
		d.say("scontrol release %%A_%d", i)
		open()
	case 11:
		d.say("scontrol update jobid=%%A:%d comment=late", i)
		open()
		d.say("settle")
		d.say("scancel %%A_%d", i)
		d.say("scontrol update jobid=%%A_%d comment=later", i)
	default:
		open()
	}
	d.say("settle")
}

// A plan can be drawn from every seed, and its gates are for tasks that there are.
func TestPlans(t *testing.T) {
	words := map[string]int{}
	for seed := range uint64(2000) {
		p := newPlan(seed)
		for gate := range p.gates {
			var i, run int
			if _, err := fmt.Sscanf(gate, "%d.%d", &i, &run); err != nil || !slices.Contains(p.indices, i) {
				t.Fatalf("gate %s of\n%s", gate, p)
			}
		}
		for _, s := range p.steps {
			words[strings.Fields(s)[0]+" "+strings.Trim(strings.Fields(s + " -")[1], "%AB_:0123456789.,[]-")]++
		}
	}
	for _, w := range []string{"scontrol requeue", "scontrol requeuehold", "scontrol hold", "scontrol release", "scontrol update", "scancel ", "again ", "open ", "settle "} {
		if words[w] == 0 {
			t.Errorf("no plan has %q: %v", w, words)
		}
	}
}
