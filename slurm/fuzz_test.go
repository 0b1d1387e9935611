package slurm

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/sbatch"
)

// parrot is a slurmrestd that answers each call with the file of that call, and one of them with anything at all.
type parrot struct {
	version, call string
	text          []byte
	status        int
	files         map[string][]byte // by the end of the path
}

func (p *parrot) RoundTrip(r *http.Request) (*http.Response, error) {
	status, text := http.StatusNotFound, []byte("Unable find requested URL.")
	_, path, ok := strings.Cut(r.URL.Path, p.version)
	if service := strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/")[0]; ok {
		status, text = http.StatusOK, p.files["ping"]
		for call, file := range p.files {
			if service+path == call {
				text = file
			}
		}
		if service+path == p.call {
			status, text = p.status, p.text
		}
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(text)), Request: r}, nil
}

// FuzzAnswers has a site answer a call with anything: what the driver makes of it is a whole observation or report, or an error that names the site.
func FuzzAnswers(f *testing.F) {
	names := map[string]string{
		"slurm/ping/": "ping", "slurm/nodes/": "nodes", "slurm/partitions/": "partitions", "slurm/reservations/": "reservations", "slurm/jobs/": "jobs", "slurm/jobs/state/": "jobs_state",
		"slurm/job/30000010": "job_running", "slurm/job/30000011": "job_array", "slurm/job/2": "job_running", "slurm/job/1": "job_running", "slurmdb/jobs/": "dbjobs", "slurmdb/job/30000011": "dbjob_array", "slurmdb/associations/": "associations",
		"slurmdb/wckeys/": "wckeys", "slurm/diag/": "diag", "slurm/licenses/": "licenses", "slurm/job/submit": "submit",
	}
	calls := make([]string, 0, len(names))
	for call := range names {
		calls = append(calls, call)
	}
	slices.Sort(calls)
	seeds := 0
	worlds := []parrot{{version: "/v0.0.45"}, {version: "/v0.0.42"}, {version: "/v0.0.38"}}
	for w, where := range []string{"wire/testdata/26.05_v0.0.45_", "wire/testdata/24.11_v0.0.42_", "testdata/22.05_v0.0.38_"} {
		worlds[w].files = map[string][]byte{"ping": []byte(`{"meta":{"Slurm":{"release":"22.05.8"}},"errors":[]}`)}
		for i, call := range calls {
			text, err := os.ReadFile(where + names[call] + ".json")
			if err != nil {
				continue
			}
			worlds[w].files[call] = text
			f.Add(uint8(w), uint8(i), uint16(200), text)
			seeds++
		}
	}
	if seeds == 0 {
		f.Fatal("there are no answers of real sites")
	}
	f.Add(uint8(1), uint8(9), uint16(500), []byte(`{"meta":{},"jobs":[{"job_id":"30000007","state":["RUNNING"]}],"errors":[{"error_number":2017}]}`))
	key := keyFile(f, "key")
	f.Fuzz(func(t *testing.T, w, which uint8, status uint16, text []byte) {
		p := worlds[int(w)%len(worlds)]
		p.call, p.text, p.status = calls[int(which)%len(calls)], text, 200
		if status%4 == 1 {
			p.status = 500
		}
		d, err := Open(Config{Name: "alpha", Federation: "f", URL: "http://alpha", KeyFile: key, RPS: 1e9, Burst: 1e9, Timeout: time.Minute, Transport: &p, DefaultPartition: "main"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		check := func(what string, err error) {
			if err != nil && !strings.Contains(err.Error(), "alpha") {
				t.Errorf("%s: %v does not name the site", what, err)
			}
		}
		// What does not ask for the call is left out: it would be the same each time.
		switch call := strings.TrimPrefix(p.call, "slurm"); {
		case strings.HasPrefix(call, "db/jobs"):
			used, err := d.books.Measured(ctx, []federation.JobRef{{ID: 30_000_011}})
			check("Measured", err)
			for _, all := range used {
				for _, u := range all {
					if u.Total < 0 || u.System < 0 || u.User < 0 {
						t.Errorf("used %+v", u)
					}
				}
			}
		case call == "/job/submit":
			_, err := d.Submit(ctx, submission())
			check("Submit", err)
		case strings.Contains(call, "/job"):
			report, err := d.Jobs(ctx, nil)
			check("Jobs", err)
			if err == nil {
				_, err = d.Jobs(ctx, report.Mark)
				check("Jobs again", err)
			}
			for _, id := range []federation.JobID{30_000_010, 30_000_011} {
				j, err := d.Lookup(ctx, federation.JobRef{ID: id})
				check("Lookup", err)
				if err == nil && (j.Limit < 0 || j.NumNodes < 0 || j.CPUs < 0 || j.GPUs < 0) {
					t.Errorf("job %+v", j)
				}
			}
		}
		if strings.Contains(p.call, "/job/") || strings.Contains(p.call, "state") {
			return
		}
		o, err := d.Observe(ctx)
		check("Observe", err)
		if err != nil {
			return
		}
		for i := range o.Nodes {
			n := &o.Nodes[i]
			if n.CPUs < 0 || n.Mem < 0 || n.CPUsUsed < 0 || n.MemUsed < 0 {
				t.Errorf("node %+v", n)
			}
			for _, g := range n.GRES {
				if g.Total < 0 || g.Used < 0 {
					t.Errorf("node %s has %+v", n.Name, g)
				}
			}
		}
		for i := range o.Partitions {
			if p := &o.Partitions[i]; p.MaxTime < 0 && p.MaxTime != sbatch.Unlimited || p.DefaultTime < 0 && p.DefaultTime != sbatch.Unlimited || p.MaxNodes < 0 {
				t.Errorf("partition %+v", p)
			}
		}
	})
}
