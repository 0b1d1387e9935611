package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"fsub/testbed/bed"
)

// processes measures fsub as a whole process beside sbatch, both inside a site, started by one parent in turns.
func (r *bench) processes(ctx context.Context) error {
	d, err := r.startDaemon(ctx, "processes")
	if err != nil {
		return err
	}
	defer d.Stop()
	dir := r.dir("processes")
	for from, to := range map[string]string{"/proc/self/exe": "bench", r.fsub: "fsub"} {
		if err := copyFile(from, filepath.Join(dir, to), 0o755); err != nil {
			return err
		}
	}
	job := filepath.Join(r.b.Home(r.user.Name), "bench.sh")
	if err := os.WriteFile(job, []byte(script), 0o755); err != nil {
		return err
	}
	defer r.b.Output(context.WithoutCancel(ctx), "alpha", "", "scancel", "--user", r.user.Name)
	times, err := r.turns(ctx, "alpha", turns{
		Count: r.count, Dir: r.b.Home(r.user.Name),
		Env: append(environment(r.b.Home(r.user.Name)), "FSUB_SOCKET="+d.Socket()),
		Commands: [][]string{
			{filepath.Join(dir, "fsub"), "--hold", job}, {"/usr/bin/sbatch", "--hold", job}, {"/bin/true"},
		},
	})
	if err != nil {
		return err
	}
	fsub, sbatch, floor := newSample(times[0]), newSample(times[1]), newSample(times[2])
	ratio := float64(fsub.median()) / float64(sbatch.median())
	r.add(row{
		what: fmt.Sprintf("fsub / sbatch, whole process, median of %d", r.count), ours: ms(fsub.median()), theirs: ms(sbatch.median()),
		ratio: fmt.Sprintf("%.2f", ratio), goal: "<= 0.50", met: ratio <= 0.5,
	})
	for i, s := range []sample{fsub, sbatch, floor} {
		r.note("%-18s min %s  median %s  p90 %s", []string{"fsub", "sbatch", "/bin/true (floor)"}[i], ms(s.quantile(0)), ms(s.median()), ms(s.quantile(0.9)))
	}
	return nil
}

// turns is what the child inside the site is told: run each command Count times, taking turns.
type turns struct {
	Count    int
	Commands [][]string
	Env      []string
	Dir      string
}

const takeTurnsArg = "take-turns"

// turns runs t in a site as the bench's user and returns the times of each command.
func (r *bench) turns(ctx context.Context, site string, t turns) ([][]time.Duration, error) {
	var out, errOut bytes.Buffer
	err := r.b.Exec(ctx, bed.Cmd{
		Site: site, User: r.user.Name, Args: []string{filepath.Join(filepath.Dir(t.Commands[0][0]), "bench"), takeTurnsArg},
		Stdin: bytes.NewReader(mustJSON(t)), Stdout: &out, Stderr: &errOut,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, errOut.String())
	}
	var times [][]time.Duration
	return times, json.Unmarshal(out.Bytes(), &times)
}

// takeTurns is the child.
func takeTurns(in io.Reader, out io.Writer) error {
	var t turns
	if err := json.NewDecoder(in).Decode(&t); err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	attr := &syscall.ProcAttr{Dir: t.Dir, Env: t.Env, Files: []uintptr{null.Fd(), null.Fd(), 2}}
	const warmUp = 5
	times := make([][]time.Duration, len(t.Commands))
	for i := range t.Count + warmUp {
		for k := range t.Commands {
			n := (i + k) % len(t.Commands) // each has each place as often
			took, err := spawn(t.Commands[n], attr)
			if err != nil {
				return err
			}
			if i >= warmUp {
				times[n] = append(times[n], took)
			}
		}
	}
	return json.NewEncoder(out).Encode(times)
}

// spawn runs a command and returns how long it took, from before the fork until it was waited for.
func spawn(args []string, attr *syscall.ProcAttr) (time.Duration, error) {
	var status syscall.WaitStatus
	begun := time.Now()
	pid, err := syscall.ForkExec(args[0], args, attr)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", args[0], err)
	}
	for {
		_, err = syscall.Wait4(pid, &status, 0, nil)
		if err != syscall.EINTR {
			break
		}
	}
	took := time.Since(begun)
	if err != nil || status.ExitStatus() != 0 {
		return 0, fmt.Errorf("%s: exit status %d: %w", args[0], status.ExitStatus(), err)
	}
	return took, nil
}

func copyFile(from, to string, mode fs.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
