package daemons

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"fsub/testbed/ec2"
	"fsub/testbed/program"
)

// rented is a world whose daemons rent machines of what stands in for Amazon: the machines are real processes that run their boot script and their agent. They see
// none of the users' files, which lie in a directory that the daemons share.
type rented struct {
	*world
	cloud *ec2.Cloud
	// hook sees each call before it is carried out, and after that and before it is answered.
	hook atomic.Pointer[func(action string, after bool)]
}

func newRented(t *testing.T, machines int) *rented {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: not root: machines run jobs as their users")
	}
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("SKIPPED: there is no curl: a machine could not fetch its agent")
	}
	r := new(rented)
	var agents []string
	newWorld(t, 3, func(w *world) { r.world = w; w.sites = r.aws(machines, &agents) })
	eventually(t, "machines are told of all daemons", func() error {
		out, _ := r.daemons[0].run("fed", "site", "test", "aws")
		for _, at := range agents {
			if !strings.Contains(out, at) {
				return fmt.Errorf("not of %s: %s", at, out)
			}
		}
		return nil
	})
	return r
}

// aws makes the cloud, and returns what the daemons are told of it. agents are to be the addresses of their agent servers.
func (r *rented) aws(machines int, agents *[]string) func(*daemon) string {
	t := r.t
	if err := errors.Join(program.Put(r.dir, "fed-agent"), os.Chmod(r.dir, 0o711)); err != nil {
		t.Fatal(err)
	}
	r.cloud = ec2.New(ec2.Config{Process: true, Dir: r.path("cloud"), Types: ec2.TypesNamed("g6.xlarge")})
	t.Cleanup(func() {
		if err := r.cloud.Close(); err != nil {
			t.Errorf("the cloud does not close: %v", err)
		}
	})
	cloud := httptest.NewServer(http.HandlerFunc(r.call))
	t.Cleanup(cloud.Close)
	for _, dir := range []string{"blobs", "scratch"} {
		if err := os.Mkdir(r.path(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(r.path("scratch"), 0o1777); err != nil {
		t.Fatal(err)
	}
	r.write("credentials", fmt.Sprintf("[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n", r.cloud.AccessKey(), r.cloud.SecretKey()))
	var stores []string
	files := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, q *http.Request) { floating(rw, q, stores) }))
	t.Cleanup(files.Close)
	return func(*daemon) string {
		at, store := freeAddress(t), freeAddress(t)
		*agents, stores = append(*agents, at), append(stores, store)
		return fmt.Sprintf(`agents: {listen: "%[2]s", lease: 1m}
blobs: {url: "file://%[1]s/blobs", listen: "%[3]s", public_url: "%[4]s", shared: true}
sites:
- name: aws
  kind: aws
  aws: {region: %[5]s, types: [g6.xlarge], endpoint: "%[6]s", credentials_file: %[1]s/credentials, boot: 2s}
  pools: [{name: main, max: %[7]d, idle: 10m}]
  filesystems: none
  scratch: %[1]s/scratch
  timing: {boot: 4m, list: 1s, list_soon: 300ms, list_lag: 2s, stray: 1s, margin: 1s, kill_wait: 2s}
`, r.dir, at, store, files.URL, r.cloud.Region(), cloud.URL, machines)
	}
}

// toStore gives up a server that is frozen.
var toStore = &http.Transport{ResponseHeaderTimeout: 3 * time.Second, DisableKeepAlives: true}

// floating passes a request on to the one of several servers that answers, as an address that follows the leader does.
func floating(rw http.ResponseWriter, q *http.Request, servers []string) {
	body, _ := io.ReadAll(q.Body)
	for range 100 {
		for _, at := range servers {
			out := q.Clone(q.Context())
			out.URL.Scheme, out.URL.Host, out.RequestURI, out.Body = "http", at, "", io.NopCloser(bytes.NewReader(body))
			answer, err := toStore.RoundTrip(out)
			if err != nil {
				continue
			}
			defer answer.Body.Close()
			maps.Copy(rw.Header(), answer.Header)
			rw.WriteHeader(answer.StatusCode)
			io.Copy(rw, answer.Body)
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	http.Error(rw, "nobody leads", http.StatusBadGateway)
}

// call is a call to the cloud.
func (r *rented) call(rw http.ResponseWriter, q *http.Request) {
	hook := r.hook.Load()
	if hook == nil {
		r.cloud.ServeHTTP(rw, q)
		return
	}
	body, _ := io.ReadAll(q.Body)
	q.Body = io.NopCloser(bytes.NewReader(body))
	action := ""
	for pair := range strings.SplitSeq(string(body), "&") {
		if v, ok := strings.CutPrefix(pair, "Action="); ok {
			action = v
		}
	}
	(*hook)(action, false)
	answer := httptest.NewRecorder()
	r.cloud.ServeHTTP(answer, q)
	(*hook)(action, true)
	maps.Copy(rw.Header(), answer.Header())
	rw.WriteHeader(answer.Code)
	rw.Write(answer.Body.Bytes())
}

// live are the machines that are paid for.
func (r *rented) live() (ids []string) {
	for _, in := range r.cloud.Instances() {
		if in.State == "pending" || in.State == "running" {
			ids = append(ids, in.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// submit submits a job that runs on a machine by itself; what it does follows after a note of its beginning.
func (r *rented) submit(d *daemon, name, does string) string {
	r.t.Helper()
	r.write(name+".sh", fmt.Sprintf("#!/bin/bash\n#SBATCH --time=30\n#FSUB --stage-in=%[2]s.sh\necho began >> %[1]s/began-%[2]s\n%[3]s\necho output of %[2]s\n", r.dir, name, does))
	id, err := d.run("fsub", "--parsable", "--job-name="+name, d.path(name+".sh"))
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

// untilState waits until all of some jobs are in a state.
func (r *rented) untilState(d *daemon, state string, ids []string) {
	r.t.Helper()
	eventually(r.t, fmt.Sprintf("%d jobs are %s", len(ids), state), func() error {
		out, err := d.run("squeue", "--noheader", "--states=all", "--format=%i %T", "--jobs="+strings.Join(ids, ","))
		if err != nil {
			return err
		}
		if n := strings.Count(out, " "+state); n != len(ids) {
			return fmt.Errorf("%d of them: %s", n, strings.ReplaceAll(out, "\n", ", "))
		}
		return nil
	})
}

// waits has a job wait for a file.
func (r *rented) waits(gate string) string {
	return fmt.Sprintf("until [ -e %s ]; do sleep 0.1; done", r.path(gate))
}

// The leader is killed while it has rented many machines, with jobs that have ended, jobs that run, and jobs that end while nobody leads. The next leader has all of the
// machines, and each job's end and output; no machine is ended, and none is rented two times.
func TestLeaderOfMachinesIsKilled(t *testing.T) {
	t.Parallel()
	machines := 3
	if os.Getenv("FSUB_FULL") != "" {
		machines = 50
	}
	r := newRented(t, machines)
	was := r.leader(r.daemons[0])
	asked := r.others(was)[0]
	var early, meanwhile, late []string
	for i := range machines {
		name := "j" + strconv.Itoa(i)
		switch i % 3 {
		case 0:
			early = append(early, r.submit(asked, name, r.waits("early")))
		case 1:
			meanwhile = append(meanwhile, r.submit(asked, name, r.waits("meanwhile")+"; echo ended >> "+r.path("ended")))
		default:
			late = append(late, r.submit(asked, name, "while ! [ -e "+r.path("late")+" ]; do squeue -h -j $SLURM_JOB_ID >/dev/null 2>>"+r.path("failed")+" || echo failed >>"+r.path("failed")+"; sleep 0.3; done"))
		}
	}
	all := slices.Concat(early, meanwhile, late)
	r.untilState(asked, "RUNNING", all)
	r.write("early", "")
	r.untilState(asked, "COMPLETED", early)
	before := r.live()
	if len(before) != machines {
		t.Fatalf("%d machines for %d jobs", len(before), machines)
	}

	for _, d := range r.others(was) {
		d.end(syscall.SIGSTOP) // so that nobody leads until the jobs have ended
	}
	began := time.Now()
	was.kill()
	r.write("meanwhile", "")
	eventually(t, "jobs end while nobody leads", func() error {
		text, _ := os.ReadFile(r.path("ended"))
		if n := bytes.Count(text, []byte("\n")); n != len(meanwhile) {
			return fmt.Errorf("%d of %d", n, len(meanwhile))
		}
		return nil
	})
	for _, d := range r.others(was) {
		d.end(syscall.SIGCONT)
	}
	eventually(t, "another daemon leads", func() error {
		if r.leader(asked) == was {
			return errors.New(was.name + " does")
		}
		return nil
	})
	r.untilState(asked, "COMPLETED", meanwhile)
	r.untilState(asked, "RUNNING", late)
	t.Logf("%v after the leader was killed the next one has all that ended meanwhile", time.Since(began).Round(time.Millisecond))
	for i, id := range all {
		if i < len(early)+len(meanwhile) {
			r.shows(asked, id)
		}
	}
	// A job that comes now runs on a machine that the new leader knows.
	next := r.submit(asked, "next", "")
	r.untilState(asked, "COMPLETED", []string{next})
	if after := r.live(); !slices.Equal(after, before) {
		t.Errorf("machines are %v, and were %v", after, before)
	}
	was.start()
	r.write("late", "")
	r.untilState(asked, "COMPLETED", late)
	for _, id := range late {
		r.shows(asked, id)
	}
	if n := len(r.cloud.Instances()); n != machines {
		t.Errorf("%d machines were rented for %d jobs", n, machines)
	}
	if n := r.cloud.Count("TerminateInstances"); n != 0 {
		t.Errorf("machines were ended %d times", n)
	}
	r.beganOnce()
	if text, _ := os.ReadFile(r.path("failed")); len(text) > 0 {
		t.Errorf("commands inside jobs failed:\n%s", text)
	}
}

// shows waits until a job's output can be read: all of it.
func (r *rented) shows(d *daemon, id string) {
	r.t.Helper()
	eventually(r.t, "the output of job "+id+" can be read", func() error {
		out, err := d.run("fed", "logs", id)
		if err == nil && !strings.Contains(out, "output of ") {
			err = fmt.Errorf("%q", out)
		}
		return err
	})
}

// beganOnce checks that each job began once.
func (r *rented) beganOnce() {
	r.t.Helper()
	list, _ := filepath.Glob(r.path("began-*"))
	for _, file := range list {
		if text, _ := os.ReadFile(file); string(text) != "began\n" {
			r.t.Errorf("%s: %q", filepath.Base(file), text)
		}
	}
}

// The leader is killed or frozen while it asks the cloud for machines: before the cloud has made them, and before it has answered. The next leader asks again in the same words,
// and has the machines that the first one was not told of.
func TestLeaderGoesWhileItRents(t *testing.T) {
	t.Parallel()
	kinds := []string{"killed after"}
	if os.Getenv("FSUB_FULL") != "" {
		kinds = []string{"killed after", "killed before", "frozen after", "frozen before"}
	}
	r := newRented(t, 8)
	for i, kind := range kinds {
		was := r.leader(r.daemons[0])
		asked := r.others(was)[0]
		how, when, _ := strings.Cut(kind, " ")
		var once atomic.Bool
		gone := make(chan struct{})
		hook := func(action string, after bool) {
			if action != "RunInstances" || after != (when == "after") || once.Swap(true) {
				return
			}
			if was.end(syscall.SIGSTOP); how == "killed" {
				was.kill()
			}
			close(gone)
		}
		r.hook.Store(&hook)
		name := "r" + strconv.Itoa(i)
		id := r.submit(asked, name, r.waits(name))
		<-gone
		r.untilState(asked, "RUNNING", []string{id})
		if how == "killed" {
			was.start()
		} else {
			was.end(syscall.SIGCONT)
		}
		if live := r.live(); len(live) != i+1 { // the jobs before hold theirs
			t.Errorf("%s: %d machines live, want %d", kind, len(live), i+1)
		}
	}
	for i := range kinds {
		r.write("r"+strconv.Itoa(i), "")
	}
	eventually(t, "all jobs have ended", func() error {
		out, err := r.daemons[0].run("squeue", "--noheader")
		if err == nil && out != "" {
			err = errors.New(out)
		}
		return err
	})
	if n := len(r.cloud.Instances()); n != len(kinds) {
		t.Errorf("%d machines were rented for %d jobs", n, len(kinds))
	}
	if n := r.cloud.Count("TerminateInstances"); n != 0 {
		t.Errorf("machines were ended %d times", n)
	}
	r.beganOnce()
}

// The leader is frozen for longer than the lease of its machines, with agents that wait for its answers: they find the next leader before their lease is over, jobs go on
// and end there, and nothing that the old one does once it goes on again ends a machine.
func TestLeaderOfMachinesIsFrozen(t *testing.T) {
	if os.Getenv("FSUB_FULL") == "" {
		t.Skip("SKIPPED: takes 90 seconds: FSUB_FULL=1 runs it")
	}
	t.Parallel()
	r := newRented(t, 4)
	was := r.leader(r.daemons[0])
	asked := r.others(was)[0]
	soon, late := r.submit(asked, "soon", r.waits("soon")), r.submit(asked, "late", r.waits("late"))
	r.untilState(asked, "RUNNING", []string{soon, late})
	before := r.live()
	was.end(syscall.SIGSTOP)
	began := time.Now()
	r.write("soon", "")
	r.untilState(asked, "COMPLETED", []string{soon})
	t.Logf("a job's end is known at the next leader %v after the old one was frozen", time.Since(began).Round(time.Millisecond))
	eventually(t, "the machines' lease is over", func() error {
		if left := 75*time.Second - time.Since(began); left > 0 {
			return fmt.Errorf("in %v", left)
		}
		return nil
	})
	was.end(syscall.SIGCONT)
	r.untilState(asked, "RUNNING", []string{late})
	eventually(t, "the old leader stands by", was.ready)
	r.untilState(was, "RUNNING", []string{late})
	if after := r.live(); !slices.Equal(after, before) {
		t.Errorf("machines are %v, and were %v", after, before)
	}
	r.write("late", "")
	r.untilState(asked, "COMPLETED", []string{late})
	r.shows(asked, late)
	r.beganOnce()
}
