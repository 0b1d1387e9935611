package clients

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"fsub/testbed/bed"
)

// engines run workflows of many jobs. Each job makes one file in out/.
var engines = []struct {
	client
	args  string // beside the number of jobs
	also  string // arguments for a run with what fsub has for this engine
	times int    // its jobs for each of FSUB_ENGINES_JOBS
}{
	{client: client{script: "parsl.py", from: "parsl==2026.10.26"}, times: 10}, // tasks of two pilots
	{client: client{script: "nextflow.sh", from: "mvn:io.nextflow:nextflow:24.10.0:nextflow.cli.Launcher"}, times: 1},
	{client: client{script: "snakemake9.sh", from: "snakemake==9.27.1 snakemake-executor-plugin-slurm==2.8.0"}, args: "slurm", also: "fsub", times: 1},
}

// kills is how often the daemon is killed during a workflow.
const kills = 3

// TestEngines has engines run workflows of many jobs, with the commands of a site and then with ours while the daemon is killed, and logs the times of both. FSUB_ENGINES_JOBS
// is the number of jobs (100).
func TestEngines(t *testing.T) {
	world.Need(t)
	n, err := strconv.Atoi(os.Getenv("FSUB_ENGINES_JOBS"))
	if err != nil {
		n = 100
	}
	for _, e := range engines {
		t.Run(e.name(), func(t *testing.T) {
			bin := e.provide(t)
			jobs := n * e.times
			theirs := e.many(t, "alpha", bin, jobs, e.args)
			t.Logf("%d jobs at one site: %.1f s", jobs, theirs.Seconds())
			tell := func(with string, took time.Duration) {
				t.Logf("%d jobs with %s, the daemon killed three times: %.1f s, %.2f of that", jobs, with, took.Seconds(), took.Seconds()/theirs.Seconds())
			}
			tell("our commands", e.many(t, bed.Login, bin, jobs, e.args))
			if e.also != "" {
				tell("our executor", e.many(t, bed.Login, bin, jobs, e.also))
			}
		})
	}
}

// many has an engine run a workflow, and returns how long it took. With our commands the daemon is killed meanwhile.
func (c client) many(t *testing.T, where, bin string, jobs int, args string) time.Duration {
	t.Helper()
	u, err := bed.FindUser("alice")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(world.Bed.Home("alice"), "many-"+c.name()+"-"+where+args)
	err = os.Mkdir(dir, 0o755)
	for _, from := range []string{"../../python/src", "../../python/snakemake/src"} {
		err = errors.Join(err, os.CopyFS(filepath.Join(dir, "python"), os.DirFS(from)))
	}
	err = errors.Join(err, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, u.UID, u.UID))
	}))
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(world.Bed.BinDir(), "scripts", "many_"+strings.Replace(c.script, "9.", ".", 1))
	words := append([]string{map[string]string{".sh": "sh", ".py": "python3"}[filepath.Ext(script)], script, strconv.Itoa(jobs)}, strings.Fields(args)...)
	env := []string{"LC_ALL=C.UTF-8", "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH=" + filepath.Join(dir, "python")}
	if where == bed.Login {
		env = append(env, "PATH="+world.Bed.BinDir()+":"+bin+":/usr/bin:/bin", "FSUB_SOCKET="+world.Daemon.Socket())
	} else {
		env = append(env, "PATH="+bin+":/usr/bin:/bin")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 80*time.Minute)
	defer cancel()
	made := func() int {
		all, _ := os.ReadDir(filepath.Join(dir, "out"))
		return len(all)
	}
	over, killed := make(chan struct{}), make(chan int, 1)
	go func() {
		n := 0
		defer func() { killed <- n }()
		for where == bed.Login && n < kills {
			select {
			case <-over:
				return
			case <-time.After(2 * time.Second): // until a quarter more of the jobs have run
			}
			if made() <= (n+1)*jobs/(kills+1) {
				continue
			}
			world.Daemon.Kill()
			if err := world.Daemon.Start(ctx); err != nil {
				t.Errorf("start the daemon: %v", err)
				return
			}
			n++
		}
	}()
	began := time.Now()
	var out strings.Builder
	err = world.Bed.Exec(ctx, bed.Cmd{Site: where, User: "alice", Dir: dir, Args: words, Stdout: &out, Stderr: &out, Env: env})
	took := time.Since(began)
	close(over)
	if n := <-killed; where == bed.Login && n < kills {
		t.Errorf("the daemon was killed only %d times", n)
	}
	if n := made(); err != nil || n != jobs {
		t.Fatalf("%s\n%v at %s: %d jobs have run: %v", &out, words, where, n, err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if jobs > remembered {
		forgotten(t)
	}
	return took
}

// remembered is how many jobs may have run before another engine is timed.
const remembered = 1000

// forgotten waits until the site remembers no job: each list of jobs would be longer for who comes next.
func forgotten(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Minute); ; time.Sleep(5 * time.Second) {
		var out strings.Builder
		err := world.Bed.Exec(t.Context(), bed.Cmd{Site: "alpha", User: "alice", Args: []string{"squeue", "-h", "-t", "all"}, Stdout: &out})
		if err == nil && out.Len() == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the site does not forget its jobs: %v", err)
		}
	}
}
