package api_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api"
	"fsub/federation/api/answer"
	v1 "fsub/federation/api/v1"
	"fsub/sbatch"
	"fsub/testbed/apitest"
)

// A job that asks after itself is told that it runs, although nobody had looked yet. Nobody else waits, nor does who would in vain.
func TestCallFromWithin(t *testing.T) {
	d := apitest.Start(t, api.Config{})
	d.Controller.SetSites(&federation.Site{Name: "alpha", Answering: true}, &federation.Site{Name: "silent"})
	job := federation.Job{User: "root", Spec: &sbatch.Spec{Name: "x"}, State: federation.Pending, Site: "alpha", Submit: time.Now()}
	silent := job
	silent.Site = "silent"
	id := d.Put(t, job, federation.Job{User: "root", State: federation.Pending, Submit: time.Now()}, silent)
	ask := func(header string) federation.State {
		t.Helper()
		client := http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			return net.Dial("unix", d.Socket)
		}}}
		defer client.CloseIdleConnections()
		req, err := http.NewRequest("GET", "http://fsub/fed/v1/job/"+id[0].String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(answer.HeaderJob, header)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var r v1.JobRecord
		if err := json.NewDecoder(resp.Body).Decode(&r); err != nil {
			t.Fatal(err)
		}
		return r.Job.State
	}
	for _, other := range []string{"", "nonsense", "1", id[1].String(), id[2].String()} {
		if s := ask(other); s != federation.Pending {
			t.Errorf("asked from within %q it is %s", other, s)
		}
	}
	if s := ask("7," + id[0].String()); s != federation.Running {
		t.Errorf("asked from within as a task it is %s", s)
	}
}
