package srun

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"fsub/testbed/bed"
)

var recordBeside = flag.String("record-beside", "", "write down in this file what real srun did with random steps beside each other")

// besideShapes are the jobs in which steps run beside each other.
var besideShapes = []string{
	"-N1 -n4", "-N2 -n6", "-N2 --ntasks-per-node=4", "-N3 --ntasks-per-node=2", "-N1 -n8 --gpus=4", "-N2 --ntasks-per-node=4 --gpus-per-node=2", "-N2 -n4 -c2",
	"-n3 -N1 : -n4 -N2",
}

// TestRecordBeside asks real srun, in one job for each shape.
func TestRecordBeside(t *testing.T) {
	if *recordBeside == "" {
		t.Skip("SKIPPED: it writes down what real srun does for who says -record-beside FILE")
	}
	shapes := besideShapes
	if *shape != "" {
		shapes = []string{*shape}
	}
	b := realSite(t)
	for _, job := range shapes {
		t.Run(job, func(t *testing.T) {
			t.Parallel()
			var lines []string
			for range *many {
				r := newBeside(t, b, job)
				r.try(rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)))
				r.cancel()
				lines = append(lines, r.lines...)
			}
			f, err := os.OpenFile(*recordBeside, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			f.WriteString(strings.Join(lines, "\n") + "\n") // at once: others write too
		})
	}
}

// besideJob starts a step for each file start.N, which has its options. Its tasks run until there is a file go.N.
const besideJob = `#!/bin/bash
set -f
cd "$(dirname "$(readlink -f "$LOG")")"
env >environment
{ scontrol show job -d "$SLURM_JOB_ID"; } >job
mkfifo pipe
cat >task <<'TASK'
echo "$SLURM_PROCID $SLURMD_NODENAME $SLURM_LOCALID $SLURM_CPUS_ON_NODE ${CUDA_VISIBLE_DEVICES:--} ${SLURM_CPUS_PER_TASK:--} ${SLURM_DISTRIBUTION:--} $SLURM_NTASKS" >"$1.tmp.$SLURM_PROCID"
mv "$1.tmp.$SLURM_PROCID" "$1.up.$SLURM_PROCID"
until [ -e "$1.go" ]; do read -r -t 0.05 <>pipe; done
exit 0
TASK
touch ready
n=0
while :; do
	if [ -e "start.$n" ]; then
		(
			call=$(<"start.$n")
			case $call in
			*" : "*) srun ${call%% : *} bash task $n : ${call#* : } bash task $n ;;
			*) srun $call bash task $n ;;
			esac >"$n.out" 2>"$n.errs" </dev/null
			echo $? >"$n.code.tmp"
			mv "$n.code.tmp" "$n.code"
		) &
		n=$((n+1))
	fi
	read -r -t 0.02 <>pipe
done
`

// beside is a real job whose steps run beside each other.
type beside struct {
	t           *testing.T
	bed         *bed.Bed
	dir, job    string
	id          string
	next, nodes int
	states      map[int]string
	lines       []string
}

func newBeside(t *testing.T, b *bed.Bed, job string) *beside {
	alice, err := bed.FindUser("alice")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(b.Home("alice"), "beside-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	os.Chown(dir, alice.UID, alice.UID)
	os.Chmod(dir, 0o777)
	r := &beside{t: t, bed: b, dir: dir, job: job, states: map[int]string{}}
	r.write("job.sh", strings.Replace(besideJob, "$LOG", filepath.Join(dir, "job.sh"), 1))
	var said bytes.Buffer
	args := append([]string{"sbatch", "-t60", "-o", "log"}, strings.Fields(job)...)
	if err := b.Exec(t.Context(), bed.Cmd{Site: "alpha", User: "alice", Dir: dir, Stdout: &said, Stderr: &said, Args: append(args, "job.sh")}); err != nil {
		t.Fatalf("%v: %s", err, &said)
	}
	r.id = regexp.MustCompile(`\d+`).FindString(said.String())
	for !r.has("ready") {
		time.Sleep(50 * time.Millisecond)
	}
	nodes := jobNodes(t, r.read("job"))
	r.nodes = strings.Count(nodes, ":")
	r.lines = []string{"job\t" + job + "\t" + nodes + "\t" + jobEnv(r.read("environment"))}
	return r
}

func (r *beside) cancel() {
	if err := r.bed.Exec(r.t.Context(), bed.Cmd{Site: "alpha", User: "alice", Args: []string{"scancel", r.id}}); err != nil {
		r.t.Error(err)
	}
}

func (r *beside) write(name, text string) {
	file := filepath.Join(r.dir, name)
	if err := os.WriteFile(file+".new", []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
	os.Rename(file+".new", file)
}

func (r *beside) has(name string) bool {
	_, err := os.Stat(filepath.Join(r.dir, name))
	return err == nil
}

func (r *beside) read(name string) string {
	text, _ := os.ReadFile(filepath.Join(r.dir, name))
	return regexp.MustCompile(`\balpha(\d|\[)`).ReplaceAllString(string(text), "n$1")
}

// state is how far a step is: "waits", "runs" with its layout, or its exit code and words.
func (r *beside) state(n int) string {
	k := strconv.Itoa(n)
	ups, _ := filepath.Glob(filepath.Join(r.dir, k+".up.*"))
	out := ""
	for _, up := range ups {
		out += r.read(filepath.Base(up))
	}
	if code := strings.TrimSpace(r.read(k + ".code")); code != "" {
		if out != "" {
			return code
		}
		errs := regexp.MustCompile(`step for job \d+`).ReplaceAllString(r.read(k+".errs"), "step for job JOB")
		return strings.ReplaceAll(realStep(code, "", errs), "\t", " ")
	}
	if f := strings.Fields(out); len(f) < 8 || f[7] != strconv.Itoa(len(ups)) {
		return "waits"
	}
	text, _, _ := strings.Cut(realStep("", out, ""), "\t")
	return "runs" + text
}

// settle waits until nothing has changed for some time, and tells what has.
func (r *beside) settle(first int) string {
	look := func() (all string, changed []string) {
		for n := first; n < r.next; n++ {
			s := r.state(n)
			all += s + "\n"
			if s != r.states[n] {
				changed = append(changed, fmt.Sprintf("%d %s", n-first, s))
			}
		}
		return all, changed
	}
	last, _ := look()
	for since := time.Now(); time.Since(since) < quiet(last); time.Sleep(30 * time.Millisecond) {
		if now, _ := look(); now != last {
			since, last = time.Now(), now
		}
	}
	_, changed := look()
	for n := first; n < r.next; n++ {
		r.states[n] = r.state(n)
	}
	return strings.Join(changed, "; ")
}

// quiet is how long nothing must change: slurmctld wakes steps that wait when it likes.
func quiet(states string) time.Duration {
	if strings.Contains(states, "waits") {
		return 4 * time.Second
	}
	return 1500 * time.Millisecond
}

// try starts and ends steps at random.
func (r *beside) try(rnd *rand.Rand) {
	first := r.next
	running := func() (all []int) {
		for n := first; n < r.next; n++ {
			if strings.HasPrefix(r.states[n], "runs") {
				all = append(all, n)
			}
		}
		return all
	}
	end := func(n int) {
		r.write(strconv.Itoa(n)+".go", "")
		r.lines = append(r.lines, fmt.Sprintf("end\t%d\t%s", n-first, r.settle(first)))
	}
	for range 8 {
		if on := running(); len(on) > 0 && rnd.IntN(3) == 0 {
			end(on[rnd.IntN(len(on))])
			continue
		}
		call := besideStep(rnd, r.job, r.nodes)
		r.write("start."+strconv.Itoa(r.next), call)
		r.next++
		r.lines = append(r.lines, fmt.Sprintf("start\t%s\t%s", call, r.settle(first)))
	}
	for on := running(); len(on) > 0; on = running() {
		end(on[0])
	}
}

// besideStep is a command line of srun for a step that others run beside.
func besideStep(r *rand.Rand, job string, nodes int) string {
	one := func(of int) bool { return r.IntN(of) == 0 }
	part := func() string {
		var args []string
		add := func(format string, n ...any) { args = append(args, fmt.Sprintf(format, n...)) }
		if !one(6) {
			add("-n%d", 1+r.IntN(4))
		}
		switch {
		case one(4):
			add("-N%d", 1+r.IntN(nodes))
		case one(12) && nodes > 1:
			add("-N1-%d", nodes)
		}
		if one(5) {
			add("-c%d", 1+r.IntN(2))
		}
		if one(4) {
			add("--mem=%d", 500*(1+r.IntN(4)))
		}
		if strings.Contains(job, "gpu") {
			switch r.IntN(6) {
			case 0:
				add("--gpus=%d", 1+r.IntN(3))
			case 1:
				add("--gpus-per-task=1")
			case 2:
				add("--gres=gpu:1")
			case 3:
				add("--gres=none")
			}
		}
		return strings.Join(args, " ")
	}
	call := part()
	switch r.IntN(8) {
	case 0, 1, 2, 3:
		call += " --exact"
	case 4:
		call += " --overlap"
		if !strings.Contains(call, "--mem") {
			call += " --mem=100" // memory by CPU is not shared in 24.11
		}
	case 5:
		call += " --exclusive"
	}
	if one(12) {
		call += " -I"
	}
	if strings.Contains(job, " : ") {
		switch r.IntN(4) {
		case 0:
			call += " : " + part()
		case 1:
			call = "--het-group=0,1 " + call
		case 2:
			call = "--het-group=1 " + call
		}
	}
	return strings.TrimSpace(call)
}
