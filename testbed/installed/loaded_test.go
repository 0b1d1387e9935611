package installed

import (
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fsub/testbed/ec2"
)

// rent gives the machine's daemon a cloud.
func rent(t *testing.T, m *machine) {
	t.Helper()
	cloud := ec2.New(ec2.Config{Process: true, Dir: filepath.Join(s.Dir, "cloud"), Types: ec2.TypesNamed("g6.xlarge")})
	srv := httptest.NewServer(cloud)
	t.Cleanup(func() {
		srv.Close()
		if err := cloud.Close(); err != nil {
			t.Errorf("the cloud does not close: %v", err)
		}
	})
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	m.write("/etc/fsub/aws", fmt.Sprintf("[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n", cloud.AccessKey(), cloud.SecretKey()))
	m.run("chmod 600 /etc/fsub/aws")
	m.write("/tmp/more", fmt.Sprintf(`  - name: aws
    kind: aws
    aws: {region: %s, types: [g6.xlarge], endpoint: "%s", credentials_file: /etc/fsub/aws, boot: 2s}
    pools: [{name: main, max: 5, idle: 10m}]
agents: {listen: "%s"}
`, cloud.Region(), srv.URL, free.Addr()))
	m.run("cat /tmp/more >>/etc/fsub/fed.yaml && fed config check && systemctl restart fed")
}

// TestUpgradeUnderLoad: with 50 jobs at a real cluster, five rented machines that each run a job, and some 20 submissions a second, the daemon is upgraded, and the version
// before is installed again. Nobody is refused, no job is lost or run twice, and no machine ends.
func TestUpgradeUnderLoad(t *testing.T) {
	if os.Getenv("FSUB_FULL") == "" {
		t.Skip("SKIPPED: 50 jobs and five machines take some minutes: make test-full")
	}
	m := install(t)
	rent(t, m)
	dir := filepath.Join(s.Dir, "work")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	submit := func(user, where, what string) string {
		id, err := m.submit(user, where, what)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	slurm := submit("alice", s.Bed.Home("alice"), `--fed-sites=alpha --array=1-50 --mem=10M --output=/dev/null --wrap='sleep 5; echo $SLURM_ARRAY_TASK_ID >>ran'`)
	for range 5 {
		submit("daemon", dir, "--fed-sites=aws --gpus=1 --output=/dev/null --wrap='echo $SLURM_JOB_ID >>began; sleep 900'")
	}
	machines := func() string { return m.run("fed pool machines aws --columns instance | tail -n +2 | sort") }
	const rented = "fed job list --where site=aws --where state=running --columns jobid | tail -n +2 | wc -l | sed 's/$/ run/'"
	m.await("5 run", rented)
	were := machines()
	if n := strings.Count(were, "\n"); n != 5 {
		t.Fatalf("%d machines: %s", n, were)
	}
	for _, version := range []string{"next", "before"} {
		was := m.daemon()
		during(t, m, 4, 200*time.Millisecond, func() { m.run("dpkg -i --force-downgrade " + s.Dir + "/" + version + "/*.deb") })
		if m.daemon() == was {
			t.Errorf("%s: the daemon was not restarted", version)
		}
	}
	m.await("0 left", "/usr/libexec/fsub/shims/squeue -h -r -j "+slurm+" 2>/dev/null | wc -l | sed 's/$/ left/'")
	ran, err := os.ReadFile(filepath.Join(s.Bed.Home("alice"), "ran"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, task := range strings.Fields(string(ran)) {
		if seen[task]++; seen[task] > 1 {
			t.Errorf("task %s has run %d times", task, seen[task])
		}
	}
	if len(seen) != 50 {
		t.Errorf("%d of 50 tasks have run", len(seen))
	}
	if began, err := os.ReadFile(filepath.Join(dir, "began")); err != nil || strings.Count(string(began), "\n") != 5 {
		t.Errorf("on the rented machines began: %s, %v", began, err)
	}
	m.await("5 run", rented)
	if are := machines(); are != were {
		t.Errorf("machines: %s\nwere %s", are, were)
	}
	m.run("/usr/libexec/fsub/shims/scancel --user=daemon; /usr/libexec/fsub/shims/scancel --user=alice")
	m.await("0 run", rented)
}
