package rented

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fsub/federation"
)

// keepsMuch makes a file of so many GiB, copies it as a measure of the disk, and then has it where it is kept. The run after that tells when it begins and what it found.
// SEE is what the machine and the test both see. The disk has the file, and nothing of it is in memory, when a copy of it begins.
const keepsMuch = `#!/bin/bash
#SBATCH -t 60 --requeue -n1 -c1
#FSUB --keep=ck --checkpoint=2
note() { echo "$* $(date +%s.%N)" >> SEE/notes; }
sum() { if command -v openssl > /dev/null; then openssl dgst -sha256 -r; else sha256sum; fi; }
onDisk() { sync "$1"; dd if="$1" iflag=nocache count=0 status=none; }
if [ -e ck ]; then
	note begins; sum < ck/data >> SEE/found; exit
fi
mkdir new
head -c GIBG /dev/urandom > new/data
sum < new/data >> SEE/wrote
onDisk new/data
note copies; cp new/data SEE/copy; sync SEE/copy; note copied
rm SEE/copy
onDisk new/data
mv new ck
note ready
sleep infinity & wait
`

// TestKeptTenGB saves and brings back a checkpoint of 10 GiB. The agent takes at most 30 MiB meanwhile, with the script and all that saves for it at most 60, and so much is what the
// daemon may grow by. How long it takes is told beside a plain cp of the same file on the same disk: that says something only on a machine that has nothing else to do, since a copy
// to the store passes through tar, the agent's program, the network and the daemon. So the processor time is told too.
func TestKeptTenGB(t *testing.T) {
	if os.Getenv("FSUB_FULL") == "" {
		t.Skip("SKIPPED: writes 30 GB: set FSUB_FULL=1")
	}
	single(t)
	gib := int64(10)
	if n, err := strconv.Atoi(os.Getenv("FSUB_KEEP_GIB")); err == nil {
		gib = int64(n)
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(scratch, &disk); err != nil || disk.Bavail*uint64(disk.Bsize) < uint64(gib)*35/10<<30 {
		t.Skipf("SKIPPED: the disk of %s has not %d GiB free: %v", scratch, gib*35/10, err)
	}
	p := newPlace(t, config{pool: "max: 1, idle: 1s, markets: [spot]", blobs: fmt.Sprintf("max_mib: %d", (gib+1)<<10)})
	see := filepath.Join(p.dir, "see")
	if err := os.Mkdir(see, 0o777); err != nil {
		t.Fatal(err)
	}
	os.Chmod(see, 0o777)
	id := p.submit(strings.NewReplacer("SEE", see, "GIB", fmt.Sprint(gib)).Replace(keepsMuch))
	notes := func(name string) time.Time { return noted(filepath.Join(see, "notes"), name) }
	daemon := p.running()[0].Process.Pid

	// The script has made the file, and the first copy begins.
	var most, mostAgent, atRest int64
	look := func() {
		agent, all := p.onMachines()
		most, mostAgent = max(most, all), max(mostAgent, agent)
	}
	var saving, saved, restoring time.Time
	var work [4]worked // when a copy begins, when it is there, when it is fetched, when it is back
	mark := filepath.Join(p.disk, "blobs/rented", id.String(), "*/-/keep.*")
	p.eventually("a copy of the file is saved", time.Hour, func() string {
		if notes("ready").IsZero() {
			atRest = max(atRest, highWater(daemon))
			return "the file is not there yet"
		}
		look()
		found, _ := filepath.Glob(mark)
		for _, name := range found {
			switch st, err := os.Stat(name); {
			case err != nil:
			case strings.Count(filepath.Base(name), ".") > 1 && saving.IsZero():
				saving, work[0] = time.Now(), p.worked(daemon)
			case strings.Count(filepath.Base(name), ".") == 1 && st.Size() > int64(len("none\n")):
				saved, work[1] = st.ModTime(), p.worked(daemon)
				return ""
			}
		}
		return fmt.Sprint(found)
	})
	// The machine goes; the next one brings it back.
	for _, in := range p.cloud.Instances() {
		if in.State == "running" {
			if err := p.cloud.Kill(in.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	left, _ := filepath.Glob(filepath.Join(p.disk, "fsub-*")) // its disk goes with it
	for _, name := range left {
		os.RemoveAll(name)
	}
	p.eventually("it is there again", time.Hour, func() string {
		look()
		if found, _ := filepath.Glob(filepath.Join(p.disk, "fsub-*/keep.sum")); len(found) > 0 && restoring.IsZero() {
			restoring, work[2] = time.Now(), p.worked(daemon)
		}
		if notes("begins").IsZero() {
			return "not yet"
		}
		work[3] = p.worked(daemon)
		return ""
	})
	if rec := p.await(id, time.Hour); rec.Job.State != federation.Completed {
		t.Errorf("%s (%s): %v", rec.Job.State, rec.Job.Reason, rec.Events)
	}
	wrote, _ := os.ReadFile(filepath.Join(see, "wrote"))
	if found, _ := os.ReadFile(filepath.Join(see, "found")); string(found) != string(wrote) || len(wrote) < 64 {
		t.Errorf("%s came back as %s", wrote, found)
	}
	grown := highWater(daemon) - atRest
	cp, save, restore := notes("copied").Sub(notes("copies")), saved.Sub(saving), notes("begins").Sub(restoring)
	t.Logf("%d GiB: cp takes %.1f s; saved in %.1f s (%.2f of that), back in %.1f s (%.2f); memory: agent %d MiB, with what it started %d MiB; daemon %d MiB, %d MiB of them since the job began",
		gib, cp.Seconds(), save.Seconds(), save.Seconds()/cp.Seconds(), restore.Seconds(), restore.Seconds()/cp.Seconds(), mostAgent>>20, most>>20, highWater(daemon)>>20, grown>>20)
	t.Logf("processor time: saving %s, restoring %s", work[1].since(work[0]), work[3].since(work[2]))
	if mostAgent > 30<<20 || mostAgent == 0 || most > 60<<20 || grown > 60<<20 {
		t.Errorf("memory of the agent %d MiB, with what it started %d MiB, the daemon has grown by %d MiB; want at most 30, 60 and 60", mostAgent>>20, most>>20, grown>>20)
	}
	p.noMachines(time.Minute)
}

// worked is the processor time that the daemon, and all agents with what they have started, have taken so far. Unlike the time on the clock it says something on a busy machine.
type worked struct{ daemon, machine time.Duration }

func (w worked) since(before worked) string {
	return fmt.Sprintf("daemon %.1f s, machine %.1f s", (w.daemon - before.daemon).Seconds(), (w.machine - before.machine).Seconds())
}

func (w *world) worked(daemon int) (sum worked) {
	for _, pid := range w.machineProcesses() {
		sum.machine += processor(pid)
	}
	sum.daemon = processor(daemon)
	return sum
}

// processor is the time that a process, and the children that it has waited for, have taken.
func processor(pid int) (sum time.Duration) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if _, rest, ok := strings.Cut(string(text), ") "); ok {
		for _, ticks := range strings.Fields(rest)[11:15] {
			n, _ := strconv.Atoi(ticks)
			sum += time.Duration(n) * 10 * time.Millisecond
		}
	}
	return sum
}

// noted is when a script has noted something; zero: not yet.
func noted(file, name string) time.Time {
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		var s, ns int64
		if rest, ok := strings.CutPrefix(line, name+" "); ok && scan(rest, "%d.%d\n", &s, &ns) {
			return time.Unix(s, ns)
		}
	}
	return time.Time{}
}

// highWater is the most memory that a process has had.
func highWater(pid int) int64 { return kib(fmt.Sprintf("/proc/%d/status", pid), "VmHWM:") }

// kib reads a field of a file of /proc.
func kib(file, field string) int64 {
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == field {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n << 10
		}
	}
	return 0
}

// machineProcesses are all agents of the cloud's machines and what they have started; the agents come first.
func (w *world) machineProcesses() (all []int) {
	children := map[int][]int{}
	processes, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range processes {
		text, _ := os.ReadFile(name)
		pid, _ := strconv.Atoi(strings.Split(name, "/")[2])
		if _, rest, ok := strings.Cut(string(text), ") "); ok {
			parent, _ := strconv.Atoi(strings.Fields(rest)[1])
			children[parent] = append(children[parent], pid)
		}
		if args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); w.isAgent(pid, string(args)) {
			all = append(all, pid)
		}
	}
	for i := 0; i < len(all); i++ {
		for _, pid := range children[all[i]] {
			if !slices.Contains(all, pid) {
				all = append(all, pid)
			}
		}
	}
	return all
}

func (w *world) isAgent(pid int, args string) bool {
	return strings.Contains(args, "fed-agent\x00-boot") && strings.Contains(args+environ(pid), w.dir)
}

// onMachines is the memory of all agents of the cloud's machines, and of these with all that they have started: what several share counts once.
func (w *world) onMachines() (agent, all int64) {
	for _, pid := range w.machineProcesses() {
		n := kib(fmt.Sprintf("/proc/%d/smaps_rollup", pid), "Pss:")
		all += n
		if args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); w.isAgent(pid, string(args)) {
			agent += n
		}
	}
	return agent, all
}

func environ(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return string(text) + exe
}
