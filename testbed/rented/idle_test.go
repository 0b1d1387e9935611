package rented

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/testbed/listener"
)

// TestIdle: of two jobs on agents' machines one sleeps and one computes. Of the sleeping one its user is told by mail, once, though the daemon is killed meanwhile; in the end it
// is cancelled, as its QOS says. The other one is left in peace.
func TestIdle(t *testing.T) {
	t.Parallel()
	single(t)
	var box listener.Inbox
	end, err := box.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end() })
	p := newHome(t, config{pool: "max: 1, idle: 2s",
		more: "- name: near\n  kind: local\n  local: {nodes: 1, cpus: 4, mem_mib: 2000}\n",
		daemon: []string{"health: {idle: {cpu_below: 1, for: 10s, act: {debug: cancel}}}",
			fmt.Sprintf("mail: {server: %q, from: fsub@example.org, tls: none}", box.Addr)}})
	sleeps := p.submit("#!/bin/bash\n#SBATCH -n1 -t 20 -q debug\nexec sleep 1000\n")
	busy := p.submit("#!/bin/bash\n#SBATCH -n1 -t 20 -q debug\nwhile :; do :; done\n")
	text := func(args ...string) string {
		out, errOut, _ := p.run(args...)
		return out + errOut
	}
	told := "idle: its CPU was used below 1 % since "
	p.eventually("the user is told", 3*time.Minute, func() string {
		if show := text("fed", "job", "show", sleeps.String()); !strings.Contains(show, told) || !strings.Contains(show, "its user was told at ") {
			return show
		}
		return ""
	})
	p.kill()
	p.start()
	rec := p.await(sleeps, 5*time.Minute)
	if rec.Job.State != federation.Cancelled {
		t.Errorf("the job that sleeps is %s; history: %v", rec.Job.State, rec.Events)
	}
	show, why := text("fed", "job", "show", sleeps.String()), text("fed", "explain", sleeps.String())
	for _, want := range []string{told, "its user was told at ", "the coordinators of its account were told at ", "it was cancelled at "} {
		if strings.Count(show, "  "+told) != 1 || !strings.Contains(show, want) || !strings.Contains(why, want) {
			t.Errorf("fed job show and fed explain lack %q once:\n%s\n%s", want, show, why)
		}
	}
	history := text("fed", "health", "history")
	for _, act := range []string{"tell-user", "tell-lead", "cancel"} {
		if n := strings.Count(history, "\tidle-held\t"+act+"\tjob "+sleeps.String()+"\t"); n != 1 {
			t.Errorf("%s was said %d times:\n%s", act, n, history)
		}
	}
	if strings.Contains(history, busy.String()) || strings.Contains(text("fed", "job", "show", busy.String()), "idle:") {
		t.Errorf("the job that computes is told of:\n%s", history)
	}
	p.eventually("mail comes", time.Minute, func() string {
		if n := len(box.Mails()); n < 2 {
			return fmt.Sprintf("%d mails", n)
		}
		return ""
	})
	var subjects []string
	for _, m := range box.Mails() {
		subjects = append(subjects, m.Subject)
		if !strings.Contains(m.Text, "its CPU was used below 1 % since ") || len(m.To) != 1 || m.To[0] != "daemon@example.org" {
			t.Errorf("to %v:\n%s", m.To, m.Text)
		}
	}
	if len(subjects) != 2 || !strings.Contains(subjects[0], sleeps.String()+" Name=job.sh Idle, Run time ") {
		t.Errorf("mails: %q; want one when its user was told and one when it was cancelled", subjects)
	}
	p.run("scancel", busy.String())
	p.await(busy, time.Minute)
}
