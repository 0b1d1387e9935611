package salloc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"fsub/cmd/internal/conn"
	"fsub/cmd/internal/show"
	"fsub/cmd/internal/submit"
	"fsub/federation"
	v1 "fsub/federation/api/v1"
	"fsub/federation/stored"
	"fsub/slurm/wire"
)

func line(name string, args []string) string { return submit.Line(name, args) }

// allocation is a job that holds nodes for a command.
type allocation struct {
	name   string // of the command that has it
	c      *conn.Conn
	stderr io.Writer
	quiet  bool

	signals chan os.Signal // for this process, from before there is a job

	submitted func() // called once there is one; nil: nothing is

	chose string // sites that the user has not named: those with a way in; "": all have one

	id      string
	job     v1.Job
	revoked bool // it has ended, or was given back
}

func (a *allocation) info(format string, args ...any) {
	if !a.quiet {
		fmt.Fprintf(a.stderr, a.name+": "+format+"\n", args...)
	}
}

func (a *allocation) error(format string, args ...any) {
	fmt.Fprintf(a.stderr, a.name+": error: "+format+"\n", args...)
}

// get submits the job and waits until it runs. It returns an exit code; 0: it runs.
func (a *allocation) get(o *options) int {
	sites, err := a.sites(o.sites)
	if err != nil {
		a.error("%s", err)
		return 1
	}
	args := o.job
	if sites != "" {
		args = append(slices.Clone(args), "--fed-sites="+sites)
	}
	if o.sites == "" {
		a.chose = sites
	}
	a.signals = make(chan os.Signal, 16)
	signal.Notify(a.signals, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP)
	id, code, lines := submit.Allocate(o.line, append(args, "--wrap="+hold), o.env, a.c, a.say)
	for _, l := range lines {
		a.say(l)
	}
	if id == "" {
		return max(code, 1)
	}
	a.id = id
	if a.submitted != nil {
		a.submitted()
	}
	return a.await()
}

// say passes on what is said of a submission, in the command's own words.
func (a *allocation) say(l string) {
	const failed = "sbatch: error: Batch job submission failed: "
	instead := map[string]string{"salloc": "salloc: error: Job submit/allocate failed: ", "srun": "srun: error: Unable to allocate resources: "}[a.name]
	if rest, ok := strings.CutPrefix(l, failed); ok {
		l = instead + rest
	} else if rest, ok := strings.CutPrefix(l, "sbatch: "); ok {
		l = a.name + ": " + rest
	}
	if a.chose != "" {
		l = strings.Replace(l, ": the job asks for "+a.chose, ": there is no way into jobs there (docs/interactive.md)", 1)
	}
	fmt.Fprintln(a.stderr, strings.ReplaceAll(l, `"sbatch --help"`, `"`+a.name+` --help"`))
}

// sites are those of chosen, "" for all, at which users get inside their jobs; "": all of the federation's.
func (a *allocation) sites(chosen string) (string, error) {
	var all []v1.Site
	if err := show.Get(a.c, "/fed/v1/sites?fields=name,interactive", &all); err != nil {
		return "", err
	}
	var can, cannot []string
	for i := range all {
		name := string(all[i].Name)
		if chosen != "" && !slices.Contains(strings.Split(chosen, ","), name) {
			continue
		}
		if all[i].Interactive {
			can = append(can, name)
		} else {
			cannot = append(cannot, name)
		}
	}
	switch {
	case len(can) == 0 && len(cannot) > 0:
		return "", fmt.Errorf("the federation has no way into jobs at %s: submit a script with sbatch, or have an operator set interactive for a site (docs/interactive.md)", strings.Join(cannot, ", "))
	case len(cannot) == 0:
		return chosen, nil
	}
	return strings.Join(can, ","), nil
}

const (
	// patience is after how long a job that does not run yet is said to wait.
	patience = 2 * time.Second
	// estimates is how often the expected start is looked up; it is printed when it has changed.
	estimates = 10 * time.Second
)

// await waits until the job runs. A signal gives up.
func (a *allocation) await() int {
	began, waits, told := time.Now(), false, ""
	var next time.Time // when an estimate is due
	for pause := 50 * time.Millisecond; ; pause = min(pause*3/2, time.Second) {
		var rec v1.JobRecord
		if err := show.Get(a.c, "/fed/v1/job/"+a.id, &rec); err == nil {
			switch a.job = rec.Job; {
			case rec.Job.State == federation.Running:
				if waits {
					a.info("job %s has been allocated resources", a.id)
				}
				return 0
			case rec.Job.State.Ended():
				a.info("Job allocation %s has been revoked.", a.id)
				if r := rec.Job.Reason; r != "" && r != "None" {
					a.error("job %s ended as %s (%s)", a.id, rec.Job.State, rec.Job.Reason)
				}
				return 1
			}
		}
		if !waits && time.Since(began) > patience {
			waits = true
			a.info("Pending job allocation %s", a.id)
			a.info("job %s queued and waiting for resources", a.id)
		}
		if waits && time.Now().After(next) {
			next = time.Now().Add(estimates)
			if text := a.estimate(); text != told && text != "" {
				told = text
				a.info("%s", text)
			}
		}
		select {
		case <-a.signals:
			a.revoke()
			a.cancel()
			a.info("Job aborted due to signal")
			return 1
		case <-time.After(pause):
		}
	}
}

// estimate says when and where the job is expected to start; "": nobody knows.
func (a *allocation) estimate() string {
	var x v1.Explanation
	if show.Get(a.c, "/fed/v1/job/"+a.id+"/explain", &x) != nil {
		return ""
	}
	if x.Start == nil {
		if x.Chosen != nil && a.job.Site != "" {
			return fmt.Sprintf("job %s waits at site %s", a.id, a.job.Site)
		}
		return ""
	}
	text := fmt.Sprintf("job %s is expected to start at site %s at %s", a.id, x.Start.Site, clock(x.Start.At))
	if !x.Start.Within.IsZero() {
		text += ", and in nine of ten cases by " + clock(x.Start.Within)
	}
	return text
}

// clock is a time of today, or with its day.
func clock(t time.Time) string {
	t = t.Local()
	if now := time.Now(); t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04")
	}
	return t.Format("2006-01-02T15:04")
}

// revoke says that the allocation is gone.
func (a *allocation) revoke() {
	a.revoked = true
	a.info("Job allocation %s has been revoked.", a.id)
}

// number is the job's.
func (a *allocation) number() (id federation.JobID) {
	fmt.Sscan(a.id, &id)
	return id
}

// end gives the allocation back, after a command with this exit code.
func (a *allocation) end(code int) {
	name := "USR1"
	if code != 0 {
		name = "USR2"
	}
	if a.act("/fed/v1/jobs/signal", stored.Signal{Name: name, Batch: true}) != nil {
		a.cancel()
	}
}

// cancel ends the job.
func (a *allocation) cancel() {
	if err := a.act("/fed/v1/jobs/cancel", stored.Signal{}); err != nil {
		a.error("job %s cannot be cancelled, and holds its nodes until its time limit: %s; run: scancel %s", a.id, err, a.id)
	}
}

// act asks for something to be done to the job. That it has ended already is what was wanted.
func (a *allocation) act(path string, s stored.Signal) error {
	var resp v1.ActResponse
	if err := show.Post(a.c, path, v1.ActRequest{Jobs: []v1.JobRef{{ID: a.number()}}, Signal: s}, &resp); err != nil {
		return err
	}
	for _, r := range resp.Results {
		if r.Error != nil && r.Error.Number != wire.ErrAlreadyDone && r.Error.Number != wire.ErrJobFinished {
			return errors.New(r.Error.Text)
		}
	}
	return nil
}
