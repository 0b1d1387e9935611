package scancel

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fsub/cmd/internal/conn"
	"fsub/federation"
	"fsub/federation/api"
	"fsub/federation/driver"
	"fsub/sbatch"
	"fsub/testbed/apitest"
)

// stepSite is a site where each job has a step 0.
type stepSite struct{ asked []string }

func (s *stepSite) SignalStep(_ context.Context, job federation.JobID, step string, sig driver.StepSignal) error {
	if step != "0" {
		return federation.ErrNotFound
	}
	s.asked = append(s.asked, strings.TrimSpace(fmt.Sprintf("%d.%s %s", job, step, sig.Name)))
	return nil
}

// stepDaemon has a job for each case: 2 and 4 run at sky, 4 is another's, 3 at a Slurm cluster; 1 waits, 5 has ended; 20 is an array whose task 0 is job 21; 9 is heterogeneous.
func stepDaemon(t *testing.T, site driver.StepSignaller) *apitest.Daemon {
	d := apitest.Start(t, api.Config{Users: everybody{}, StepSignals: map[federation.SiteName]driver.StepSignaller{"sky": site}})
	d.Controller.SetSites(&federation.Site{Name: "alpha"}, &federation.Site{Name: "sky"})
	put := func(id federation.JobID, at federation.SiteName, state federation.State, change func(*federation.Job)) {
		j := federation.Job{ID: id, User: "me", UID: uint32(os.Getuid()), State: state, Site: at, Partition: "main", Spec: &sbatch.Spec{Name: "j", WorkDir: "/"}}
		if change != nil {
			change(&j)
		}
		d.Put(t, j)
	}
	put(1, "", federation.Pending, nil)
	put(2, "sky", federation.Running, nil)
	put(3, "alpha", federation.Running, nil)
	put(5, "sky", federation.Completed, nil)
	het := sbatch.Spec{Name: "j", WorkDir: "/"}
	put(9, "sky", federation.Running, func(j *federation.Job) { j.Spec.Het = []sbatch.Spec{het} })
	put(20, "", federation.Pending, func(j *federation.Job) {
		j.Spec.Array, j.Whole = "2-5", &federation.ArrayWhole{Count: 6, Max: 5, Step: 1, Spread: true}
	})
	put(21, "sky", federation.Running, func(j *federation.Job) {
		j.Part = &federation.ArrayPart{Array: 20, Index: 0, Count: 6, Max: 5, Step: 1}
	})
	return d
}

// TestSteps: the words and exit codes are scancel 24.11's.
func TestSteps(t *testing.T) {
	const prefix, invalid = "scancel: error: Kill job error on job step id ", "Invalid job id specified\n"
	for _, test := range []struct {
		args   string
		exit   int
		stderr string
		stdout string
		input  string
		asked  string
	}{
		{args: "2.0", asked: "2.0"},
		{args: "-v 2.0", asked: "2.0", stderr: "scancel: Terminating step 2.0\n"},
		{args: "-s USR1 2.0", asked: "2.0 USR1"},
		{args: "-v -s SIGUSR1 2.0", asked: "2.0 USR1", stderr: "scancel: Signal 10 to step 2.0\n"},
		{args: "-b 2.0", asked: "2.0"},
		{args: "-v -f -s TERM 2.0", asked: "2.0 TERM", stderr: "scancel: Signal 15 to step 2.0\n"},
		{args: "-s KILL 2.0", asked: "2.0 KILL"},
		{args: "2.99", exit: 225, stderr: prefix + "2: " + invalid},
		{args: "-s USR1 2.99"},
		{args: "-v 2.99", exit: 225, stderr: "scancel: Terminating step 2.99\n" + prefix + "2: " + invalid},
		{args: "-Q 2.99", exit: 225, stderr: prefix + "2: " + invalid},
		{args: "2.7 2.0", exit: 225, stderr: prefix + "2: " + invalid, asked: "2.0"},
		{args: "1.0"},
		{args: "5.0", exit: 1, stderr: prefix + "5.0: " + invalid},
		{args: "999.0", exit: 1, stderr: prefix + "999.0: " + invalid},
		{args: "-t PENDING 2.0"},
		{args: "-t RUNNING 2.0", asked: "2.0"},
		{args: "-v -n foo 2.0", stderr: "scancel: error: No active jobs match ALL job filters, including: job_name=foo \n"},
		{args: "-i 2.0", input: "n\n", stdout: "Cancel step_id=2.0 name=j partition=main [y/n]? "},
		{args: "-i 2.0", input: "y\n", stdout: "Cancel step_id=2.0 name=j partition=main [y/n]? ", asked: "2.0"},
		{args: "20_0.0", asked: "21.0"},
		{args: "21.0", asked: "21.0"},
		{args: "20_0.3", exit: 225, stderr: prefix + "21: " + invalid},
		{args: "20_1.0", exit: 1, stderr: prefix + "20_1.0: " + invalid},
		{args: "20_3.0"}, // it waits
		{args: "20_[0-1].0", exit: 1, stderr: "scancel: error: Invalid job id 20_[0-1].0\n"},
		{args: "9.0", asked: "9.0"},
		{args: "9+1.0", asked: "9.0"},
		{args: "3.0", exit: 1, stderr: prefix + "3: alpha is a Slurm cluster, whose REST API takes no orders to steps: call scancel within the job, or signal the whole job\n"},
		{args: "2.0 1", asked: "2.0"},
	} {
		t.Run(test.args, func(t *testing.T) {
			site := &stepSite{}
			d := stepDaemon(t, site)
			c := conn.New(d.Socket, 0)
			defer c.Close()
			var stdout, stderr bytes.Buffer
			exit := run(strings.Fields(test.args), nil, strings.NewReader(test.input), &stdout, &stderr, c)
			if exit != test.exit || stderr.String() != test.stderr || stdout.String() != test.stdout {
				t.Errorf("exit %d, want %d\nstderr %q\n  want %q\nstdout %q\n  want %q", exit, test.exit, &stderr, test.stderr, &stdout, test.stdout)
			}
			if got := strings.Join(site.asked, ", "); got != test.asked {
				t.Errorf("asked for %q, want %q", got, test.asked)
			}
		})
	}
}

// TestHandOver: within a job at a Slurm cluster its steps are the site's own scancel's to signal, by the number that the site knows; at a rented site they are ours.
func TestHandOver(t *testing.T) {
	dir := t.TempDir()
	said := filepath.Join(dir, "said")
	script := "#!/bin/sh\necho \"$@\" >> " + said + "\nexit 7\n"
	if err := os.WriteFile(filepath.Join(dir, "scancel"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args, env string
		exit      int
		said      string
		asked     string
	}{
		{"3.0", "SLURM_JOB_ID=3", 7, "3.0", ""},
		{"-s USR1 -v -M alpha 3.0", "SLURM_JOB_ID=3", 7, "--signal=USR1 --verbose 3.0", ""},
		{"2.0", "SLURM_JOB_ID=3", 0, "", "2.0"},
		{"2.0", "SLURM_JOB_ID=2 FSUB_STEPS=/s", 0, "", "2.0"},
		{"701.0", "SLURM_JOB_ID=701 FSUB_JOB_ID=3", 7, "701.0", ""},
		{"3.0", "SLURM_JOB_ID=701 FSUB_JOB_ID=3", 7, "701.0", ""},
		{"801_2.0 801_3.1", "SLURM_JOB_ID=802 SLURM_ARRAY_JOB_ID=801 SLURM_ARRAY_TASK_ID=2", 7, "801_2.0 801_3.1", ""},
		{"3_2.0", "SLURM_JOB_ID=802 SLURM_ARRAY_JOB_ID=801 SLURM_ARRAY_TASK_ID=2 FSUB_ARRAY_JOB_ID=3", 7, "801_2.0", ""},
		{"802.0", "SLURM_JOB_ID=802 SLURM_ARRAY_JOB_ID=801 SLURM_ARRAY_TASK_ID=2 FSUB_ARRAY_JOB_ID=3", 7, "802.0", ""},
		{"3+1.0", "SLURM_JOB_ID=3", 7, "3+1.0", ""},
	} {
		t.Run(test.args+" in "+test.env, func(t *testing.T) {
			os.Remove(said)
			site := &stepSite{}
			d := stepDaemon(t, site)
			c := conn.New(d.Socket, 0)
			defer c.Close()
			var stdout, stderr bytes.Buffer
			exit := run(strings.Fields(test.args), append(strings.Fields(test.env), "PATH="+dir), nil, &stdout, &stderr, c)
			text, _ := os.ReadFile(said)
			if got := strings.Join(strings.Fields(string(text)), " "); exit != test.exit || got != test.said || strings.Join(site.asked, ", ") != test.asked {
				t.Errorf("exit %d, the site's was called with %q, we asked for %q; %s%s", exit, got, site.asked, &stdout, &stderr)
			}
		})
	}
}
