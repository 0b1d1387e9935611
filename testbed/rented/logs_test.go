package rented

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/staging"
	"fsub/sbatch"
)

// numbers is what "seq 1 n" prints: any gap and any double shows.
type numbers struct {
	size int64
	sum  string
}

func count(t testing.TB, n int) numbers {
	t.Helper()
	h := sha256.New()
	w := bufio.NewWriterSize(h, 1<<20)
	var size int64
	line := make([]byte, 0, 20)
	for i := 1; i <= n; i++ {
		line = append(strconv.AppendInt(line[:0], int64(i), 10), '\n')
		size += int64(len(line))
		w.Write(line)
	}
	w.Flush()
	return numbers{size, hex.EncodeToString(h.Sum(nil))}
}

func sumOf(t testing.TB, r io.Reader) numbers {
	t.Helper()
	h := sha256.New()
	n, err := io.Copy(h, r)
	if err != nil {
		t.Error(err)
	}
	return numbers{n, hex.EncodeToString(h.Sum(nil))}
}

// kept is the one output that the daemon keeps, in dir; its size is 0 while there is none.
func kept(dir string) (path string, size int64) {
	list, _ := filepath.Glob(filepath.Join(dir, "*.out"))
	if len(list) != 1 {
		return "", 0
	}
	info, err := os.Stat(list[0])
	if err != nil {
		return "", 0
	}
	return list[0], info.Size()
}

// TestLongOutput has a job write more than 1 GB, while the daemon is killed and started again two times: what the daemon has in the end is what the job wrote, byte for byte. The job
// does not come to its end before that: it waits for a file at its half, and for another later.
func TestLongOutput(t *testing.T) {
	single(t)
	t.Parallel()
	lines := 115_000_000
	if testing.Short() {
		lines = 10_000_000
	}
	p := newPlace(t, config{pool: "max: 1, idle: 2s"})
	want := count(t, lines)
	gate := filepath.Join(p.dir, "gate")
	id := p.submit(fmt.Sprintf("#!/bin/bash\n#SBATCH -t 60\n#FSUB --stage-in=job.sh\nn=%d gate=%s\nfor i in {0..19}; do\n"+
		"case $i in 10|16) until [ -e $gate$i ]; do sleep 0.05; done ;; esac\nseq $((i * n + 1)) $(((i + 1) * n)); sleep 0.2; done\n", lines/20, gate))
	logs := filepath.Join(p.dir, "state", "logs", "aws")
	for _, part := range []struct{ percent, opens int64 }{{12, 10}, {55, 16}} {
		p.eventually("output arrives", 2*time.Minute, func() string {
			if _, size := kept(logs); size < want.size*part.percent/100 {
				return fmt.Sprintf("%d bytes", size)
			}
			return ""
		})
		p.kill()
		_, size := kept(logs)
		t.Logf("killed at %d of %d bytes", size, want.size)
		if size >= want.size {
			t.Error("all was there when the daemon was killed: this shows nothing")
		}
		p.start()
		if err := os.WriteFile(fmt.Sprint(gate, part.opens), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	rec := p.await(id, 5*time.Minute)
	if rec.Job.State != federation.Completed {
		t.Errorf("%s (%s): %v", rec.Job.State, rec.Job.Reason, rec.Events)
	}
	path, _ := kept(logs)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := sumOf(t, f); got != want {
		t.Errorf("the daemon has %d bytes, the job wrote %d; sum %s, want %s", got.size, want.size, got.sum, want.sum)
	}
	p.cameHome(id, want)
	cmd := exec.Command(filepath.Join(scratch, "fed"), "logs", id.String())
	cmd.Env = []string{"FSUB_SOCKET=" + filepath.Join(p.dir, "s")}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if got := sumOf(t, pipe); got != want {
		t.Errorf("fed logs printed %d bytes, the job wrote %d", got.size, want.size)
	}
	t.Logf("fed logs: %.0f MB/s", float64(want.size)/1e6/time.Since(began).Seconds())
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// cameHome looks at the output that has come home: all of it, or as much as is carried with a word about it.
func (p *place) cameHome(id federation.JobID, want numbers) {
	p.t.Helper()
	f, err := os.Open(filepath.Join(p.home, "slurm-"+id.String()+".out"))
	if err != nil {
		p.t.Error(err)
		return
	}
	defer f.Close()
	if want.size <= staging.MaxLog {
		if got := sumOf(p.t, f); got != want {
			p.t.Errorf("%d bytes came home, the job wrote %d", got.size, want.size)
		}
		return
	}
	end := make([]byte, 100)
	n, err := f.ReadAt(end, staging.MaxLog)
	if word := fmt.Sprintf("\nfsub: cut off after %d bytes\n", staging.MaxLog); string(end[:n]) != word {
		p.t.Errorf("after what is carried home stands %q (%v), want %q", end[:n], err, word)
	}
}

// BenchmarkOutput is the way of one job's output from its script to the daemon's disk: 1 GB, written as fast as the machine takes it. The goal is 100 MB/s.
func BenchmarkOutput(b *testing.B) {
	const lines = 115_000_000
	s := newSite(b, 1, false)
	want := count(b, lines)
	logs := filepath.Join(s.dir, "logs")
	warm := s.run(b, "true")
	b.SetBytes(want.size)
	for b.Loop() {
		b.StopTimer()
		os.RemoveAll(warm)
		os.Remove(filepath.Join(s.home, "out"))
		list, _ := filepath.Glob(filepath.Join(logs, "*"))
		for _, old := range list {
			os.Remove(old)
		}
		b.StartTimer()
		s.run(b, fmt.Sprintf("seq 1 %d", lines))
		b.StopTimer()
		path, _ := kept(logs)
		f, err := os.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		if got := sumOf(b, f); got != want {
			b.Errorf("the daemon has %d bytes, the job wrote %d", got.size, want.size)
		}
		f.Close()
		b.StartTimer()
	}
}

// run runs a job of one line to its end.
func (s *site) run(t testing.TB, script string) string {
	t.Helper()
	j := &federation.Job{ID: nextID(), User: s.user.Name, UID: s.user.UID, GID: s.user.GID, Submit: time.Now().UTC().Truncate(time.Microsecond)}
	j.Spec = &sbatch.Spec{Name: "rented", Account: "physics", TimeLimit: 10 * time.Minute, WorkDir: s.home, Output: "out"}
	sub := federation.Submission{Job: j, Partition: "main", User: s.user, Key: federation.AttemptKey("rented", j, 1),
		Payload: sbatch.Payload{Script: "#!/bin/bash\n" + script + "\n", Environment: []string{"PATH=/usr/bin:/bin"}}}
	if _, err := s.Submit(context.Background(), sub); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		got, err := s.Lookup(context.Background(), federation.JobRef{ID: j.ID, Key: sub.Key, Submitted: j.Submit})
		switch {
		case err == nil && got.State == federation.Completed:
			return filepath.Join(s.home, "out")
		case err == nil && got.State.Ended() || time.Now().After(deadline):
			t.Fatalf("the job is %+v, %v", got, err)
		}
	}
}
