package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fsub/testbed/daemon"
)

const (
	ourClients  = 64
	restClients = 8 // more get less from slurmrestd
)

// accept measures how many held jobs a second the daemon accepts, durably, beside what slurmrestd of a site takes, in turns.
func (r *bench) accept(ctx context.Context) error {
	d, err := r.startDaemon(ctx, "accept")
	if err != nil {
		return err
	}
	defer d.Stop()
	home := r.b.Home(r.user.Name)
	info, err := r.b.Site("alpha")
	if err != nil {
		return err
	}
	headers, version, err := r.restHeaders(ctx, info.RestURL, info.KeyFile)
	if err != nil {
		return err
	}
	ourRequest := post("/fed/v1/job", "", submitBody(home, true))
	restRequest := post("/slurm/"+version+"/job/submit", headers, restBody(home, true))
	dial := func() (net.Conn, error) { return daemon.DialAs(d.Socket(), r.user.UID, r.user.UID) }
	dialRest := func() (net.Conn, error) { return net.Dial("tcp", strings.TrimPrefix(info.RestURL, "http://")) }

	restPIDs, err := r.pids("alpha", "slurmrestd", "slurmctld")
	if err != nil {
		return err
	}
	var ours, rest []load
	ourCPU, restCPU := cpuTime(d.PID()), cpuTime(restPIDs...)
	for i := range r.rounds {
		l, err := submitAll(dial, ourClients, r.jobs, ourRequest)
		if err != nil {
			return fmt.Errorf("daemon: %w", err)
		}
		ours = append(ours, l)
		time.Sleep(500 * time.Millisecond)
		if l, err = submitAll(dialRest, restClients, r.restJobs, restRequest); err != nil {
			return fmt.Errorf("slurmrestd: %w", err)
		}
		rest = append(rest, l)
		r.note("round %d: daemon %.0f jobs/s (p50 %s, p99 %s), slurmrestd %.0f jobs/s (p50 %s, p99 %s)", i+1,
			ours[i].perSecond(), ms(ours[i].answers.median()), ms(ours[i].answers.quantile(0.99)),
			rest[i].perSecond(), ms(rest[i].answers.median()), ms(rest[i].answers.quantile(0.99)))
		if _, err := r.b.Output(ctx, "alpha", "", "scancel", "--user", r.user.Name); err != nil {
			return err
		}
		time.Sleep(time.Second)
	}
	ourCPU, restCPU = (cpuTime(d.PID())-ourCPU)/time.Duration(r.rounds*r.jobs), (cpuTime(restPIDs...)-restCPU)/time.Duration(r.rounds*r.restJobs)
	r.note("processor time of a job: daemon %s, slurmrestd and slurmctld %s (their cancellation included)", ms(ourCPU), ms(restCPU))
	a, b := middle(ours), middle(rest)
	ratio := a.perSecond() / b.perSecond()
	r.add(row{
		what: fmt.Sprintf("accepted jobs/s, %d clients / slurmrestd, %d", ourClients, restClients), ours: fmt.Sprintf("%.0f/s", a.perSecond()),
		theirs: fmt.Sprintf("%.0f/s", b.perSecond()), ratio: fmt.Sprintf("%.1f", ratio), goal: ">= 8", met: ratio >= 8,
	})
	p99 := a.answers.quantile(0.99)
	r.add(row{
		what: "its answer time, p99", ours: ms(p99), theirs: ms(b.answers.quantile(0.99)),
		ratio: "-", goal: "< 20 ms", met: p99 < 20*time.Millisecond,
	})
	return nil
}

// middle is the load with the median rate.
func middle(ls []load) load {
	s := slices.SortedFunc(slices.Values(ls), func(a, b load) int { return int(a.perSecond() - b.perSecond()) })
	return s[len(s)/2]
}

// restHeaders make a request that of the bench's user. The version is the newest that the site serves.
func (r *bench) restHeaders(ctx context.Context, url, keyFile string) (headers, version string, err error) {
	key, err := os.ReadFile(keyFile)
	if err != nil {
		return "", "", err
	}
	token := makeToken(key, r.user.Name)
	headers = "X-SLURM-USER-NAME: " + r.user.Name + "\r\nX-SLURM-USER-TOKEN: " + token + "\r\n"
	for _, version = range []string{"v0.0.45", "v0.0.44", "v0.0.43", "v0.0.42"} {
		req, err := http.NewRequestWithContext(ctx, "GET", url+"/slurm/"+version+"/ping/", nil)
		if err != nil {
			return "", "", err
		}
		req.Header.Set("X-SLURM-USER-NAME", r.user.Name)
		req.Header.Set("X-SLURM-USER-TOKEN", token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return "", "", err
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return headers, version, nil
		}
	}
	return "", "", fmt.Errorf("%s serves none of the versions v0.0.42 to v0.0.45", filepath.Base(url))
}

// makeToken makes a JWT that slurmctld takes.
func makeToken(key []byte, user string) string {
	claims, _ := json.Marshal(map[string]any{"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(), "sun": user})
	text := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + base64.RawURLEncoding.EncodeToString(claims)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
