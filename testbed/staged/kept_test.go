package staged

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/federation"
	"fsub/testbed/azure"
	"fsub/testbed/bed"
	"fsub/testbed/checkpoints"
	"fsub/testbed/daemon"
	"fsub/testbed/ec2"
	"fsub/testbed/gce"
	"fsub/testbed/program"
	"fsub/testbed/suite"
)

// everywhere is a federation of two real Slurm sites and three stand-ins for clouds, none of which sees the users' files.
type everywhere struct {
	*place
	daemon *daemon.Daemon
	take   []func() []taken // machines that run, by cloud
	live   []func() int     // machines that are paid for
}

// taken is a machine that may be taken.
type taken struct{ notice, kill func() error }

// TestKeptEverywhere runs jobs that keep their checkpoints on spot machines of three clouds and at two Slurm sites. Machines are taken at random, with a notice and without; jobs at the
// Slurm sites are moved away, with time for a checkpoint and without; and the daemon is killed meanwhile. All jobs finish; none begins with a torn checkpoint; none runs twice at one
// time; none loses more than its newest checkpoint; and jobs have gone from machines to Slurm sites with theirs, and back.
func TestKeptEverywhere(t *testing.T) {
	if os.Getenv("FSUB_FULL") == "" {
		t.Skip("SKIPPED: takes half an hour: set FSUB_FULL=1")
	}
	jobs, kills := 200, 20
	if n, err := strconv.Atoi(os.Getenv("FSUB_KEPT_JOBS")); err == nil {
		jobs, kills = n, max(n/10, 1)
	}
	const ticks, step = 450, 150 // a checkpoint each 15 seconds at least: on a busy machine a copy takes some of them
	w := newEverywhere(t)
	see := filepath.Join(world.Bed.Home("alice"), "kept")
	alice, _ := bed.FindUser("alice")
	if err := errors.Join(os.MkdirAll(see, 0o700), os.Chown(see, alice.UID, alice.UID)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(see) })
	w.write("job.sh", checkpoints.Script)
	var ids []federation.JobID
	for range jobs {
		out := w.at("alice", "fsub", "--parsable", "-c4", "-t30", "--fed-checkpoint=00:00:15", "job.sh", see, fmt.Sprint(ticks), fmt.Sprint(step))
		id, err := strconv.ParseUint(strings.TrimSpace(out), 10, 32)
		if err != nil {
			t.Fatalf("fsub printed %q", out)
		}
		ids = append(ids, federation.JobID(id))
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	stop := make(chan struct{})
	var taking sync.WaitGroup
	var counts [4]int
	taking.Go(func() { counts = w.takeSome(rand.New(rand.NewPCG(seed, 0)), stop) })
	for n := range kills {
		w.await(ids[(n+1)*jobs/(kills+2)])
		w.daemon.Kill()
		if err := w.daemon.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var sum checkpoints.Sum
	var toSlurm, toCloud int
	ranAt := map[federation.SiteName]int{}
	for _, id := range ids {
		atts := w.await(id)
		text, _ := os.ReadFile(filepath.Join(see, id.String()))
		if err := sum.Add(string(text), ticks); err != nil {
			t.Errorf("job %d: %v:\n%s", id, err, text)
		}
		atts = slices.DeleteFunc(atts, func(a federation.Attempt) bool { return a.Started.IsZero() })
		for i, a := range atts {
			ranAt[a.Site]++
			switch {
			case i == 0 || atts[i-1].Kept == nil:
			case isSlurm(a.Site) && !isSlurm(atts[i-1].Site):
				toSlurm++
			case !isSlurm(a.Site) && isSlurm(atts[i-1].Site):
				toCloud++
			}
		}
	}
	close(stop)
	taking.Wait()
	t.Logf("%d jobs; machines taken: %d with a notice, %d without; jobs moved away from Slurm sites: %d with time for a checkpoint, %d without; the daemon killed %d times; attempts that ran: %v; %d went with a copy from a machine to a Slurm site, %d the other way; %s",
		jobs, counts[0], counts[1], counts[2], counts[3], kills, ranAt, toSlurm, toCloud, sum)
	if sum.More > 0 || sum.Resumed == 0 || toSlurm == 0 || toCloud == 0 {
		t.Error("more than the newest checkpoint was lost, or nothing went on from one, or nothing went both ways")
	}
}

func isSlurm(name federation.SiteName) bool { return name == "alpha" || name == "beta" }

// await waits until a job is COMPLETED and returns its attempts.
func (w *everywhere) await(id federation.JobID) []federation.Attempt {
	w.Helper()
	last := ""
	for deadline := time.Now().Add(time.Hour); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		c := w.daemon.Client()
		r, err := c.Job(w.Context(), id)
		c.Close()
		switch {
		case err != nil:
			last = err.Error()
		case r.Job.State == federation.Completed:
			return r.Attempts
		case r.Job.State.Ended():
			w.Fatalf("job %d is %s (%s); history: %v", id, r.Job.State, r.Job.Reason, r.Events)
		default:
			last = fmt.Sprintf("%s at %s (%s)", r.Job.State, r.Job.Site, r.Job.Reason)
		}
	}
	w.Fatalf("job %d has not ended: %s", id, last)
	return nil
}

// at runs one of our commands in the login, in the place.
func (w *everywhere) at(user string, args ...string) string {
	w.Helper()
	out, err := w.try(user, args...)
	if err != nil {
		w.Fatalf("%v: %v: %s", args, err, out)
	}
	return out
}

func (w *everywhere) try(user string, args ...string) (string, error) {
	var out, errOut strings.Builder
	err := world.Bed.Exec(w.Context(), bed.Cmd{Site: bed.Login, User: user, Dir: w.dir, Args: args, Stdout: &out, Stderr: &errOut,
		Env: []string{"PATH=" + world.Bin + ":/usr/bin:/bin", "FSUB_SOCKET=" + w.daemon.Socket(), "LC_ALL=C.UTF-8"}})
	if err != nil {
		return errOut.String(), err
	}
	return out.String(), nil
}

// takeSome takes machines and moves jobs at random until stop. It counts notices, machines taken without one, and moves with time and without.
func (w *everywhere) takeSome(r *rand.Rand, stop chan struct{}) (n [4]int) {
	for {
		select {
		case <-stop:
			return n
		case <-time.After(time.Duration(1000+r.IntN(3000)) * time.Millisecond):
		}
		if r.IntN(3) == 0 {
			if now, ok := w.moveSome(r); ok {
				n[2+now]++
			}
			continue
		}
		running := w.take[r.IntN(len(w.take))]()
		if r.IntN(perCloud) >= len(running) { // where fewer run each lives as long
			continue
		}
		m := running[r.IntN(len(running))]
		if r.IntN(3) == 0 {
			if m.kill() == nil {
				n[1]++
			}
		} else if m.notice() == nil {
			n[0]++
		}
	}
}

// moveSome moves a job that runs at a Slurm site. now is 1 if it gets no time.
func (w *everywhere) moveSome(r *rand.Rand) (now int, ok bool) {
	out, err := w.try("alice", "squeue", "-h", "-t", "R", "-o", "%A %N")
	if err != nil {
		return 0, false
	}
	var ids []string
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) == 2 && (strings.HasPrefix(f[1], "alpha") || strings.HasPrefix(f[1], "beta")) {
			ids = append(ids, f[0])
		}
	}
	if r.IntN(2*perSlurm) >= len(ids) {
		return 0, false
	}
	args := []string{"fed", "job", "move", ids[r.IntN(len(ids))]}
	if r.IntN(2) == 0 {
		now, args = 1, append(args, "--now")
	}
	_, err = w.try("", args...)
	return now, err == nil
}

// How many jobs run at each cloud and each Slurm site: a test machine is not large.
const perCloud, perSlurm = 3, 4

func newEverywhere(t *testing.T) *everywhere {
	w := &everywhere{place: newPlace(t, "alice")}
	if err := program.Put(world.Bin, "fed-agent"); err != nil {
		t.Fatal(err)
	}
	if err := world.Bed.Up(t.Context(), []string{"beta"}, os.Stderr); err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	scratch := t.TempDir()
	for dir := scratch; dir != "/" && dir != "/tmp"; dir = filepath.Dir(dir) {
		os.Chmod(dir, 0o755)
	}
	if err := os.Chmod(scratch, 0o1777); err != nil {
		t.Fatal(err)
	}
	clouds := []any{w.aws(scratch), w.azure(scratch), w.gcp(scratch)}
	w.daemon = suite.Daemon(t, daemon.Options{Bed: world.Bed, Sites: []string{"alpha", "beta"}, Fed: filepath.Join(world.Bin, "fed"), Dir: filepath.Join(world.Bed.FedDir(), "everywhere"),
		Federation: "everywhere", Edit: func(config map[string]any) {
			config["job_ids"] = map[string]any{"first": 31_000_000}
			config["agents"] = map[string]any{"listen": "127.0.0.1:" + freePort(t), "lease": "1m"}
			config["blobs"] = map[string]any{"url": "file://" + world.Dir + "/everywhere", "listen": "0.0.0.0:" + port, "public_url": "http://127.0.0.1:" + port}
			for _, s := range config["sites"].([]any) {
				site := s.(map[string]any)
				site["filesystems"], site["scratch"], site["prices"] = "none", "/tmp", map[string]any{"cpu": 0.1}
				u, err := url.Parse(site["url"].(string))
				if err != nil {
					t.Fatal(err)
				}
				w.forward(site["name"].(string), port, netip.MustParseAddr(u.Hostname()).Prev().String())
			}
			config["sites"] = append(config["sites"].([]any), clouds...)
		}})
	for _, site := range []string{"alpha", "beta"} { // all nodes but the first are drained
		nodes := w.nodes(site)
		others := strings.Join(nodes[1:], ",")
		w.scontrol(site, "update", "nodename="+others, "state=drain", "reason=room")
		t.Cleanup(func() {
			world.Bed.Output(context.WithoutCancel(t.Context()), site, "", "scontrol", "update", "nodename="+others, "state=resume")
		})
	}
	t.Cleanup(func() { // before the daemon is stopped
		for _, live := range w.live {
			for deadline := time.Now().Add(2 * time.Minute); live() > 0; time.Sleep(100 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Errorf("%d machines are left", live())
					break
				}
			}
		}
	})
	return w
}

func (w *everywhere) nodes(site string) []string {
	w.Helper()
	out, err := world.Bed.Output(w.Context(), site, "", "sinfo", "-h", "-N", "-p", "main", "-o", "%N")
	if err != nil {
		w.Fatal(err)
	}
	return strings.Fields(out)
}

func (w *everywhere) scontrol(site string, args ...string) {
	w.Helper()
	if out, err := world.Bed.Output(w.Context(), site, "", append([]string{"scontrol"}, args...)...); err != nil {
		w.Fatalf("scontrol %v: %v %s", args, err, out)
	}
}

// rented is a site of machines of a cloud.
func (w *everywhere) rented(kind, scratch string, section map[string]any, closing func() error) map[string]any {
	w.Cleanup(func() {
		if err := closing(); err != nil {
			w.Errorf("%s: %v", kind, err)
		}
		left, _ := filepath.Glob(filepath.Join(scratch, "fsub-*")) // the disk of a machine goes with it; here all have one
		for _, name := range left {
			os.RemoveAll(name)
		}
	})
	section["markets"], section["boot"] = []any{"spot"}, "2s"
	return map[string]any{"name": kind, "kind": kind, kind: section, "filesystems": "none", "scratch": scratch,
		"pools":  []any{map[string]any{"name": "main", "max": perCloud, "idle": "2s"}},
		"timing": map[string]any{"boot": "2m", "list": "2s", "list_soon": "500ms", "list_lag": "2s", "stray": "2s", "margin": "1s", "kill_wait": "2s"}}
}

func (w *everywhere) secret(name, text string) string {
	path := filepath.Join(w.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
	return path
}

// started is the address of a cloud.
func (w *everywhere) started(url string, err error) string {
	if err != nil {
		w.Fatal(err)
	}
	return url
}

const lead = 6 * time.Second // from a notice to the end

func (w *everywhere) aws(scratch string) map[string]any {
	cloud := ec2.New(ec2.Config{Process: true, Dir: filepath.Join(world.Dir, "aws"), Types: ec2.TypesNamed("g6.xlarge"), Lead: lead})
	w.live = append(w.live, cloud.Live)
	w.take = append(w.take, func() (all []taken) {
		for _, in := range cloud.Instances() {
			if in.State == "running" {
				all = append(all, taken{func() error { return cloud.SpotNotice(in.ID, 0) }, func() error { return cloud.Kill(in.ID) }})
			}
		}
		return all
	})
	url := w.started(cloud.Start(""))
	return w.rented("aws", scratch, map[string]any{"region": cloud.Region(), "types": []any{"g6.xlarge"}, "endpoint": url, "pricing_endpoint": url,
		"credentials_file": w.secret("aws", fmt.Sprintf("[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n", cloud.AccessKey(), cloud.SecretKey()))}, cloud.Close)
}

func (w *everywhere) azure(scratch string) map[string]any {
	const size = "Standard_NV12ads_A10_v5"
	cloud := azure.New(azure.Config{Process: true, Dir: filepath.Join(world.Dir, "azure"), Lead: lead})
	w.live = append(w.live, cloud.Live)
	w.take = append(w.take, func() (all []taken) {
		for _, m := range cloud.Machines() {
			all = append(all, taken{func() error { return cloud.SpotNotice(m.Name, 0) }, func() error { return cloud.Kill(m.Name) }})
		}
		return all
	})
	return w.rented("azure", scratch, map[string]any{"subscription": azure.Subscription, "resource_group": "fsub", "location": "eastus", "subnet": azure.Subnet,
		"endpoint": w.started(cloud.Start("")), "sizes": []any{size}, "prices": map[string]any{size: 0.5}, "images": map[string]any{size: "me:grid:24:latest"},
		"credentials_file": w.secret("azure", fmt.Sprintf(`{"appId": "fsub", "password": %q, "tenant": "test"}`, cloud.Token()))}, cloud.Close)
}

func (w *everywhere) gcp(scratch string) map[string]any {
	const typ = "g2-standard-4"
	cloud := gce.New(gce.Config{Process: true, Dir: filepath.Join(world.Dir, "gcp"), Lead: lead,
		Types: []gce.Type{{Name: typ, CPUs: 4, MemMiB: 16384, Accelerator: "nvidia-l4", GPUs: 1}}})
	w.live = append(w.live, cloud.Live)
	w.take = append(w.take, func() (all []taken) {
		for _, in := range cloud.Instances() {
			all = append(all, taken{func() error { return cloud.Preempt(in.ID, 0) }, func() error { return cloud.Kill(in.ID) }})
		}
		return all
	})
	return w.rented("gcp", scratch, map[string]any{"project": cloud.Project(), "region": cloud.Region(), "types": []any{typ}, "prices": map[string]any{typ: 0.5},
		"endpoint": w.started(cloud.Start(""))}, cloud.Close)
}

// freePort is a port for a daemon that is killed and comes back: below those that the kernel gives to whoever asks for any.
func freePort(t *testing.T) string {
	t.Helper()
	for range 100 {
		port := strconv.Itoa(21_000 + rand.IntN(11_000))
		if l, err := net.Listen("tcp", "0.0.0.0:"+port); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("there is no free port")
	return ""
}

// forwards has this program pass on what comes to a port of 127.0.0.1 to another address, if it is "PORT ADDRESS": the sites of a bed have no way to one common address of the login.
const forwards = "FSUB_TEST_FORWARD"

// forward starts that at a site, until the test ends.
func (w *everywhere) forward(site, port, host string) {
	w.Helper()
	program := filepath.Join(world.Bin, "forward")
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(program+"."+site, self, 0o755)
	}
	if err != nil {
		w.Fatal(err)
	}
	cmd, err := world.Bed.Start(context.WithoutCancel(w.Context()), bed.Cmd{Site: site, Args: []string{"/usr/bin/env", forwards + "=" + port + " " + host, program + "." + site}, Stderr: os.Stderr})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
}

// forwardIfAsked does so and does not return, if this is what the program was started for.
func forwardIfAsked() {
	port, host, ok := strings.Cut(os.Getenv(forwards), " ")
	if !ok {
		return
	}
	l, err := net.Listen("tcp", "127.0.0.1:"+port)
	for err == nil {
		var from, to net.Conn
		if from, err = l.Accept(); err != nil {
			break
		}
		if to, err = net.Dial("tcp", net.JoinHostPort(host, port)); err != nil { // the daemon is down
			from.Close()
			err = nil
			continue
		}
		for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
			go func() {
				io.Copy(pair[0], pair[1])
				pair[0].Close()
				pair[1].Close()
			}()
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
