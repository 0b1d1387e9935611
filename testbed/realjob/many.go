package realjob

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Taken is what other jobs hold of a node while calls are tried.
type Taken struct {
	CPUs, Mem, GPUs int // Mem in MiB
}

// many tries one call after the other, each on the same nodes: what sbatch says, or why the job waits, or what it got. The file N.end is there when call N
// is over.
const many = `#!/bin/bash
set -f
pause() { read -rt 0.02 <> <(:); }
over() { while squeue -h -j "$1" -t PD,R,CG,CF 2>/dev/null | grep -q .; do pause; done; }
cat >job.sh <<'JOB'
#!/bin/bash
{
	scontrol show job -d "$SLURM_JOB_ID"
	printf '\0environment\0'
	cat "/proc/$$/environ"
} >"$1.part"
mv "$1.part" "$1.seen"
JOB
fillers=()
while IFS= read -r options; do
	id=$(sbatch --parsable $options -o /dev/null --wrap 'exec sleep 100000') || exit 1
	fillers+=("$id")
	until [ "$(squeue -h -j "$id" -o %t)" = R ]; do pause; done
done <fillers
trap '[ ${#fillers[@]} = 0 ] || { scancel "${fillers[@]}"; for f in "${fillers[@]}"; do over "$f"; done; }' EXIT
n=0
while IFS= read -r options; do
	n=$((n+1))
	if id=$(sbatch --parsable -o /dev/null $options job.sh "$PWD/$n" 2>"$n.said"); then
		until [ -e "$n.seen" ]; do
			read -r state why < <(squeue -h -j "$id" -o '%t %r' 2>&1)
			case "$state $why" in
			*'Unable to contact'*)
				touch "$n.crash"
				exit
				;;
			'PD None' | 'PD Priority') ;;
			PD*)
				echo "$why" >"$n.waits"
				scancel "$id"
				break
				;;
			esac
			pause
		done
		over "$id"
	else
		touch "$n.refused"
		if grep -q 'Unable to contact' "$n.said"; then
			touch "$n.crash"
			exit
		fi
	fi
done <calls
exit 0
`

// Many submits calls of sbatch one after the other, each once the one before has ended, while other jobs hold taken of the nodes, which are in the
// order of their names. A job that waits has Waits, the reason, and is cancelled. One that ends slurmctld (24.11.5 now and then, with a null pointer in
// topology/default) is "Crashed".
func (s *Site) Many(t *testing.T, taken []Taken, calls []string) (jobs []*Job) {
	t.Helper()
	for len(jobs) < len(calls) {
		some := s.some(t, taken, calls[len(jobs):])
		if jobs = append(jobs, some...); len(jobs) < len(calls) || some[len(some)-1].Crashed {
			s.restart(t)
		}
	}
	return jobs
}

// some is Many as far as it goes before slurmctld ends.
func (s *Site) some(t *testing.T, taken []Taken, calls []string) (jobs []*Job) {
	t.Helper()
	s.awaitIdle(t)
	s.n++
	dir := filepath.Join(s.dir, strconv.Itoa(s.n))
	if err := s.folder(dir); err != nil {
		t.Fatal(err)
	}
	var fillers strings.Builder
	for i, f := range taken {
		if f != (Taken{}) {
			fmt.Fprintf(&fillers, "-w %s%d -n%d --mem=%d --gres=gpu:%d\n", Name, i+1, f.CPUs, f.Mem, f.GPUs)
		}
	}
	for name, text := range map[string]string{"many.sh": many, "fillers": fillers.String(), "calls": strings.Join(calls, "\n") + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, stderr, err := s.run(t.Context(), dir, s.Env(), "bash", "many.sh"); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	for i := range calls {
		j := manyResult(t, filepath.Join(dir, strconv.Itoa(i+1)))
		if jobs = append(jobs, j); j.Crashed {
			break
		}
	}
	return jobs
}

// restart starts slurmctld again and rids it of jobs.
func (s *Site) restart(t *testing.T) {
	t.Helper()
	if err := s.bed.StartService(t.Context(), Name, "slurmctld"); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		_, _, _ = s.run(t.Context(), "/", s.Env(), "scancel", "-Q", "-u", "alice")
		jobs, _, _ := s.run(t.Context(), "/", s.Env(), "squeue", "-h")
		nodes, _, err := s.run(t.Context(), "/", s.Env(), "sinfo", "-h", "-p", "main", "-o", "%T")
		if err == nil && strings.TrimSpace(jobs) == "" && strings.TrimSpace(nodes) == "idle" {
			return
		}
	}
	t.Fatal("slurmctld does not recover")
}

func manyResult(t *testing.T, file string) *Job {
	t.Helper()
	j := &Job{}
	said, err := os.ReadFile(file + ".said")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file + ".crash"); err == nil {
		j.Crashed = true
		return j
	}
	if _, err := os.Stat(file + ".refused"); err == nil {
		j.Refused = strings.TrimSpace(string(said))
		return j
	}
	if why, err := os.ReadFile(file + ".waits"); err == nil {
		j.Waits = strings.TrimSpace(string(why))
		return j
	}
	j.read(t, []string{file + ".seen"})
	return j
}
