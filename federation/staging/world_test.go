package staging_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/staging"
	"fsub/federation/staging/blobs"
	"fsub/federation/staging/home"
	"fsub/sbatch"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "as-user" {
		os.Exit(home.Child(os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// world is a store in a directory with its server, a user's directory, and a node's scratch directory. Nothing but addresses
// joins the last two.
type world struct {
	*testing.T
	store   *blobs.Store
	stager  *staging.Stager
	server  *httptest.Server
	dir     string // the user's working directory
	scratch string
	down    atomic.Bool // the store refuses everything that nodes ask
	payload sbatch.Payload

	attempts []federation.Attempt // of the job
	refuse   atomic.Pointer[func(*http.Request) bool]
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, dir: t.TempDir(), scratch: t.TempDir()}
	w.server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if w.down.Load() {
			http.Error(rw, "down", http.StatusServiceUnavailable)
			return
		}
		if refuse := w.refuse.Load(); refuse != nil && (*refuse)(r) {
			io.CopyN(io.Discard, r.Body, 1000)
			panic(http.ErrAbortHandler) // the connection ends in the middle
		}
		w.store.ServeHTTP(rw, r)
	}))
	t.Cleanup(w.server.Close)
	var err error
	w.store, err = blobs.Open(context.Background(), blobs.Config{URL: "file://" + t.TempDir(), Public: w.server.URL, Key: []byte(strings.Repeat("k", 32)), Max: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.store.Close() })
	w.stager = w.newStager(w.store)
	return w
}

func (w *world) newStager(o staging.Objects, change ...func(*staging.Config)) *staging.Stager {
	c := staging.Config{
		Federation: "test", Objects: o, Files: home.Spawner{Command: []string{"/proc/self/exe", "as-user"}},
		Scratch: map[federation.SiteName]string{"far": w.scratch},
		Payload: func(context.Context, federation.JobID) (sbatch.Payload, error) { return w.payload, nil },
		Output: func(j *federation.Job, t *federation.Task, stderr bool) string {
			name := j.Spec.Output
			if stderr && j.Spec.Error != "" {
				name = j.Spec.Error
			}
			if t != nil {
				name = strings.ReplaceAll(name, "%a", strconv.Itoa(t.Index))
			}
			return filepath.Join(j.Spec.WorkDir, name)
		},
		Attempts: func(context.Context, federation.JobID) ([]federation.Attempt, error) { return w.attempts, nil },
		Sees:     func(site federation.SiteName, dir string) bool { return site == "near" },
		Max:      1 << 20, Life: time.Hour, Every: time.Second,
	}
	for _, do := range change {
		do(&c)
	}
	return staging.New(c)
}

// write makes a file of the user.
func (w *world) write(name, text string) {
	w.Helper()
	name = filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o640); err != nil {
		w.Fatal(err)
	}
}

// read is a file of the user, "" if there is none.
func (w *world) read(name string) string {
	text, _ := os.ReadFile(filepath.Join(w.dir, name))
	return string(text)
}

func (w *world) job(script string, fed *sbatch.Fed) (*federation.Job, *federation.Attempt) {
	w.payload.Script = script
	j := &federation.Job{ID: 30000001, User: "root", UID: uint32(os.Getuid()), GID: uint32(os.Getgid()),
		Spec: &sbatch.Spec{WorkDir: w.dir, Output: "out.txt", Fed: fed}}
	return j, &federation.Attempt{Job: j.ID, Number: 1, Key: "fsub:test:30000001.1.abc", Site: "far"}
}

func (w *world) prepare(j *federation.Job, a *federation.Attempt) federation.Submission {
	w.Helper()
	sub, err := w.stager.Prepare(context.Background(), "far", federation.Submission{Job: j, Payload: w.payload, Key: a.Key})
	if err != nil {
		w.Fatal(err)
	}
	return sub
}

// node is the wrapper under way on a node.
type node struct {
	*world
	cmd *exec.Cmd
	out string
}

// start does what slurmd does with a batch job.
func (w *world) start(sub federation.Submission, task int, env ...string) *node {
	w.Helper()
	spool := filepath.Join(w.TempDir(), "slurm_script")
	if err := os.WriteFile(spool, []byte(sub.Payload.Script), 0o700); err != nil {
		w.Fatal(err)
	}
	open := func(name string) *os.File {
		f, err := os.Create(strings.ReplaceAll(name, "%a", strconv.Itoa(task)))
		if err != nil {
			w.Fatal(err)
		}
		return f
	}
	// Not the file itself: another test's process may have it open for writing for a moment. Who runs the tests in the background has them ignore INT,
	// and so all that they start.
	cmd := exec.Command("env", append([]string{"--default-signal=INT,QUIT", "/bin/sh", spool}, sub.Payload.Argv...)...)
	cmd.Dir = sub.Job.Spec.WorkDir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "SLURM_JOB_ID=" + sub.Job.ID.String()}, env...)
	out := open(sub.Job.Spec.Output)
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if sub.Job.Spec.Error != "" {
		e := open(sub.Job.Spec.Error)
		defer e.Close()
		cmd.Stderr = e
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	return &node{w, cmd, out.Name()}
}

// wait returns how the wrapper ended, in wait(2)'s words: "0", "3", "signal 15".
func (n *node) wait() string {
	n.Helper()
	err := n.cmd.Wait()
	if n.cmd.ProcessState == nil {
		n.Fatal(err)
	}
	left, _ := filepath.Glob(n.scratch + "/*")
	if len(left) > 0 {
		text, _ := os.ReadFile(left[0])
		n.Errorf("left on the node: %v: %s", left, text)
	}
	var b bytes.Buffer
	if st := n.cmd.ProcessState; st.ExitCode() >= 0 {
		fmt.Fprint(&b, st.ExitCode())
	} else {
		fmt.Fprint(&b, strings.ReplaceAll(strings.TrimPrefix(st.String(), "signal: "), " ", "-"))
	}
	return b.String()
}

// collect brings the results home and returns the notes.
func (w *world) collect(j *federation.Job, a *federation.Attempt, ended federation.SiteJob) string {
	w.Helper()
	notes, _, err := w.stager.Collect(context.Background(), j, a, ended)
	if err != nil {
		w.Errorf("collect: %v", err)
	}
	return strings.Join(notes, "\n")
}

// whole runs a job from its preparation to its results.
func (w *world) whole(j *federation.Job, a *federation.Attempt) (status, notes string) {
	w.Helper()
	status = w.start(w.prepare(j, a), 4294967294).wait()
	return status, w.collect(j, a, federation.SiteJob{})
}

// await waits until the job has written a word.
func (n *node) await(word string) {
	n.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !strings.Contains(n.readNode(n), word); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			n.Fatalf("no %q in %q", word, n.readNode(n))
		}
	}
}

// readNode is the output so far, as a file of the node.
func (w *world) readNode(n *node) string {
	text, _ := os.ReadFile(n.out)
	return string(text)
}

// signal sends one to the batch shell alone.
func (n *node) signal(name string) {
	n.Helper()
	if out, err := exec.Command("kill", "-s", name, strconv.Itoa(n.cmd.Process.Pid)).CombinedOutput(); err != nil {
		n.Fatalf("kill: %v: %s", err, out)
	}
}

func taskText(task int) string { return strconv.Itoa(task) }

// kill ends the wrapper and all that it has started at once, as a machine that goes does, and clears the scratch directory.
func (n *node) kill() {
	n.Helper()
	syscall.Kill(-n.cmd.Process.Pid, syscall.SIGKILL)
	n.cmd.Wait()
	left, _ := filepath.Glob(n.scratch + "/*")
	for _, name := range left {
		os.RemoveAll(name)
	}
}
