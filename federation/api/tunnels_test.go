package api_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api"
	v1 "fsub/federation/api/v1"
	"fsub/federation/driver"
	"fsub/federation/journal"
	"fsub/federation/tunnel"
)

// echoSite is a site whose jobs say back what they are told.
type echoSite struct{ asked []federation.JobID }

func (s *echoSite) Connect(_ context.Context, job federation.JobID) (driver.Tunnel, error) {
	s.asked = append(s.asked, job)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return nil, err
	}
	there, err := l.Accept()
	if err != nil {
		return nil, err
	}
	go func() {
		io.Copy(there, there)
		there.Close()
	}()
	return c.(*net.TCPConn), nil
}

// TestTunnel: who may open a tunnel into which job, what goes through it, and how many one user may have.
func TestTunnel(t *testing.T) {
	site, self := &echoSite{}, uint32(os.Getuid())
	srun := func(name federation.SiteName, _ string) *v1.SiteSrun {
		if name != "beta" {
			return nil
		}
		return &v1.SiteSrun{Site: name, Host: "login.beta"}
	}
	d := startWith(t, api.Config{Connects: map[federation.SiteName]driver.Connector{"sky": site}, Srun: srun, Operators: []string{"olga"}})
	put := func(id federation.JobID, uid uint32, at federation.SiteName, state federation.State) federation.Job {
		j := job(id, uid, state)
		j.Site, j.End = at, time.Now()
		return j
	}
	second := put(8, self, "sky", federation.Running)
	second.Component = &federation.HetComponent{Leader: 7, Offset: 1}
	d.Put(t, put(1, alice, "sky", federation.Running), put(2, self, "alpha", federation.Running), put(3, self, "sky", federation.Completed), put(4, self, "", federation.Pending),
		put(5, self, "sky", federation.Running), put(6, self, "sky", federation.Suspended), put(7, self, "sky", federation.Running), second)
	open := func(path string) (*tunnel.Conn, error) {
		c, err := net.Dial("unix", d.Socket)
		if err != nil {
			t.Fatal(err)
		}
		return tunnel.Open(t.Context(), c, path, http.Header{})
	}
	for path, want := range map[string]string{
		"/fed/v1/job/1/tunnel": "Invalid user id", "/fed/v1/job/2/tunnel": "alpha is a Slurm cluster", "/fed/v1/job/3/tunnel": "Job has already finished",
		"/fed/v1/job/4/tunnel": "Job is pending execution", "/fed/v1/job/6/tunnel": "Job step not running", "/fed/v1/job/99/tunnel": "Invalid job id specified", "/fed/v1/job/x/tunnel": "Invalid job id specified",
	} {
		if c, err := open(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %s", path, c, err, want)
		}
	}
	for _, uid := range []uint32{bob, olga} {
		var out v1.ErrorResponse
		if code := as(t, uid, d.Socket, "POST", "/fed/v1/job/5/tunnel", nil, &out); code != 400 || !strings.Contains(out.Error.Detail, "Upgrade") {
			t.Errorf("without the header: %d, %+v", code, out)
		}
	}
	others := put(9, alice, "beta", federation.Running)
	d.Put(t, put(10, self, "beta", federation.Running), put(11, self, "beta", federation.Running), others)
	attempt := &federation.Attempt{Job: 10, Number: 1, Site: "beta", SiteJobID: 4711, Key: "k"}
	if err := d.Store.Commit(t.Context(), &journal.Batch{Attempts: []*federation.Attempt{attempt}}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/fed/v1/job/9/tunnel": "Invalid user id", "/fed/v1/job/10/tunnel": `200 OK: {"site":"beta","job":4711,"host":"login.beta"}`, "/fed/v1/job/11/tunnel": "Job is pending execution",
	} {
		if c, err := open(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %s", path, c, err, want)
		}
	}
	c, err := open("/fed/v1/job/8/tunnel")
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(c, "hello")
	c.CloseWrite()
	if text, err := io.ReadAll(c); string(text) != "hello" || err != nil || len(site.asked) != 1 || site.asked[0] != 7 {
		t.Errorf("%q, %v, asked for %d", text, err, site.asked)
	}
	c.Close()
	var all []*tunnel.Conn
	for len(all) < 100 {
		if c, err = open("/fed/v1/job/5/tunnel"); err != nil {
			break
		}
		all = append(all, c)
	}
	if len(all) != 64 && len(all) != 63 || err == nil || !strings.Contains(err.Error(), "64 connections") { // the first may not be gone yet
		t.Errorf("%d at a time, then %v", len(all), err)
	}
	for _, c := range all {
		c.Close()
	}
}
