package installed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/testbed/packages"
	"fsub/testbed/program"
	"fsub/testbed/suite"
)

const page = "../../docs/install.md"

var s suite.Suite

// The packages of one version, and of the next, in folders below the suite's.
var made error

func TestMain(m *testing.M) {
	s.Main(m, suite.Config{Name: "installed", Sites: []string{"alpha"}, Start: func(context.Context) error {
		bin := filepath.Join(s.Dir, "programs")
		if err := program.Put(bin, "fsub", "fsub-remote", "fed", "fed-agent"); err != nil {
			return err
		}
		made = errors.Join(packages.Pack("../..", "9.8.6", bin, s.Dir+"/before"), packages.Pack("../..", "9.8.7", bin, s.Dir+"/next"))
		if errors.Is(made, packages.ErrNoNFPM) && os.Getenv("CI") == "" {
			return nil
		}
		return made
	}})
}

// block is a fenced block of a page.
type block struct{ kind, text string }

// section are the blocks of a section of the page.
func section(t *testing.T, title string) (all []block) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n## "+title+"\n")
	rest, _, _ = strings.Cut(rest, "\n## ")
	for _, m := range regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$").FindAllStringSubmatch(rest, -1) {
		all = append(all, block{m[1], m[2]})
	}
	if !found || len(all) == 0 {
		t.Fatalf("%s has no section %s with blocks", page, title)
	}
	return all
}

// install does on a machine what the page says, until a job has run.
func install(t *testing.T) *machine {
	s.Need(t)
	if made != nil {
		t.Skipf("NOT RUN: %v", made)
	}
	m := boot(t, s.Dir)
	site, err := s.Bed.Site("alpha")
	if err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(site.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	// What the newcomer has: the cluster's key, its users, and nobody at the keyboard to say yes.
	m.write("/etc/slurm/jwt_hs256.key", string(key))
	m.write("/etc/apt/apt.conf.d/99yes", "APT::Get::Assume-Yes \"true\";\nAPT::Sandbox::User \"root\";\nAPT::Install-Recommends \"false\";\n")
	m.run(fmt.Sprintf("useradd --uid 7001 --no-create-home --home-dir %s alice", s.Bed.Home("alice")))
	for _, b := range section(t, "The daemon's machine") {
		if b.kind == "yaml" {
			text := regexp.MustCompile(`url: .*`).ReplaceAllString(b.text, `url: "`+site.RestURL+`"`)
			if text == b.text {
				t.Fatalf("no url in\n%s", b.text)
			}
			m.write("/etc/fsub/fed.yaml", text)
			continue
		}
		for line := range strings.Lines(b.text) {
			line, _, _ = strings.Cut(strings.TrimSpace(line), " #")
			if line == "" {
				continue
			}
			if strings.HasPrefix(line, "fsub ") {
				m.await("alpha", "fed site list | grep ' *ok'")
				line = "cd " + s.Bed.Home("alice") + " && " + line
				out, err := m.command(t.Context(), "alice", line).CombinedOutput()
				if err != nil {
					t.Fatalf("%s: %v\n%s", line, err, out)
				}
				continue
			}
			out := m.run("cd " + s.Dir + "/before && " + line)
			if strings.HasPrefix(line, "apt ") {
				if on := m.run("systemctl is-enabled fed fed.socket; systemctl is-active fed; true"); on != "disabled\ndisabled\ninactive\n" {
					t.Errorf("after %s fed is %s", line, on)
				}
			}
			if strings.HasPrefix(line, "systemctl status") && !strings.Contains(out, `Status: "1 sites`) {
				t.Errorf("%s:\n%s", line, out)
			}
		}
	}
	m.await("COMPLETED|0:0", "sacct -X -n -P -j 30000000 -o State,ExitCode 2>/dev/null || /usr/libexec/fsub/shims/sacct -X -n -P -j 30000000 -o State,ExitCode")
	return m
}

// TestNewcomer: who follows the page has a job that has run at a real cluster. Then the daemon is upgraded, runs as an ordinary user, and meets one whom only NSS
// knows.
func TestNewcomer(t *testing.T) {
	m := install(t)
	if out, err := os.ReadFile(filepath.Join(s.Bed.Home("alice"), "slurm-30000000.out")); err != nil || !strings.Contains(string(out), "alpha") {
		t.Errorf("the job's output: %q, %v", out, err)
	}
	login(t, m)
	upgrade(t, m)
	asUser(t, m)
	directory(t, m)
}

// login: Slurm's names in a login shell.
func login(t *testing.T, m *machine) {
	m.run("ln -s /usr/share/fsub/profile.d/fsub.sh /etc/profile.d/")
	if out := m.run("runuser -l alice -c 'command -v sbatch && sbatch --fed-version' 2>&1"); !strings.Contains(out, "/usr/libexec/fsub/shims/sbatch\nfsub ") {
		t.Errorf("in a login shell: %s", out)
	}
}

// asUser: the daemon is the user fsub, whose key systemd passes.
func asUser(t *testing.T, m *machine) {
	m.run(`set -e
install -m 600 /etc/fsub/alpha.key /etc/fsub/credentials/alpha.key
rm /etc/fsub/alpha.key
sed -i 's|key_file: .*|key_file: /run/credentials/fed.service/alpha.key|' /etc/fsub/fed.yaml
mkdir -p /etc/systemd/system/fed.service.d
cp /usr/share/fsub/systemd/10-user.conf /usr/share/fsub/systemd/20-credentials.conf /etc/systemd/system/fed.service.d
systemctl daemon-reload
systemctl restart fed
systemctl reload fed`)
	m.await("alpha", "fed site list | grep ok")
	if out := m.run("ps -o user= -p $(systemctl show fed -p MainPID --value)"); strings.TrimSpace(out) != "fsub" {
		t.Errorf("fed runs as %s", out)
	}
	id, err := m.submit("alice", s.Bed.Home("alice"), "--wrap=true")
	if err != nil {
		t.Fatal(err)
	}
	m.await("COMPLETED", "/usr/libexec/fsub/shims/sacct -X -n -P -o State -j "+id)
}

// directory: a user who is in no file of the machine, but in a module of NSS, such as SSSD's or LDAP's.
func directory(t *testing.T, m *machine) {
	m.run(`set -e
mkdir -p /var/lib/extrausers
echo 'carla:x:7103:7103::/tmp:/bin/sh' >/var/lib/extrausers/passwd
echo 'carla:x:7103:' >/var/lib/extrausers/group
sed -i -E 's/^(passwd|group):.*/\1: files extrausers/' /etc/nsswitch.conf
systemctl restart fed`)
	id, err := m.submit("carla", "/tmp", "--hold --wrap=true")
	if err != nil {
		t.Error(err)
	}
	if out := m.run("/usr/libexec/fsub/shims/squeue -h -o '%u %a' -j " + id); !strings.HasPrefix(out, "carla ") {
		t.Errorf("the job of a user whom NSS knows belongs to %s", out)
	}
	m.run("/usr/libexec/fsub/shims/scancel " + id)
}

// submit submits a job as a user of the machine.
func (m *machine) submit(user, dir, what string) (string, error) {
	out, err := m.command(m.t.Context(), user, "cd "+dir+" && fsub --parsable "+what).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("fsub: %w: %s", err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// during has alice submit jobs, n at a time and each every so often, while something is done. None is refused, and each is there once.
func during(t *testing.T, m *machine, n int, every time.Duration, do func()) {
	t.Helper()
	held := func() int {
		return len(strings.Fields(m.run("fed job list --where state=pending --where user=alice --where reason=JobHeldUser --columns jobid | tail -n +2")))
	}
	before := held()
	ctx, stop := context.WithCancel(t.Context())
	var submitters sync.WaitGroup
	var mu sync.Mutex
	ids, longest, begun := map[string]int{}, time.Duration(0), time.Now()
	for range n {
		submitters.Go(func() {
			for next := time.Now(); ctx.Err() == nil; {
				begun := time.Now()
				id, err := m.submit("alice", s.Bed.Home("alice"), "--hold --wrap=true")
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				ids[id]++
				longest = max(longest, time.Since(begun))
				mu.Unlock()
				next = next.Add(every)
				select {
				case <-ctx.Done():
				case <-time.After(time.Until(next)):
				}
			}
		})
	}
	do()
	m.await("alpha", "fed site list | grep ok")
	stop()
	submitters.Wait()
	t.Logf("%d submissions in %s, of which the longest took %s", len(ids), time.Since(begun).Round(time.Second), longest.Round(time.Millisecond))
	for id, n := range ids {
		if n > 1 {
			t.Errorf("%d submissions were told %s", n, id)
		}
	}
	if there := held() - before; there != len(ids) {
		t.Errorf("%d jobs were submitted, and %d are there", len(ids), there)
	}
}

// daemon is the process of the machine's daemon.
func (m *machine) daemon() string { return m.run("systemctl show fed -p MainPID --value") }

// upgrade: users submit while the daemon is upgraded. None is refused, each job is there once, and those that run go on.
func upgrade(t *testing.T, m *machine) {
	home := s.Bed.Home("alice")
	long, err := m.submit("alice", home, "--wrap='sleep 600'")
	if err != nil {
		t.Fatal(err)
	}
	m.await("RUNNING", "/usr/libexec/fsub/shims/squeue -h -o %T -j "+long)
	was := m.daemon()
	during(t, m, 3, 0, func() { m.run("dpkg -i " + s.Dir + "/next/*.deb") })
	is := m.daemon()
	if is == was {
		t.Errorf("the daemon was not restarted: %s", is)
	}
	if out := m.run("/usr/libexec/fsub/shims/squeue -h -o '%T %r' -j " + long); !strings.Contains(out, "RUNNING") {
		t.Errorf("the job that ran is %s", out)
	}
	if out := m.run("fed job list --where state=running --columns jobid,restarts | tail -n +2"); strings.Join(strings.Fields(out), " ") != long+" 0" {
		t.Errorf("what runs, and how often it was started again: %s", out)
	}

	// One that cannot take over leaves the old one running.
	m.run("echo 'frob: 1' >>/etc/fsub/fed.yaml")
	out := m.run("dpkg -i --force-downgrade " + s.Dir + "/before/*.deb 2>&1")
	if !strings.Contains(out, "the daemon was not restarted: the old one goes on.") || !strings.Contains(out, "frob") {
		t.Errorf("an upgrade with a broken configuration says\n%s", out)
	}
	if now := m.daemon(); now != is {
		t.Errorf("the daemon was restarted over a broken configuration: %s, was %s", now, is)
	}
	if _, err := m.submit("alice", home, "--hold --wrap=true"); err != nil {
		t.Error(err)
	}
	m.run("sed -i /frob/d /etc/fsub/fed.yaml && systemctl restart fed")
	m.await("RUNNING", "/usr/libexec/fsub/shims/squeue -h -o %T -j "+long)
	m.run("/usr/libexec/fsub/shims/scancel " + long)
}
