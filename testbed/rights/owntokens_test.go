package rights

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/testbed/bed"
	"fsub/testbed/daemon"
)

// TestOwnTokens has three users submit to a federation that has no token of SlurmUser: a command gives each user's own. What SlurmUser must do elsewhere each can do
// with his jobs and nobody with another's, and a user for whom the site gives no token is told why.
func TestOwnTokens(t *testing.T) {
	world.Need(t)
	list := sites()[:1]
	if full() {
		list = []string{"alpha", "gamma", "delta"}
	}
	// The command that sites are shown, with what it calls: bob is not in the group, and sudo has root's scontrol of the site.
	script, err := filepath.Abs("../../deploy/slurm/fsub-token")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	asked := dir + "/asked"
	for name, text := range map[string]string{
		"id":   `echo "$2" >>` + asked + `; [ "$2" = bob ] && echo bob others || echo "$2" federation others`,
		"sudo": `[ "$1 $2 $3 $4" = "-n -u slurm scontrol" ] || exit 1; shift 4; exec ` + os.Args[0] + ` "$@"`,
	} {
		if err := os.WriteFile(dir+"/"+name, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	d, err := daemon.New(t.Context(), daemon.Options{Bed: world.Bed, Sites: list, Fed: world.Bin + "/fed", Dir: world.Dir + "/own", Federation: "own",
		Edit: func(config map[string]any) {
			for _, s := range config["sites"].([]any) {
				site := s.(map[string]any)
				delete(site, "key_file")
				site["user"], site["backlog"] = "dave", 400
				site["token_command"] = []string{"/usr/bin/env", scontrolAt + "=" + world.Bed.Dir() + ":" + site["name"].(string), "PATH=" + dir + ":/usr/bin:/bin", "SSH_ORIGINAL_COMMAND=%u", script}
			}
		}})
	if err == nil {
		err = d.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Stop)
	t.Cleanup(func() {
		if t.Failed() {
			log, _ := os.ReadFile(d.LogFile())
			t.Logf("the daemon's log ends:\n%s", log[max(0, len(log)-logTail):])
		}
	})
	if err := d.AwaitSites(t.Context()); err != nil {
		t.Fatal(err)
	}
	ours := func(user string, args ...string) output {
		return run(t, bed.Cmd{Site: bed.Login, User: user, Args: args, Env: []string{"PATH=" + world.Bin + ":/usr/bin:/bin", "FSUB_SOCKET=" + d.Socket(), "LC_ALL=C.UTF-8"}})
	}
	must := func(o output) string {
		t.Helper()
		if o.code != 0 {
			t.Fatalf("exit status %d: %s%s", o.code, o.stdout, o.stderr)
		}
		return strings.TrimSpace(o.stdout)
	}
	await := func(what, want string, is func() string) {
		t.Helper()
		last := ""
		for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(200 * time.Millisecond) {
			if last = strings.TrimSpace(is()); last == want {
				return
			}
		}
		t.Fatalf("%s: %q, want %q", what, last, want)
	}
	for _, site := range list {
		for _, user := range []string{"alice", "bob", "carol", "dave"} { // what other tests have left
			at(t, site, "", "scancel", "-u", user)
		}
		users := []string{"alice", "carol", "dave"}
		submit := func(user string, args ...string) string {
			return must(ours(user, append(append([]string{"fsub", "--parsable", "--fed-sites=" + site, "-n1", "--mem=100", "-t60", "-o", "/dev/null"}, args...), "--wrap", "sleep 3000")...))
		}
		there := func(user, format string) string {
			return must(at(t, site, user, "squeue", "-h", "-t", "R,PD", "-u", user, "-o", format))
		}
		jobs := map[string]string{}
		for _, user := range users {
			jobs[user] = submit(user)
		}
		for _, user := range users {
			await("%T of the job", "RUNNING", func() string { return ours(user, "squeue", "-h", "-o", "%T", "-j", jobs[user]).stdout })
			await("its user at the site", user, func() string { return there(user, "%u") })
		}
		if o := ours("carol", "scancel", jobs["alice"]); !strings.Contains(o.stderr, "denied") || there("alice", "%T") != "RUNNING" {
			t.Errorf("carol cancels alice's job: %+v", o)
		}
		for _, user := range users {
			must(ours(user, "scancel", jobs[user]))
			await("what runs after scancel", "", func() string { return there(user, "%i %j") })
		}
		release := fill(t, site)
		for _, user := range users {
			jobs[user] = submit(user, "--exclusive")
			await("the job at the site", "PENDING", func() string { return there(user, "%T") })
			must(ours(user, "scontrol", "update", "jobid="+jobs[user], "jobname=renamed"))
			if site != "delta" { // 22.05 is told by another submission
				await("its name there", "renamed", func() string { return there(user, "%j") })
			}
			must(ours(user, "scontrol", "hold", jobs[user]))
			await("what may start of it after scontrol hold", "", func() string {
				return strings.TrimSuffix(there(user, "%r"), "JobHeldUser")
			})
			must(ours(user, "scontrol", "release", jobs[user]))
			await("whether it is held, released", "false", func() string {
				why := there(user, "%r")
				return fmt.Sprint(why == "" || why == "JobHeldUser")
			})
			must(ours(user, "scancel", jobs[user]))
			await("what waits after scancel", "", func() string { return there(user, "%i %j") })
		}
		release()
		job := must(ours("bob", "fsub", "--parsable", "--fed-sites="+site, "-n1", "-t5", "--wrap", "true"))
		const why = "bob is not in the group federation"
		await("what bob is told", why, func() string {
			if said := ours("bob", "fed", "explain", job).stdout; !strings.Contains(said, why) {
				return said
			}
			return why
		})
	}
	text, err := os.ReadFile(asked)
	if err != nil {
		t.Fatal(err)
	}
	users := strings.Fields(string(text))
	slices.Sort(users)
	if got, want := fmt.Sprint(slices.Compact(users)), "[alice bob carol dave]"; got != want {
		t.Errorf("the site was asked for tokens of %s, want %s", got, want)
	}
}

// logTail is how much of a daemon's log is shown.
const logTail = 8000
