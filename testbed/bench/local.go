package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// local measures the pool of this machine: how soon a job begins after fsub has returned, how well many short jobs fill it, how soon a large step runs on all
// of its nodes, and what a node takes of memory. The jobs are root's own.
func (r *bench) local(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "fsub-bench-local")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p := &localPool{dir: dir, fed: r.fed, fsub: r.fsub, nodes: r.localNodes}
	if err := p.start(ctx); err != nil {
		return err
	}
	defer p.stop()
	for _, part := range []func(context.Context, *localPool) error{r.firstLine, r.manyJobs, r.largeStep, r.nodeMemory} {
		if err := part(ctx, p); err != nil {
			return fmt.Errorf("%w; the daemon's log ends: %s", err, tail(filepath.Join(dir, "fed.log")))
		}
	}
	return nil
}

// localPool is a daemon with a local pool.
type localPool struct {
	dir, fed, fsub string
	nodes          int // processes on this machine
	cmd            *exec.Cmd
}

func (p *localPool) file(name string) string { return filepath.Join(p.dir, name) }

func (p *localPool) start(ctx context.Context) error {
	config := fmt.Sprintf("federation: bench-local\nsocket: %s\nstate_dir: %s\nsites:\n- {name: local, kind: local, local: {nodes: %d, cpus: 16, mem_mib: 64000}, pools: [{name: main, min: %d, max: %d}]}\n",
		p.file("s"), p.file("state"), p.nodes, p.nodes, p.nodes)
	if err := os.WriteFile(p.file("fed.yaml"), []byte(config), 0o600); err != nil {
		return err
	}
	log, err := os.Create(p.file("fed.log"))
	if err != nil {
		return err
	}
	p.cmd = exec.Command(p.fed, "serve", "--config", p.file("fed.yaml"))
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		return err
	}
	log.Close()
	// All nodes are up when a job that needs them has run.
	if _, err := p.run(ctx, "#!/bin/bash\n#SBATCH -N "+strconv.Itoa(p.nodes)+" -o /dev/null\nsrun true\necho > "+p.file("up")+"\n", p.file("up"), 3*time.Minute); err != nil {
		p.stop()
		return fmt.Errorf("the pool does not start: %w; its daemon's log ends: %s", err, tail(p.file("fed.log")))
	}
	return nil
}

func (p *localPool) stop() {
	p.cmd.Process.Signal(syscall.SIGTERM)
	p.cmd.Wait()
	exec.Command(p.fed, "pool", "clear", "--config", p.file("fed.yaml")).Run()
}

// fsubArgs runs fsub and returns the time at which it had returned.
func (p *localPool) submit(ctx context.Context, script string, args ...string) (returned time.Time, err error) {
	for begun := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		cmd := exec.CommandContext(ctx, p.fsub, args...)
		cmd.Dir = p.dir
		cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=/root", "FSUB_SOCKET=" + p.file("s")}
		cmd.Stdin = strings.NewReader(script)
		out, err := cmd.CombinedOutput()
		if err == nil {
			return time.Now(), nil
		}
		if time.Since(begun) > 20*time.Second || !strings.Contains(string(out), "no daemon answers") {
			return time.Time{}, fmt.Errorf("fsub: %w: %s", err, out)
		}
	}
}

// run submits a script and waits for a file that it writes.
func (p *localPool) run(ctx context.Context, script, file string, patience time.Duration) (text string, err error) {
	if _, err := p.submit(ctx, script); err != nil {
		return "", err
	}
	for begun := time.Now(); time.Since(begun) < patience; time.Sleep(5 * time.Millisecond) {
		if b, err := os.ReadFile(file); err == nil && strings.HasSuffix(string(b), "\n") {
			return string(b), nil
		}
	}
	return "", fmt.Errorf("a job has not written %s within %s", file, patience)
}

// firstLine is the time from fsub's return to the first line of the script, one job after another.
func (r *bench) firstLine(ctx context.Context, p *localPool) error {
	var waits []time.Duration
	for i := range r.handovers {
		file := p.file(fmt.Sprintf("first%d", i))
		script := "#!/bin/bash\necho $EPOCHREALTIME > " + file + "\n"
		returned, err := p.submit(ctx, script, "-o", "/dev/null")
		if err != nil {
			return err
		}
		for begun := time.Now(); ; time.Sleep(2 * time.Millisecond) {
			if b, err := os.ReadFile(file); err == nil && strings.HasSuffix(string(b), "\n") {
				at, err := epoch(string(b))
				if err != nil {
					return err
				}
				waits = append(waits, max(at.Sub(returned), 0))
				break
			}
			if time.Since(begun) > time.Minute {
				return fmt.Errorf("job %d has not begun within a minute", i)
			}
		}
	}
	s := newSample(waits)
	r.note("fsub's return to the script's first line: min %s  p50 %s  p90 %s  max %s", ms(s.quantile(0)), ms(s.median()), ms(s.quantile(0.9)), ms(s.quantile(1)))
	r.add(row{what: fmt.Sprintf("local: fsub's return to first line, p50 of %d (p90 %s)", len(s), ms(s.quantile(0.9))), ours: ms(s.median()), theirs: "-", ratio: "-",
		goal: "<= 100 ms", met: s.median() <= 100*time.Millisecond})
	return nil
}

// epoch reads what bash's $EPOCHREALTIME or date +%s.%N has written.
func epoch(text string) (time.Time, error) {
	sec, frac, _ := strings.Cut(strings.TrimSpace(text), ".")
	s, err := strconv.ParseInt(sec, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("invalid time %q", text)
	}
	n, err := strconv.ParseInt((frac + "000000000")[:9], 10, 64)
	return time.Unix(s, n), err
}

// manyJobs is how long many jobs of one second take on as many slots as there are nodes, against the ideal.
func (r *bench) manyJobs(ctx context.Context, p *localPool) error {
	begun := time.Now()
	script := "#!/bin/bash\nsleep 1\necho $EPOCHREALTIME > " + p.file("done.") + "$SLURM_JOB_ID\n"
	for range r.localJobs {
		if _, err := p.submit(ctx, script, "--exclusive", "-o", "/dev/null"); err != nil {
			return err
		}
	}
	submitted := time.Since(begun)
	var last time.Time
	for {
		files, err := filepath.Glob(p.file("done.*"))
		if err != nil {
			return err
		}
		if len(files) >= r.localJobs {
			last = time.Now()
			break
		}
		if time.Since(begun) > 5*time.Minute {
			return fmt.Errorf("%d of %d jobs have ended after five minutes", len(files), r.localJobs)
		}
		time.Sleep(20 * time.Millisecond)
	}
	ideal := time.Duration((r.localJobs+r.localNodes-1)/r.localNodes) * time.Second
	ratio := last.Sub(begun).Seconds() / ideal.Seconds()
	r.note("%d jobs of one second on %d nodes: %.2f s from the first fsub on (submitting took %.2f s)", r.localJobs, r.localNodes, last.Sub(begun).Seconds(), submitted.Seconds())
	r.add(row{what: fmt.Sprintf("local: %d one-second jobs on %d slots, against the ideal", r.localJobs, r.localNodes), ours: fmt.Sprintf("%.2f s", last.Sub(begun).Seconds()),
		theirs: fmt.Sprintf("%.2f s", ideal.Seconds()), ratio: fmt.Sprintf("%.2fx", ratio), goal: "<= 1.15x", met: ratio <= 1.15})
	return nil
}

// largeStep is the time from srun's start to the last of its tasks' starts.
func (r *bench) largeStep(ctx context.Context, p *localPool) error {
	var times []time.Duration
	for i := range 3 {
		file := p.file(fmt.Sprintf("step%d", i))
		script := fmt.Sprintf("#!/bin/bash\n#SBATCH -N %d -n %d -o /dev/null\nt0=$EPOCHREALTIME\nsrun date +%%s.%%N > %s.all\n(echo $t0; sort %s.all | tail -1; wc -l < %s.all) > %s.new; mv %s.new %s\n",
			r.localNodes, r.localTasks, file, file, file, file, file, file)
		text, err := p.run(ctx, script, file, 3*time.Minute)
		if err != nil {
			return err
		}
		lines := strings.Fields(text)
		if len(lines) != 3 || lines[2] != strconv.Itoa(r.localTasks) {
			return fmt.Errorf("the step of %d tasks wrote %q", r.localTasks, text)
		}
		first, err := epoch(lines[0])
		if err != nil {
			return err
		}
		last, err := epoch(lines[1])
		if err != nil {
			return err
		}
		times = append(times, last.Sub(first))
	}
	s := newSample(times)
	r.add(row{what: fmt.Sprintf("local: srun of %d tasks on %d nodes, until the last starts, p50 of %d", r.localTasks, r.localNodes, len(s)), ours: ms(s.median()), theirs: "-", ratio: "-",
		goal: "<= 2 s", met: s.median() <= 2*time.Second})
	return nil
}

// nodeMemory is what the agents hold in memory, after all of the above.
func (r *bench) nodeMemory(_ context.Context, p *localPool) error {
	var sizes []int64
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		exe, err := os.Readlink(d + "/exe")
		if err != nil || filepath.Base(exe) != "fed-agent" {
			continue
		}
		args, _ := os.ReadFile(d + "/cmdline")
		if !strings.Contains(string(args), "-boot") {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(d))
		text, err := os.ReadFile(d + "/status")
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) > 1 && f[0] == "VmRSS:" && pid != 0 {
				kib, _ := strconv.ParseInt(f[1], 10, 64)
				sizes = append(sizes, kib<<10)
			}
		}
	}
	if len(sizes) < r.localNodes {
		return fmt.Errorf("%d agents are seen, there should be %d", len(sizes), r.localNodes)
	}
	slices.Sort(sizes)
	most := sizes[len(sizes)-1]
	r.add(row{what: fmt.Sprintf("local: resident memory of a node's agent, the most of %d (median %.1f MB)", len(sizes), float64(sizes[len(sizes)/2])/1e6), ours: fmt.Sprintf("%.1f MB", float64(most)/1e6),
		theirs: "-", ratio: "-", goal: "< 20 MB", met: most < 20e6})
	return nil
}

func tail(file string) string {
	b, _ := os.ReadFile(file)
	return string(b[max(0, len(b)-1500):])
}
