package staging_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/staging"
	"fsub/federation/staging/blobs"
	"fsub/federation/staging/blobs/s3test"
	"fsub/sbatch"
)

func TestScriptRunsUnchanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.payload.Argv = []string{"a b", "*", "", "$HOME", "'q'"}
	w.write("in put", "from stdin\n")
	// No newline at the end, quotes, a here-document: nothing of the text may matter.
	script := "#!/bin/bash\n# 'it''s' \\ \"EOF\"\ncat <<'EOF'\n$x `y`\nEOF\n" +
		"for a in \"$@\"; do echo \"[$a]\"; done\ncat\necho ${0##*/} $# ${SLURM_SUBMIT_DIR##*/}\n[ \"$PWD\" = \"$SLURM_SUBMIT_DIR\" ] && env | grep -c _fsub\nexit 7"
	j, a := w.job(script, nil)
	j.Spec.Input = "in put"
	status, _ := w.whole(j, a)
	if status != "7" {
		t.Errorf("exit status %s", status)
	}
	want := "$x `y`\n[a b]\n[*]\n[]\n[$HOME]\n['q']\nfrom stdin\nslurm_script 5 work\n0\n"
	if got := w.read("out.txt"); got != want {
		t.Errorf("output:\n%s", got)
	}
}

func TestFilesThereAndBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("data/a b.csv", "1")
	w.write("data/c.csv", "2")
	w.write("data/d.txt", "no")
	w.write("tree/deep/file", "3")
	w.write("model.bin", "4")
	j, a := w.job("#!/bin/sh\nfind . -type f | sort\nmkdir -p results/sub\ncat data/*.csv >results/sum\ncp in/model.bin results/sub/m\nln -s sum results/link\nln -s /etc/passwd results/out\necho x >one\necho y >two.log\necho err >&2\n",
		&sbatch.Fed{
			StageIn:  []sbatch.Stage{{From: "data/*.csv"}, {From: "tree"}, {From: w.dir + "/model.bin", To: "in/"}},
			StageOut: []sbatch.Stage{{From: "results"}, {From: "one", To: "renamed"}, {From: "*.log", To: w.TempDir() + "/logs"}, {From: "nothing*"}},
		})
	j.Spec.Error = "err.txt"
	status, notes := w.whole(j, a)
	if status != "0" {
		t.Fatalf("exit status %s: %s%s", status, w.read("out.txt"), w.read("err.txt"))
	}
	if got, want := w.read("out.txt"), "./data/a b.csv\n./data/c.csv\n./in/model.bin\n./tree/deep/file\n"; got != want {
		t.Errorf("the script saw\n%s", got)
	}
	if got, want := w.read("err.txt"), "err\nfsub: stage-out: nothing matches nothing*\n"; got != want {
		t.Errorf("stderr:\n%s", got)
	}
	for name, want := range map[string]string{"results/sum": "12", "results/sub/m": "4", "results/link": "12", "results/out": "", "renamed": "x\n"} {
		if got := w.read(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if !strings.Contains(notes, "3 files of results") || !strings.Contains(notes, "nothing came back of nothing*") {
		t.Errorf("notes:\n%s", notes)
	}
}

func TestAFailedStageInIsToldInTheOutput(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fed  sbatch.Fed
		want string
	}{
		"missing":   {sbatch.Fed{StageIn: []sbatch.Stage{{From: "nowhere/*.csv"}}}, "nothing matches nowhere/*.csv"},
		"too large": {sbatch.Fed{StageIn: []sbatch.Stage{{From: "large"}}}, "the limit of 1048576 bytes"},
		"outside":   {sbatch.Fed{StageIn: []sbatch.Stage{{From: "large", To: "../x"}}}, "does not lie in the job's working directory"},
		"bucket":    {sbatch.Fed{StageIn: []sbatch.Stage{{From: "s3://b/k"}}}, "signed https:// address"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.write("large", strings.Repeat("x", 2<<20))
			j, a := w.job("#!/bin/sh\n", &c.fed)
			_, err := w.stager.Prepare(t.Context(), "far", federation.Submission{Job: j, Payload: w.payload, Key: a.Key})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error: %v", err)
			}
			if got := w.read("out.txt"); !strings.Contains(got, c.want) || !strings.HasPrefix(got, "fsub: ") {
				t.Errorf("output: %q", got)
			}
		})
	}
}

func TestSignals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j, a := w.job("#!/bin/bash\nn=0\ntrap 'echo got USR1; n=$((n+1))' USR1\ntrap 'echo got INT; n=$((n+1))' INT\necho ready\n"+
		"for i in {1..6000}; do sleep 0.1 & wait $!; [ $n -lt 2 ] || break; done\nsleep 0.5; kill -KILL $$\n", nil)
	n := w.start(w.prepare(j, a), 0)
	n.await("ready")
	n.signal("USR1")
	n.await("got USR1") // bash forgets one of two that come together
	n.signal("INT")
	if got := n.wait(); got != "137" {
		t.Errorf("a script that died of a signal nobody sent ends with %s", got)
	}
	w.collect(j, a, federation.SiteJob{})
	if got := w.read("out.txt"); strings.Count(got, "got USR1") != 1 || strings.Count(got, "got INT") != 1 {
		t.Errorf("output: %s", got)
	}
}

func TestDeathBySignal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j, a := w.job("#!/bin/sh\necho ready\nexec sleep 600\n", nil)
	n := w.start(w.prepare(j, a), 0)
	n.await("ready")
	n.signal("TERM")
	if got := n.wait(); got != "terminated" {
		t.Errorf("ended with %s", got)
	}
	w.collect(j, a, federation.SiteJob{})
	if got := w.read("out.txt"); got != "ready\n" {
		t.Errorf("output: %q", got)
	}
}

func TestLogWhileItRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// Over the end of the first piece, so that it is put together of two.
	j, a := w.job("#!/bin/sh\nhead -c 100000 /dev/zero | tr '\\0' x\necho end of part one\nwhile [ ! -e "+w.dir+"/go ]; do sleep 0.1; done\necho last\n", nil)
	n := w.start(w.prepare(j, a), 0)
	read := ""
	follow := func(until string) {
		t.Helper()
		for deadline := time.Now().Add(5 * time.Minute); !strings.Contains(read, until); time.Sleep(20 * time.Millisecond) {
			l, err := w.stager.ReadLog(t.Context(), j, a, -1, false, int64(len(read)), 70000)
			if err == nil {
				read += string(l.Text)
			}
			if time.Now().After(deadline) {
				t.Fatalf("no %q in %d bytes (%v)", until, len(read), err)
			}
		}
	}
	follow("end of part one")
	w.write("go", "")
	follow("last")
	n.wait()
	l, err := w.stager.ReadLog(t.Context(), j, a, -1, false, int64(len(read)), 100)
	if err != nil || !l.Done || len(l.Text) > 0 || len(read) != 100000+len("end of part one\nlast\n") {
		t.Errorf("%d bytes, then %+v, %v", len(read), l, err)
	}
}

func TestRequeuedBySiteCountsAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j, a := w.job("#!/bin/sh\n[ -n \"$SLURM_RESTART_COUNT\" ] || head -c 200000 /dev/zero\necho run\n", nil)
	sub := w.prepare(j, a)
	w.start(sub, 0).wait()
	w.start(sub, 0, "SLURM_RESTART_COUNT=1").wait()
	w.collect(j, a, federation.SiteJob{})
	if got := w.read("out.txt"); got != "run\n" {
		t.Errorf("output has %d bytes", len(got))
	}
}

func TestArrayTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j, a := w.job("#!/bin/sh\necho task $SLURM_ARRAY_TASK_ID\necho $SLURM_ARRAY_TASK_ID >r.$SLURM_ARRAY_TASK_ID\n", &sbatch.Fed{StageOut: []sbatch.Stage{{From: "r.*"}}})
	j.Spec.Array, j.Spec.Output = "1,3,120,700", "out.%a"
	sub := w.prepare(j, a)
	var ended federation.SiteJob
	for _, task := range []int{1, 120} {
		if got := w.start(sub, task, "SLURM_ARRAY_TASK_ID="+taskText(task)).wait(); got != "0" {
			t.Errorf("task %d: %s", task, got)
		}
		ended.Tasks = append(ended.Tasks, federation.SiteTask{Index: task, Start: time.Now()})
	}
	w.collect(j, a, ended)
	if w.read("out.1") != "task 1\n" || w.read("out.120") != "task 120\n" || w.read("r.120") != "120\n" || w.read("r.1") != "1\n" {
		t.Errorf("%q %q %q", w.read("out.1"), w.read("out.120"), w.read("r.120"))
	}
}

// signer notes which objects addresses are made for.
type signer struct {
	staging.Objects
	mu   sync.Mutex
	keys map[string]int // by method and key
}

func (s *signer) Sign(ctx context.Context, method, key string, life time.Duration) (string, error) {
	s.mu.Lock()
	s.keys[method+" "+key]++
	s.mu.Unlock()
	return s.Objects.Sign(ctx, method, key, life)
}

// TestObjectsOfAJob: a job can write as many objects as its tasks have streams and directives, all of them below its own key.
func TestObjectsOfAJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := &signer{Objects: w.store, keys: map[string]int{}}
	w.stager = w.newStager(s)
	j, a := w.job("#!/bin/sh\n", &sbatch.Fed{StageOut: slices.Repeat([]sbatch.Stage{{From: "r.*"}}, 32)})
	j.Spec.Array, j.Spec.Output, j.Spec.Error = "0-99", "out.%a", "err.%a"
	w.prepare(j, a)
	puts := 0
	for key := range s.keys {
		method, key, _ := strings.Cut(key, " ")
		if method == "PUT" {
			puts++
		}
		if !strings.HasPrefix(key, "test/30000001/1.abc/") {
			t.Errorf("%s of %s, which is not the job's", method, key)
		}
	}
	if want := 100 * (1 + 2*7 + 32); puts != want {
		t.Errorf("%d objects can be written, want %d: for each task its state, 7 pieces of each stream and one for each directive", puts, want)
	}
	if gets := len(s.keys) - puts; gets > 1+100/50 {
		t.Errorf("%d objects can be read: the archive, and addresses of 50 tasks each", gets)
	}
}

func TestNothingCameBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j, a := w.job("#!/bin/sh\n", nil)
	w.prepare(j, a)
	if notes := w.collect(j, a, federation.SiteJob{}); !strings.Contains(notes, "far sent nothing back") {
		t.Errorf("notes: %s", notes)
	}
	if got := w.read("out.txt"); !strings.Contains(got, "fsub: nothing came back from far") {
		t.Errorf("output: %q", got)
	}
}

// TestCollectAgain: after a crash of the daemon everything is asked for again.
func TestCollectAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j, a := w.job("#!/bin/sh\necho one\n", nil)
	j.Spec.OpenMode = "append"
	w.write("out.txt", "before\n")
	w.whole(j, a)
	w.collect(j, a, federation.SiteJob{})
	if got := w.read("out.txt"); got != "before\none\n" {
		t.Errorf("output: %q", got)
	}
}

func TestTheEndIsSentWhenTheStoreIsBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j, a := w.job("#!/bin/sh\necho ready\nwhile [ ! -e "+w.dir+"/go ]; do sleep 0.1; done\necho last\n", &sbatch.Fed{StageOut: []sbatch.Stage{{From: "."}}})
	n := w.start(w.prepare(j, a), 0)
	n.await("ready")
	w.down.Store(true)
	w.write("go", "")
	time.AfterFunc(1500*time.Millisecond, func() { w.down.Store(false) })
	if got := n.wait(); got != "0" {
		t.Errorf("status %s", got)
	}
	w.collect(j, a, federation.SiteJob{})
	if got := w.read("out.txt"); got != "ready\nlast\n" {
		t.Errorf("output: %q", got)
	}
}

// TestOverS3: the same wrapper, by addresses that S3 has signed.
func TestOverS3(t *testing.T) { // not parallel: it sets variables
	url := s3test.Start(t)
	w := newWorld(t)
	store, err := blobs.Open(t.Context(), blobs.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	w.stager = w.newStager(store)
	w.write("data", "1")
	j, a := w.job("#!/bin/sh\nhead -c 70000 /dev/zero\ncp data result\n", &sbatch.Fed{StageIn: []sbatch.Stage{{From: "data"}}, StageOut: []sbatch.Stage{{From: "result"}}})
	if status, _ := w.whole(j, a); status != "0" || w.read("result") != "1" || len(w.read("out.txt")) != 70000 {
		t.Errorf("status %s, result %q, %d bytes of output", status, w.read("result"), len(w.read("out.txt")))
	}
}

// TestOtherTools: nodes that have no curl use python3, or wget.
func TestOtherTools(t *testing.T) {
	for _, tool := range []string{"python3", "wget", ""} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			j, a := w.job("#!/bin/sh\ncat data\ncp data result\n", &sbatch.Fed{StageIn: []sbatch.Stage{{From: "data"}}, StageOut: []sbatch.Stage{{From: "result"}}})
			w.write("data", "of the user")
			sub := w.prepare(j, a)
			usual := "_fsub_bin=/usr/local/bin:/usr/bin:/bin"
			if !strings.Contains(sub.Payload.Script, usual) {
				t.Fatal("the wrapper sets its PATH in another way")
			}
			sub.Payload.Script = strings.Replace(sub.Payload.Script, usual, "_fsub_bin="+tools(t, tool), 1)
			n := w.start(sub, 0)
			if tool == "" {
				if n.cmd.Wait(); n.cmd.ProcessState.ExitCode() != 1 || !strings.Contains(w.readNode(n), "has none of curl, python3 and wget") {
					t.Errorf("a node with no tool at all: %s: %s", n.cmd.ProcessState, w.readNode(n))
				}
				return
			}
			status := n.wait()
			w.collect(j, a, federation.SiteJob{})
			if status != "0" || w.read("result") != "of the user" || w.read("out.txt") != "of the user" {
				t.Errorf("status %s, result %q, output %q", status, w.read("result"), w.read("out.txt"))
			}
		})
	}
}

// tools makes a directory of what the wrapper needs, with only one of the three that fetch.
func tools(t *testing.T, fetch string) string {
	dir := t.TempDir()
	for _, name := range strings.Fields("cat sleep tail head wc mktemp mkdir rm tar readlink dirname uname env true sh sha256sum " + fetch) {
		path, err := exec.LookPath(name)
		if name == "python3" { // not a shim that needs more of its environment
			path, err = "/usr/bin/python3", nil
			if _, e := os.Stat(path); e != nil {
				path, err = exec.LookPath(name)
			}
		}
		if err != nil {
			t.Skipf("SKIPPED: this machine has no %s", name)
		}
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil { // no script: another test's process may have it open for writing for a moment
			t.Fatal(err)
		}
	}
	return dir
}

// TestChangedOnTheWay: a node runs nothing of an archive that is not the one that was sent; and a second try does not spoil the first, which may have
// reached the site.
func TestChangedOnTheWay(t *testing.T) {
	w := newWorld(t)
	j, a := w.job("#!/bin/sh\necho mine\n", nil)
	first := w.prepare(j, a)
	w.payload.Script = "#!/bin/sh\necho others\n"
	second := w.prepare(j, a)
	if status := w.start(first, 4294967294).wait(); status != "0" {
		t.Errorf("the first try, after the second: %s", status)
	}
	w.collect(j, a, federation.SiteJob{})
	if text := w.read("out.txt"); text != "mine\n" {
		t.Errorf("the first try, after the second: %q", text)
	}
	var keys []string
	if err := w.store.List(t.Context(), "", func(key string, _ time.Time) error {
		if strings.HasSuffix(key, ".tar") {
			keys = append(keys, key)
		}
		return nil
	}); err != nil || len(keys) != 2 {
		t.Fatalf("archives %v, %v", keys, err)
	}
	// Each is a good archive, and not the one that it should be.
	var texts []string
	for _, key := range keys {
		r, err := w.store.Get(t.Context(), key, 0, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		r.Close()
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	for i, key := range keys {
		if err := w.store.Put(t.Context(), key, strings.NewReader(texts[1-i])); err != nil {
			t.Fatal(err)
		}
	}
	if status := w.start(second, 4294967294).wait(); status == "0" {
		t.Error("a changed archive is run")
	}
}
