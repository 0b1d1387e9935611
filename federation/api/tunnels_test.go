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
	d := startWith(t, api.Config{Connects: map[federation.SiteName]driver.Connector{"sky": site}, Operators: []string{"olga"}})
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
