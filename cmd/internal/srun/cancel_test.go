package srun

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"fsub/cloud/steps"
)

// TestCancelStep: what scancel of one step makes srun say, return and leave in the books, as with 24.11.
func TestCancelStep(t *testing.T) {
	const aborted, by = "srun: Job step aborted: Waiting up to 7 seconds for job step to finish.\n", 7001
	const line = "slurmstepd: error: *** STEP X ON n1 CANCELLED AT X ***\n"
	for _, c := range []struct {
		name, errs string
		code       int
		state      string
		by         bool
		ask        func(s *steps.Service) error
	}{
		{"cancel", line + aborted + "srun: error: n1: task 0: Killed\nsrun: error: n2: task 1: Killed", 137, "CANCELLED", true,
			func(s *steps.Service) error { return s.Cancel("run1", "0", by) }},
		{"KILL", "srun: Force Terminated StepId X\nsrun: error: n1: task 0: Killed\nsrun: error: n2: task 1: Killed", 137, "CANCELLED", false,
			func(s *steps.Service) error { return s.Signal("run1", "0", syscall.SIGKILL) }},
		{"TERM", line + "srun: error: n1: task 0: Exited with exit code 3\nsrun: error: n2: task 1: Exited with exit code 3", 3, "FAILED", false,
			func(s *steps.Service) error { return s.Signal("run1", "0", syscall.SIGTERM) }},
		{"USR1", "srun: error: n1: task 0: Exited with exit code 5\nsrun: error: n2: task 1: Exited with exit code 5", 5, "FAILED", false,
			func(s *steps.Service) error { return s.Signal("run1", "0", syscall.SIGUSR1) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := newGang(t, 1, 1)
			asked := make(chan error, 1)
			go func() {
				for _, rank := range []string{"0", "1"} {
					for range 30000 {
						if _, err := os.Stat(filepath.Join(g.dir, "ready."+rank)); err == nil {
							break
						}
						time.Sleep(10 * time.Millisecond)
					}
				}
				if err := g.services[0].Signal("run1", "7", syscall.SIGUSR1); !errors.Is(err, steps.ErrNoStep) {
					t.Errorf("a signal to step 7: %v", err)
				}
				if err := g.services[0].Cancel("run1", "7", by); !errors.Is(err, steps.ErrNoStep) {
					t.Errorf("step 7 was cancelled: %v", err)
				}
				asked <- c.ask(g.services[0])
			}()
			_, errs, code := g.shell(t, `srun -n2 -t 3 bash -c 'trap "exit 5" USR1; trap "exit 3" TERM; touch ready.$SLURM_PROCID; while :; do sleep 0.05; done' </dev/null 2> >(grep -v '^[A-Z]' >&2)`)
			if err := <-asked; err != nil {
				t.Error(err)
			}
			if settle(errs) != sorted(c.errs) || code != c.code {
				t.Errorf("%d\n%s\nnot %d\n%s", code, settle(errs), c.code, sorted(c.errs))
			}
			s := g.services[0].Status("run1")
			if len(s) != 1 || s[0].State != c.state || s[0].SrunPID == 0 || s[0].SrunHost != "n1" || s[0].Limit != 3*time.Minute || c.by != (s[0].CancelledBy != nil) || c.by && *s[0].CancelledBy != by {
				t.Errorf("in the books: %+v", s)
			}
		})
	}
}
