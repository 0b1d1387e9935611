package lifecycle

import (
	"fmt"

	"fsub/federation"
	"fsub/sbatch"
)

// Retry is what becomes of a job that has ended badly and says when it is to be run again.
type Retry struct {
	Again bool
	Spec  sbatch.Spec // what it asks for then
	Grows bool        // which is more than before
	Why   string      // what its history is to say; "": nothing
}

// endKind is the kind of an end in the words of --retry; "": none that a retry is for.
func endKind(state federation.State) string {
	switch state {
	case federation.Failed:
		return sbatch.RetryExit
	case federation.OutOfMemory:
		return sbatch.RetryMemory
	case federation.Timeout:
		return sbatch.RetryTimeout
	case federation.NodeFail, federation.BootFail:
		return sbatch.RetryNode
	}
	return ""
}

// killed is the exit code of what SIGKILL has ended. That is all that Slurm says of a job over its memory where no cgroup limits it and slurmd kills it (OverMemoryKill: FAILED, 0:9), and
// what a shell says of a program that the kernel has killed for want of memory.
const killed = 128 + 9

// asks is the kind of an end and its exit code, and whether a job that asks for such retries is run again after it.
func asks(asked *sbatch.Retry, state federation.State, exit int32) (kind string, code int, again bool) {
	kind, code = endKind(state), exitCode(exit)
	if kind == sbatch.RetryExit && code == killed && asked.After(sbatch.RetryMemory, code) {
		kind = sbatch.RetryMemory
	}
	return kind, code, kind != "" && asked.After(kind, code)
}

// RetryAfter says whether a job is run again after an end that was its own, or that of a node after which it may not be requeued. A signal counts as the exit code that shells give it. Earlier are its attempts.
func RetryAfter(j *federation.Job, state federation.State, exit int32, earlier func() ([]federation.Attempt, error)) (r Retry) {
	asked := j.Spec.Retries()
	kind, code, again := asks(asked, state, exit)
	if j.Cancel || !again {
		return r
	}
	attempts, err := earlier()
	if err != nil {
		r.Why = "not run again: how often it was is not known: " + err.Error()
		return r
	}
	done := 0
	for i := range attempts {
		a := &attempts[i]
		if _, _, again := asks(asked, a.Final, a.ExitStatus); again && a.Number != j.Attempt {
			done++
		}
	}
	if done >= asked.Most {
		r.Why = fmt.Sprintf("not run again: it was %s already (--retry)", times(done))
		return r
	}
	r.Again, r.Spec = true, *j.Spec
	how := r.Spec.Grow(kind)
	r.Grows = how != ""
	r.Why = fmt.Sprintf("retry %d of %d after %s", done+1, asked.Most, state)
	if state == federation.Failed {
		r.Why += fmt.Sprintf(", exit code %d", code)
		if kind == sbatch.RetryMemory {
			r.Why += ", taken for out of memory"
		}
	}
	if r.Grows {
		r.Why += ": " + how
	}
	return r
}

// exitCode is what a shell says of an exit status.
func exitCode(status int32) int {
	if signal := int(status & 0x7f); signal != 0 {
		return 128 + signal
	}
	return int(status >> 8)
}

func times(n int) string {
	if n == 1 {
		return "run again once"
	}
	return fmt.Sprintf("run again %d times", n)
}
