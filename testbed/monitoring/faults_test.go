package monitoring

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fsub/testbed/listener"
	"fsub/testbed/simsite"
)

// TestFaultsFireAlerts: what goes wrong around a daemon makes its alert fire, and the alert clears when that is over: a queue that stands still, a disk that fills, mail and webhooks
// that are not taken, a budget that is nearly spent, a token that expires, a site that fails; and at last a disk that is full.
func TestFaultsFireAlerts(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: not root: the daemon's state is to have a disk of its own")
	}
	mail, hook := freeAddress(t), freeAddress(t)
	w := newWorldWith(t, world{prepare: func(w *world) {
		state := w.file("state")
		if err := os.Mkdir(state, 0o700); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=64m,mode=700", "tmpfs", state).CombinedOutput(); err != nil {
			t.Fatalf("mount: %v: %s", err, out)
		}
		t.Cleanup(func() { _ = exec.Command("umount", "-l", state).Run() })
		w.write("token", w.site.Token("slurm", 24*time.Hour))
		w.credential = "token_file: " + w.file("token") + ", prices: {cpu: 3600}"
	}, more: "mail: {server: \"" + mail + "\", from: fsub@example.org, tls: none}\nwebhooks: {allow: [127.0.0.0/8]}\n"})
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(w.file(name), args...)
		cmd.Env, cmd.Dir = append(os.Environ(), "FSUB_SOCKET="+w.file("fed.sock")), w.dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	size := func(to string) {
		t.Helper()
		if out, err := exec.Command("mount", "-o", "remount,size="+to, w.file("state")).CombinedOutput(); err != nil {
			t.Fatalf("mount: %v: %s", err, out)
		}
	}
	fires := func(alert string) { t.Helper(); w.awaitAlert(alert, true) }
	clears := func(alert string) { t.Helper(); w.awaitAlert(alert, false) }
	w.awaitValue("fsub_site_answering", "1")

	fires("FsubStateDiskFills")
	size("4g")
	clears("FsubStateDiskFills")

	fires("FsubSiteTokenExpires")
	w.write("token", w.site.Token("slurm", 30*24*time.Hour))
	clears("FsubSiteTokenExpires")

	run("fed", "site", "drain", "alpha", "--reason", "for the test")
	run("fsub", "--wrap", "true", "--mail-type=END")
	fires("FsubQueueStuck")
	run("fed", "webhook", "add", "deaf", "http://"+hook+"/", "--where", "event=end")
	run("fed", "site", "resume", "alpha")
	clears("FsubQueueStuck")

	fires("FsubMailFailing")
	fires("FsubWebhooksFailing")
	var box listener.Inbox
	end, err := box.Listen(mail)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end() })
	clears("FsubMailFailing")
	run("fed", "webhook", "remove", "deaf")
	clears("FsubWebhooksFailing")

	w.write("job.sh", "#!/bin/sh\n#SIM run=5s\n")
	run("fed", "account", "add", "physics")
	run("fed", "account", "add", "physics", "--user", "root")
	run("fsub", "-A", "physics", "-n4", "-t1", w.file("job.sh")) // a dollar for each second of a CPU
	w.awaitValue("sum(fsub_jobs_ended_total)", "2")
	run("fed", "account", "modify", "physics", "Budget=21/month")
	fires("FsubBudgetNearlySpent")
	run("fed", "account", "modify", "physics", "Budget=1000000/month")
	clears("FsubBudgetNearlySpent")

	heal := w.site.Inject(simsite.Fault{Kind: simsite.Fail500})
	fires("FsubSiteBreakerOpen")
	heal()
	clears("FsubSiteBreakerOpen")

	// The disk is full: nothing is taken that could not be kept.
	size("70m")
	full, err := os.Create(filepath.Join(w.file("state"), "full"))
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	for chunk := make([]byte, 1<<20); err == nil; {
		_, err = full.Write(chunk)
	}
	fires("FsubNotAcceptingJobs")
	full.Close()
	_ = os.Remove(full.Name())
	size("4g")
	clears("FsubNotAcceptingJobs")
}
