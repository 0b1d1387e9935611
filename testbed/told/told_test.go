package told

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/testbed/bed"
	"fsub/testbed/listener"
	"fsub/testbed/suite"
)

var (
	world suite.Suite
	ear   ears
)

const (
	first  = "alpha" // 24.11
	second = "gamma" // 26.05
)

func TestMain(m *testing.M) {
	world.Main(m, suite.Config{Name: "told", Sites: []string{first, second}, Start: start})
}

func start(ctx context.Context) error {
	if err := world.Programs("fsub", "fed"); err != nil {
		return err
	}
	if err := ear.listen(world.Defer); err != nil {
		return err
	}
	err := world.StartDaemon(ctx, func(config map[string]any) {
		config["mail"] = map[string]any{"server": ear.mail.Addr, "from": "fsub@example.org", "tls": "none"}
		config["webhooks"] = map[string]any{"allow": []string{"127.0.0.0/8"}}
		config["traces"] = map[string]any{"endpoint": ear.web + "/v1/traces"}
	})
	if err != nil {
		return err
	}
	return world.Daemon.AwaitSites(ctx)
}

const patience = 5 * time.Minute

func eventually(t *testing.T, what string, say func() string) {
	t.Helper()
	why := ""
	for began := time.Now(); time.Since(began) < patience; time.Sleep(200 * time.Millisecond) {
		if why = say(); why == "" {
			return
		}
	}
	t.Fatalf("%s: not within %v: %s", what, patience, why)
}

// as runs a command as a user who has the programs.
func as(t *testing.T, user string, args ...string) string {
	t.Helper()
	var stdout, stderr strings.Builder
	err := world.Bed.Exec(t.Context(), bed.Cmd{Site: bed.Login, User: user, Args: args, Stdout: &stdout, Stderr: &stderr,
		Env: []string{"PATH=" + world.Bin + ":/usr/bin:/bin", "FSUB_SOCKET=" + world.Daemon.Socket()}})
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("%q: %v: %s%s", args, err, stdout.String(), stderr.String())
	}
	return strings.TrimSpace(stdout.String())
}

func submit(t *testing.T, user string, args ...string) string {
	t.Helper()
	return as(t, user, append([]string{"fsub", "--parsable", "-t5", "-c1", "--mem=100", "-o", world.Bed.Home(user) + "/told-%j.out"}, args...)...)
}

func state(t *testing.T, c *client.Client, id string) federation.Job {
	t.Helper()
	n, err := strconv.ParseUint(id, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Job(t.Context(), federation.JobID(n))
	if err != nil {
		t.Fatal(err)
	}
	return r.Job
}

func setSite(t *testing.T, c *client.Client, name federation.SiteName, to federation.FedState) {
	t.Helper()
	if _, err := c.SetSiteState(t.Context(), name, v1.SetSiteState{State: to, Reason: "for the test"}); err != nil {
		t.Fatal(err)
	}
}

// A job that is queued again while it runs and goes to the other site has one mail, one post and one trace of its end; a program in it can say what trace it belongs to.
func TestOnceThoughMoved(t *testing.T) {
	world.Need(t)
	c := world.Daemon.Client()
	defer c.Close()
	as(t, "alice", "fed", "webhook", "add", "mine", ear.web+"/alice", "--where", "event=end")
	as(t, "bob", "fed", "webhook", "add", "mine", ear.web+"/bob", "--where", "event=end")
	setSite(t, c, second, federation.FedDrain)
	go1 := filepath.Join(world.Bed.Home("alice"), "told-go")
	id := submit(t, "alice", "-J", "moves", "--requeue", "--mail-type=ALL", "--mail-user=ann@example.org", "--wrap",
		fmt.Sprintf(`echo "at $SLURM_CLUSTER_NAME"; sh -c 'echo "child of $TRACEPARENT"'; until [ -e %s ]; do sleep 0.2; done`, go1))
	eventually(t, "it runs at "+first, func() string {
		if j := state(t, c, id); j.State != federation.Running || j.Site != first {
			return fmt.Sprintf("%s at %q", j.State, j.Site)
		}
		return ""
	})
	setSite(t, c, second, federation.FedActive)
	setSite(t, c, first, federation.FedDrain)
	as(t, "alice", "scontrol", "requeue", id)
	eventually(t, "it runs at "+second, func() string {
		if j := state(t, c, id); j.State != federation.Running || j.Site != second {
			return fmt.Sprintf("%s at %q", j.State, j.Site)
		}
		return ""
	})
	setSite(t, c, first, federation.FedActive)
	as(t, "alice", "touch", go1)
	defer os.Remove(go1)
	other := submit(t, "bob", "-J", "others", "--wrap", "true")
	eventually(t, "both have ended, and are told of", func() string {
		mails, posts := ear.mailsOf(id), ear.posts("/alice")
		if !slices.ContainsFunc(mails, func(m listener.Mail) bool { return strings.Contains(m.Subject, " Ended,") }) || len(posts) == 0 || len(ear.posts("/bob")) == 0 || len(ear.spansOf(id)) == 0 {
			return fmt.Sprintf("%+v, %v, %v, %d spans", mails, posts, ear.posts("/bob"), len(ear.spansOf(id)))
		}
		return ""
	})

	var subjects []string
	var end listener.Mail
	for _, m := range ear.mailsOf(id) {
		kind := regexp.MustCompile(`Job_id=\d+ Name=moves (\w+)`).FindStringSubmatch(m.Subject)
		if kind == nil {
			t.Fatalf("subject %q", m.Subject)
		}
		if subjects = append(subjects, kind[1]); kind[1] == "Ended" {
			end = m
		}
		if !slices.Equal(m.To, []string{"ann@example.org"}) {
			t.Errorf("to %v", m.To)
		}
	}
	if want := []string{"Began", "Requeued", "Began", "Ended"}; !slices.Equal(subjects, want) {
		t.Errorf("mails %v, want %v", subjects, want)
	}
	for _, want := range []string{"COMPLETED, exit code 0", "site " + second, "at " + second, "child of 00-"} {
		if !strings.Contains(strings.Join(strings.Fields(end.Text), " "), want) {
			t.Errorf("the mail of the end lacks %q:\n%s", want, end.Text)
		}
	}
	if mine, theirs := ear.posts("/alice"), ear.posts("/bob"); !slices.Equal(mine, []string{id}) || !slices.Equal(theirs, []string{other}) {
		t.Errorf("posted to alice: %v, to bob: %v; want %s and %s", mine, theirs, id, other)
	}

	// The program belongs to the last attempt.
	parent := regexp.MustCompile(`child of 00-([0-9a-f]{32})-([0-9a-f]{16})-`).FindStringSubmatch(end.Text)
	var attempts []string
	for _, s := range ear.spansOf(id) {
		if parent != nil && fmt.Sprintf("%x", s.TraceId) != parent[1] {
			t.Errorf("span %s of trace %x, want %s", s.Name, s.TraceId, parent[1])
		}
		if s.Name == "attempt" {
			attempts = append(attempts, fmt.Sprintf("%x", s.SpanId))
		}
	}
	if len(attempts) != 2 || parent == nil || attempts[1] != parent[2] {
		t.Errorf("attempts %v, the program's parent %v", attempts, parent)
	}
}

// An array has one mail, with what has become of its tasks.
func TestOneMailOfAnArray(t *testing.T) {
	world.Need(t)
	id := submit(t, "alice", "-J", "array", "-a", "0-9", "--mail-type=END", "--wrap", "exit $((SLURM_ARRAY_TASK_ID == 7))")
	eventually(t, "a mail comes", func() string {
		if len(ear.mailsOf(id)) == 0 {
			return "none"
		}
		return ""
	})
	all := ear.mailsOf(id)
	if text := strings.Join(strings.Fields(all[0].Text), " "); len(all) != 1 || !strings.Contains(text, "9 COMPLETED") || !strings.Contains(text, "1 FAILED") || !strings.Contains(text, id+"_7") {
		t.Errorf("%d mails: %s", len(all), all[0].Text)
	}
}
