package pack

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fsub/federation"
	"fsub/sbatch"
)

// world is a directory in which a pack runs as a node would run it.
type world struct {
	t   testing.TB
	dir string
	p   *Pack
}

func newWorld(t testing.TB, side int, indices ...int) *world {
	dir, err := os.MkdirTemp("", "pack it's")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, p: &Pack{ID: 30000900, Of: &federation.ArrayPart{Array: 30000001, Count: 9, Min: 0, Max: 8, Step: 1}, Spec: &sbatch.Spec{WorkDir: dir, Name: "tiny"},
		User: "u", Side: side}}
	for _, i := range indices {
		w.p.Tasks = append(w.p.Tasks, Task{Index: i, ID: federation.JobID(30000010 + i)})
	}
	return w
}

// start has a node run the pack.
func (w *world) start(script string) *exec.Cmd {
	w.t.Helper()
	status, _ := Names(w.dir, w.p.ID)
	job := filepath.Join(w.dir, "slurm_script")
	if err := errors.Join(os.WriteFile(status, nil, 0o600), os.WriteFile(job, []byte(w.p.Script(script)), 0o700)); err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.Command(job, "one word", "two")
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), "SLURMD_NODENAME=node7.cluster", "SLURM_JOB_ID=30000900")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	return cmd
}

func (w *world) run(script string) Status {
	w.t.Helper()
	if err := w.start(script).Wait(); err != nil {
		w.t.Fatal(err)
	}
	return w.status()
}

func (w *world) status() Status {
	name, _ := Names(w.dir, w.p.ID)
	text, err := os.ReadFile(name)
	if err != nil {
		w.t.Fatal(err)
	}
	return Read(text)
}

func (w *world) control(line string) {
	_, name := Names(w.dir, w.p.ID)
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(line)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		w.t.Fatal(err)
	}
}

// until waits until what the pack has said is as ok wants it.
func (w *world) until(what string, ok func(Status) bool) {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); !ok(w.status()); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("%s: %+v", what, w.status())
		}
	}
}

func (w *world) read(name string) string {
	text, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		w.t.Error(err)
	}
	return string(text)
}

// Where SIGHUP is ignored, as below nohup, it is in all that is started from there. What is caught here is not.
func init() { signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) }

// TestEnds: each task ends as it would alone, whatever its neighbours do, and its files have its own names.
func TestEnds(t *testing.T) {
	w := newWorld(t, 2, 0, 1, 2, 3, 4, 5, 6, 7, 8)
	w.p.Spec.Output, w.p.Spec.Error = "%x-%A_%3a-%j-%N.out", "err-%a"
	s := w.run(`#!/bin/bash
echo "$SLURM_ARRAY_JOB_ID $SLURM_ARRAY_TASK_ID $SLURM_ARRAY_TASK_COUNT $SLURM_JOB_ID $FSUB_JOB_ID $1.$2 $(set | grep -c ^_fsub)"
echo bad >&2
case $SLURM_ARRAY_TASK_ID in
1) exit 7 ;;
2) kill -9 $$ ;;
3) exit 137 ;;
4) kill -s INT $$ ;;
5) kill -s TERM 0 ;;
7) kill -s USR1 $$ ;;
8) kill -s HUP $$ ;;
6) sleep 1000 & exit 0 ;; # what is left behind ends with it
esac`)
	for i, want := range []int32{0, 7 << 8, 9, 137 << 8, 2, 15, 0, 10, 1} {
		if r := s.Tasks[i]; r.ExitStatus != want || !r.Done() || r.Start.IsZero() || r.Why != Itself {
			t.Errorf("task %d: %+v, want status %d", i, r, want)
		}
		name := fmt.Sprintf("tiny-30000001_%03d-%d-node7.out", i, 30000010+i)
		if got, want := w.read(name), fmt.Sprintf("30000001 %d 9 30000900 %d one word.two 0\n", i, 30000010+i); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		if got := w.read("err-" + strconv.Itoa(i)); got != "bad\n" {
			t.Errorf("errors of task %d: %q", i, got)
		}
	}
	if s.Up.IsZero() || !s.Ended || len(s.Tasks) != 9 {
		t.Errorf("%+v", s)
	}
}

// TestKill: a task that is cancelled ends alone, one that has not begun never does, and a signal reaches the task that it is for.
func TestKill(t *testing.T) {
	w := newWorld(t, 2, 0, 1, 2, 3, 4)
	w.control(Kill(3))
	cmd := w.start(`#!/bin/bash
trap 'echo usr1; exit 3' USR1
echo $SLURM_ARRAY_TASK_ID
case $SLURM_ARRAY_TASK_ID in [012]) while :; do sleep 0.1; done ;; esac`)
	runs := func(i int) func(Status) bool {
		return func(s Status) bool { r := s.Tasks[i]; return !r.Start.IsZero() }
	}
	over := func(i int) func(Status) bool { return func(s Status) bool { r := s.Tasks[i]; return r.Done() } }
	w.until("task 1 begins", runs(1))
	w.control(Kill(0))
	w.until("task 0 ends", over(0))
	w.until("task 2 begins", runs(2))
	w.until("task 2 is about to wait", func(Status) bool {
		text, _ := os.ReadFile(filepath.Join(w.dir, "slurm-30000001_2.out")) // it is there soon after the task has begun
		return len(text) > 0
	})
	w.control(Signal("USR1", 2) + Kill(1))
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	s := w.status()
	for i, want := range []Result{{ExitStatus: 15, Why: Killed}, {ExitStatus: 15, Why: Killed}, {ExitStatus: 3 << 8, Why: Itself}, {Why: Skipped}, {Why: Itself}} {
		if r := s.Tasks[i]; r.ExitStatus != want.ExitStatus || r.Why != want.Why || !r.Done() || r.Start.IsZero() != (i == 3) {
			t.Errorf("task %d: %+v, want %+v", i, r, want)
		}
	}
}

// TestLimit: a task that runs too long is ended, and its neighbours go on.
func TestLimit(t *testing.T) {
	w := newWorld(t, 1, 0, 1)
	w.p.Spec.TimeLimit = time.Second
	s := w.run("#!/bin/sh\n[ $SLURM_ARRAY_TASK_ID = 1 ] || sleep 1000")
	if a, b := s.Tasks[0], s.Tasks[1]; a.Why != Limit || a.ExitStatus != 15 || b.Why != Itself || b.ExitStatus != 0 {
		t.Errorf("%+v", s.Tasks)
	}
}

// TestTerm: a job that is to end tells its tasks, and begins no other one.
func TestTerm(t *testing.T) {
	w := newWorld(t, 1, 0, 1)
	cmd := w.start("#!/bin/bash\nsleep 1000 & wait")
	w.until("task 0 begins", func(s Status) bool { r := s.Tasks[0]; return !r.Start.IsZero() })
	if err := errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()); err != nil {
		t.Fatal(err)
	}
	if s := w.status(); len(s.Tasks) != 1 || s.Tasks[0].ExitStatus != 15 || !s.Ended {
		t.Errorf("%+v", s)
	}
}

// TestUnseen: a node that does not see the files runs nothing.
func TestUnseen(t *testing.T) {
	w := newWorld(t, 1, 0)
	cmd := w.start("#!/bin/sh\ntouch ran")
	_ = cmd.Wait()
	status, _ := Names(w.dir, w.p.ID)
	if err := errors.Join(os.Remove(status), os.Remove(filepath.Join(w.dir, "ran"))); err != nil {
		t.Fatal(err)
	}
	again := exec.Command(filepath.Join(w.dir, "slurm_script"))
	err := again.Run()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 75 {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "ran")); err == nil {
		t.Error("a task ran")
	}
}

// TestOnceEach: each task runs once and ends as it says, however many there are and run side by side.
func TestOnceEach(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(r, "tasks")
		w := newWorld(t, rapid.IntRange(1, 6).Draw(r, "side"))
		defer os.RemoveAll(w.dir)
		var codes strings.Builder
		want := map[int]int{}
		skipped := map[int]bool{}
		for i := range n {
			index := i*3 + 1
			want[index] = rapid.SampledFrom([]int{0, 1, 77, 127, 200, 255}).Draw(r, "code")
			if skipped[index] = rapid.IntRange(0, 4).Draw(r, "skip") == 0; skipped[index] {
				w.control(Kill(index))
			}
			w.p.Tasks = append(w.p.Tasks, Task{Index: index, ID: federation.JobID(30000010 + i)})
			fmt.Fprintf(&codes, "%d) exit %d ;;\n", index, want[index])
		}
		s := w.run("#!/bin/bash\necho $SLURM_ARRAY_TASK_ID >>ran\ncase $SLURM_ARRAY_TASK_ID in\n" + codes.String() + "esac\n")
		ran, _ := os.ReadFile(filepath.Join(w.dir, "ran"))
		for index, code := range want {
			times := strings.Count("\n"+string(ran), fmt.Sprintf("\n%d\n", index))
			got := s.Tasks[index]
			switch {
			case !got.Done():
				r.Fatalf("task %d: %+v", index, got)
			case skipped[index] && (times != 0 || got.Why != Skipped), !skipped[index] && (times != 1 || got.ExitStatus != int32(code)<<8):
				r.Fatalf("task %d ran %d times: %+v, want code %d", index, times, got, code)
			}
		}
	})
}

// FuzzRead: what a user writes into the file is read without harm.
func FuzzRead(f *testing.F) {
	f.Add([]byte("up 1790000000\n3 s 1790000000\n3 e 1790000001 7 0 -\n4 x 1790000001\nend 1790000002\n5 s 17"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s := Read(text)
		for i, r := range s.Tasks {
			if r.Done() && r.Why != Skipped && (r.Start.IsZero() || r.End.Before(r.Start)) || r.ExitStatus < 0 || r.ExitStatus > 255<<8|127 {
				t.Errorf("task %d: %+v", i, r)
			}
		}
	})
}
