package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
)

// TestWhatIsNotThere: answers are those that slurmrestd 24.11 gave to an ordinary user of a cluster without it, in v0.0.42.
func TestWhatIsNotThere(t *testing.T) {
	d := start(t)
	caller := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", d.Socket)
	}}}
	defer caller.CloseIdleConnections()
	for _, version := range []string{"v0.0.42", "v0.0.43", "v0.0.44"} {
		for _, c := range []struct {
			call   string
			status int
			want   string // number and sentence of the error; "": there is none
		}{
			{"DELETE /slurm/%s/job/99999999", 404, "2017 Invalid job id specified, from op_handler_job: Invalid JobID=99999999 rejected"},
			{"GET /slurm/%s/node/nosuch", 200, "0 No error, from _dump_nodes: Failure to query node nosuch"},
			{"GET /slurm/%s/reservation/nosuch", 200, "0 No error, from slurm_load_reservations(): Unable to query reservations"},
			{"GET /slurm/%s/partition/nosuch", 422, "9000 Query empty or not RFC7320 compliant, from op_handler_partition: Unable to find partition nosuch"},
			{"GET /slurmdb/%s/instances/", 200, ""},
			{"GET /slurmdb/%s/config", 500, "2002 Access/permission denied"},
			{"GET /slurmdb/%s/diag", 500, "2002 Access/permission denied"},
			{"GET /slurmdb/%s/wckeys/", 500, "2002 Access/permission denied"},
		} {
			var method, path string
			fmt.Sscan(fmt.Sprintf(c.call, version), &method, &path)
			req, err := http.NewRequestWithContext(t.Context(), method, "http://fsub"+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := caller.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			var body struct {
				Errors []struct {
					Description, Error, Source string
					Number                     int `json:"error_number"`
				}
				Jobs, Nodes json.RawMessage
			}
			if err == nil {
				err = json.Unmarshal(b, &body)
			}
			got := ""
			for _, e := range body.Errors {
				got = fmt.Sprintf("%d %s", e.Number, e.Error)
				if e.Number != 2002 {
					got += fmt.Sprintf(", from %s: %s", e.Source, e.Description)
				}
			}
			if err != nil || resp.StatusCode != c.status || got != c.want || body.Nodes != nil {
				t.Errorf("%s %s: %d, %q, %v, want %d, %q", method, path, resp.StatusCode, got, err, c.status, c.want)
			}
		}
	}
}
