package arrays

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// packScript ends each task in a way of its own, by its index.
const packScript = `#!/bin/bash
echo "$SLURM_ARRAY_JOB_ID $SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_TASK_COUNT in $(pwd)"
echo "error $SLURM_ARRAY_TASK_ID" >&2
case $((SLURM_ARRAY_TASK_ID % 20)) in
3) exit 7 ;;
4) kill -9 $$ ;;
5) : >"hangs.$SLURM_ARRAY_TASK_ID"; sleep 1000 & wait ;;
6) kill -s USR1 $$ ;;
8) exit 255 ;;
10) [ -z "$SLOW" ] || sleep 150 ;;
esac
`

// TestPackedAsUnpacked: an array whose tasks share jobs ends as the same array that sbatch submits, task by task: states, exit codes and files. With FSUB_FULL it has 200
// tasks, some run into their time limits, and the daemon is killed meanwhile.
func TestPackedAsUnpacked(t *testing.T) {
	world.Need(t)
	t.Parallel()
	at, last, pack, slow := []string{"alpha"}, 39, "20:4", ""
	if os.Getenv("FSUB_FULL") != "" {
		at, last, slow = sites, 199, "1"
	}
	for _, site := range at {
		t.Run(site, func(t *testing.T) {
			t.Parallel()
			pr := &pair{t: t}
			for i, name := range []string{"sbatch", "fsub"} {
				s := newSide(t, name, site, "pack")
				s.write(t, "a.sh", packScript)
				pr.sides[i] = s
				args := []string{"sbatch", "--parsable", "--hold", fmt.Sprintf("--array=0-%d", last), "--cpus-per-task=1", "--mem=20M", "--time=1", "--error=err-%a", "--no-requeue",
					"--export=ALL,SLOW=" + slow}
				if name == "fsub" {
					args = append(args, "--fed-pack="+pack)
				}
				out := s.run(t, append(args, "a.sh")...)
				s.ids["A"] = strings.TrimSpace(out.stdout)
				t.Cleanup(func() { s.cancel("A") })
				if out.code != 0 {
					t.Fatalf("%s: %+v", name, out)
				}
				s.run(t, "scancel", s.ids["A"]+"_9") // before it runs
				s.run(t, "scontrol", "release", s.ids["A"])
			}
			defer func() {
				if t.Failed() {
					pr.sides[1].tell(t, "A")
				}
			}()
			for i := 5; i <= last; i += 20 {
				for _, s := range pr.sides {
					s.awaitFile(t, fmt.Sprintf("hangs.%d", i))
					if slow != "" && i == 45 && s.name == "fsub" {
						world.Daemon.Kill()
						if err := world.Daemon.Start(t.Context()); err != nil {
							t.Fatal(err)
						}
					}
					s.run(t, "scancel", fmt.Sprintf("%s_%d", s.ids["A"], i))
				}
			}
			pr.same("the ends of tasks", func() (ends [2][]string) {
				for i, s := range pr.sides {
					out := s.run(t, "sacct", "-X", "-n", "-P", "-j", s.ids["A"], "-o", "jobid,state,exitcode,reqcpus,timelimit,partition")
					for line := range strings.Lines(out.stdout) {
						ends[i] = append(ends[i], oneByOne("A "+s.masked(strings.TrimSpace(line)))...)
					}
					// Slurm forgets a task that was cancelled while it waited, if others of its array go on.
					ends[i] = slices.DeleteFunc(ends[i], func(l string) bool { return strings.HasPrefix(l, "A NUMBER_9|CANCELLED") })
					slices.Sort(ends[i])
				}
				return ends
			})
			for i := range last + 1 {
				if i == 9 {
					continue
				}
				var texts [2]string
				for k, s := range pr.sides {
					for _, name := range []string{fmt.Sprintf("slurm-%s_%d.out", s.ids["A"], i), fmt.Sprintf("err-%d", i)} {
						text, err := os.ReadFile(filepath.Join(s.dir, name))
						if err != nil {
							t.Error(err)
						}
						texts[k] += s.masked(firstLine(string(text)))
					}
				}
				if texts[0] != texts[1] {
					t.Errorf("files of task %d: %q, want %q", i, texts[1], texts[0])
				}
			}
			pr.sides[1].awaitNoPacks(t)
		})
	}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// awaitFile waits until a task has made a file.
func (s *side) awaitFile(t *testing.T, name string) {
	t.Helper()
	for end := time.Now().Add(patience); !s.has(name); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: no file %s", s.name, name)
		}
	}
}

// awaitNoPacks waits until the files of jobs that tasks have shared are gone: they go after the last task has ended, with the job.
func (s *side) awaitNoPacks(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		left, _ := filepath.Glob(filepath.Join(s.dir, ".fsub-pack*"))
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("left: %v", left)
		}
	}
}
