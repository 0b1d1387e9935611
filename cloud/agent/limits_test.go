package agent

import (
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"fsub/cloud/agentapi"
)

// tight is what a service at boot has: few files, and little memory to lock.
const tight = "ulimit -S -l 64; ulimit -H -l 8192 2>/dev/null; ulimit -n 4096"

// TestLockedMemory: a job and its steps may lock all memory, and raise their limit of open files, whatever limits the agent and the user's login node had. Where this
// process may not raise a hard limit, the soft one is as high.
func TestLockedMemory(t *testing.T) {
	out, err := exec.Command("/bin/sh", "-c", tight+"; ulimit -H -l unlimited 2>/dev/null; ulimit -H -l; ulimit -H -n 1048576 2>/dev/null; ulimit -H -n").Output()
	want := strings.Fields(string(out))
	if err != nil || len(want) != 2 {
		t.Fatalf("%v: %q", err, out)
	}
	d := newFakeServer(t)
	startBinaryAfter(t, d, tight, nil)
	work := d.launch("r1", `ulimit -S -l; ulimit -H -l; ulimit -S -n; ulimit -H -n; srun -n1 bash -c 'ulimit -S -l; ulimit -H -l; ulimit -S -n'`, func(l *agentapi.Launch) {
		l.Key = []byte("keykeykeykeykeykeykeykeykeykeyke")
		l.Groups[0].Nodes[0].Steps = "127.0.0.1:1"
		l.Groups[0].Nodes[0].MemMiB = 1000
		if os.Getuid() == 0 {
			l.User = agentapi.User{Name: "nemo", UID: 54321, GID: 54322}
		}
		l.Environment = append(l.Environment, "SLURM_RLIMIT_MEMLOCK=65536", "SLURM_RLIMIT_NOFILE=1024")
	})
	d.awaitEnd("r1")
	memory, files := want[0], want[1]
	if got := strings.Fields(output(t, work)); strings.Join(got, " ") != strings.Join([]string{memory, memory, "1024", files, memory, memory, "1024"}, " ") {
		t.Errorf("it has %v; locked memory may be %s, open files %s", got, memory, files)
	}
}

// TestRaiseLimits: with the right to do so both limits are raised, hard and soft; without it the soft one goes as high as the hard one.
func TestRaiseLimits(t *testing.T) {
	for _, able := range []bool{true, false} {
		set := map[int]syscall.Rlimit{}
		raiseLimits(func(resource int, l *syscall.Rlimit) error {
			var now syscall.Rlimit
			if syscall.Getrlimit(resource, &now); !able && l.Max > now.Max {
				return syscall.EPERM
			}
			set[resource] = *l
			return nil
		}, slog.New(slog.DiscardHandler))
		for resource, most := range map[int]uint64{unix.RLIMIT_MEMLOCK: unix.RLIM_INFINITY, unix.RLIMIT_NOFILE: openFiles} {
			var now syscall.Rlimit
			syscall.Getrlimit(resource, &now)
			want := max(most, now.Max)
			if !able {
				want = now.Max
			}
			if got, asked := set[resource]; asked && got != (syscall.Rlimit{Cur: want, Max: want}) || !asked && now.Cur < min(want, most) {
				t.Errorf("limit %d may be raised: %t; it was %+v and became %+v", resource, able, now, got)
			}
		}
	}
}
