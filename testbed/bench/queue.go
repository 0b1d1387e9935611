package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"fsub/testbed/bed"
	"fsub/testbed/daemon"
)

// queue measures squeue of many held jobs: ours against a daemon, real squeue against the slurmctld of one site with as many, both
// inside that site, in turns. The daemon's federation is the other site: what it polls is not what is measured.
func (r *bench) queue(ctx context.Context) error {
	n, err := r.fillSite(ctx, "alpha", r.queueJobs)
	if err != nil {
		return err
	}
	defer r.b.Output(context.WithoutCancel(ctx), "alpha", "", "scancel", "--user", r.user.Name)
	if err := os.RemoveAll(r.dir("queue")); err != nil {
		return err
	}
	d, err := daemon.New(ctx, daemon.Options{Bed: r.b, Fed: r.fed, Dir: r.dir("queue"), Federation: "bench-queue", Edit: func(c map[string]any) { noRates(c); onlySite("beta")(c) }})
	if err != nil {
		return err
	}
	if err := d.Start(ctx); err != nil {
		return err
	}
	defer d.Stop()
	if err := d.AwaitSites(ctx); err != nil {
		return err
	}
	dial := func() (net.Conn, error) { return daemon.DialAs(d.Socket(), r.user.UID, r.user.UID) }
	if _, err := submitAll(dial, ourClients, n, post("/fed/v1/job", "", submitBody(r.b.Home(r.user.Name), true))); err != nil {
		return err
	}
	dir := r.dir("queue")
	for from, to := range map[string]string{"/proc/self/exe": "bench", r.fsub: "squeue"} {
		if err := copyFile(from, filepath.Join(dir, to), 0o755); err != nil {
			return err
		}
	}
	ours, env := filepath.Join(dir, "squeue"), append(environment(r.b.Home(r.user.Name)), "FSUB_SOCKET="+d.Socket())
	for _, args := range [][]string{{}, {"-h", "-o", "%i %t"}, {"--me", "-t", "R"}} {
		if err := r.compareQueues(ctx, n, ours, env, args); err != nil {
			return err
		}
	}
	return r.pollers(dial)
}

// fillSite makes at least n job records at a site. Held arrays of which all tasks but one are changed become one record for each
// task: a thousand in a few milliseconds, where sbatch makes a hundred in a second.
func (r *bench) fillSite(ctx context.Context, site string, n int) (int, error) {
	const fill = `while [ $(squeue -h -r -o x | wc -l) -lt $1 ]; do
	for i in 1 2 3 4 5 6 7 8 9 10; do
		a=$(sbatch --parsable --hold --job-name bench --mem 10M --time 10 --array 0-999 --wrap true) || exit 1
		scontrol update jobid=${a}_[0-998] nice=5 || exit 1
	done
done
squeue -h -o x | wc -l`
	var out, errOut strings.Builder
	err := r.b.Exec(ctx, bed.Cmd{Site: site, User: r.user.Name, Args: []string{"bash", "-c", fill, "fill", strconv.Itoa(n)}, Stdout: &out, Stderr: &errOut})
	if err != nil {
		return 0, fmt.Errorf("fill %s with jobs: %w: %s", site, err, errOut.String())
	}
	return strconv.Atoi(strings.TrimSpace(out.String()))
}

// onlySite leaves one site in a daemon's configuration.
func onlySite(name string) func(map[string]any) {
	return func(config map[string]any) {
		sites, _ := config["sites"].([]any)
		var kept []any
		for _, s := range sites {
			if m, ok := s.(map[string]any); ok && m["name"] == name {
				kept = append(kept, s)
			}
		}
		config["sites"] = kept
	}
}

func (r *bench) compareQueues(ctx context.Context, n int, ours string, env, args []string) error {
	t := turns{Count: r.queueRuns, Dir: r.b.Home(r.user.Name), Env: env,
		Commands: [][]string{append([]string{ours}, args...), append([]string{"/usr/bin/squeue"}, args...)}}
	times, err := r.turns(ctx, "alpha", t)
	if err != nil {
		return err
	}
	a, b := newSample(times[0]), newSample(times[1])
	ratio := float64(a.median()) / float64(b.median())
	what := strings.TrimSpace("squeue " + strings.Join(args, " "))
	r.add(row{
		what: fmt.Sprintf("%s of %d jobs / real squeue, median of %d", what, n, r.queueRuns), ours: ms(a.median()), theirs: ms(b.median()),
		ratio: fmt.Sprintf("%.2f", ratio), goal: "<= 0.30", met: ratio <= 0.3,
	})
	ourPeak, err := r.peak(ctx, env, t.Commands[0])
	if err != nil {
		return err
	}
	theirPeak, err := r.peak(ctx, env, t.Commands[1])
	if err != nil {
		return err
	}
	r.note("%s: peak memory ours %.1f MiB, theirs %.1f MiB; slowest ours %s, theirs %s", what, mib(ourPeak), mib(theirPeak), ms(a.quantile(1)), ms(b.quantile(1)))
	return nil
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// peak is the most memory that a command has held in a site, as the kernel tells of it while it runs. (What wait4 tells would
// be the parent's: a child that shares its parent's memory up to exec is charged for it.)
func (r *bench) peak(ctx context.Context, env, args []string) (int64, error) {
	cmd, err := r.b.Start(ctx, bed.Cmd{Site: "alpha", User: r.user.Name, Args: args, Env: env, Dir: r.b.Home(r.user.Name)})
	if err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var most int64
	for {
		select {
		case err := <-ended:
			if most == 0 && err == nil {
				err = fmt.Errorf("%s ended before its memory was seen", args[0])
			}
			return most, err
		default:
			if name, high := memory(cmd.Process.Pid); name == filepath.Base(args[0]) {
				most = max(most, high)
			}
		}
	}
}

// memory is the name of a process and the most memory that it has held so far.
func memory(pid int) (name string, high int64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return "", 0
	}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		switch fields := strings.Fields(value); {
		case len(fields) == 0:
		case key == "Name":
			name = fields[0]
		case key == "VmHWM":
			kib, _ := strconv.ParseInt(fields[0], 10, 64)
			high = kib << 10
		}
	}
	return name, high
}

// pollers measures what a thousand clients that ask for their own jobs cost the daemon.
func (r *bench) pollers(dial func() (net.Conn, error)) error {
	const clients, each = 50, 40
	conns := make([]*keptAlive, clients)
	for i := range conns {
		c, err := dial()
		if err != nil {
			return err
		}
		defer c.Close()
		conns[i] = newKeptAlive(c)
	}
	request := []byte("GET /fed/v1/queue?job_id=30000017,30000018&live=1 HTTP/1.1\r\nHost: bench\r\n\r\n")
	begun := time.Now()
	errs := make(chan error, clients)
	for _, c := range conns {
		go func() {
			for range each {
				if err := c.do(request); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range conns {
		if err := <-errs; err != nil {
			return err
		}
	}
	took := time.Since(begun)
	r.note("%d polls of two jobs each, by %d clients: %.0f polls/s", clients*each, clients, clients*each/took.Seconds())
	return nil
}

// result is the benchmark for programs.
type result struct {
	What   string `json:"what"`
	Ours   string `json:"ours"`
	Theirs string `json:"theirs"`
	Ratio  string `json:"ratio"`
	Goal   string `json:"goal"`
	Met    bool   `json:"met"`
}

// writeJSON writes the rows to a file.
func (r *bench) writeJSON(file string) error {
	results := make([]result, len(r.rows))
	for i, x := range r.rows {
		results[i] = result{x.what, x.ours, x.theirs, x.ratio, x.goal, x.met}
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false) // goals are full of < and >
	e.SetIndent("", "  ")
	if err := e.Encode(results); err != nil {
		return err
	}
	return os.WriteFile(file, text.Bytes(), 0o644)
}
