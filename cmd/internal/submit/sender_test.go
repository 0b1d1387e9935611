package submit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/cmd/internal/conn"
)

// TestLostAnswersAreAskedForAgain: what the daemon has taken and not answered is sent again under the same key, and each submission has a key of its own.
func TestLostAnswersAreAskedForAgain(t *testing.T) {
	var mu sync.Mutex
	jobs := map[string]int{}
	requests := 0
	socket := answering(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		key := r.Header.Get("Idempotency-Key")
		if jobs[key] == 0 {
			jobs[key] = len(jobs) + 1
		}
		if requests++; requests%3 != 0 { // two of three answers are lost
			panic(http.ErrAbortHandler)
		}
		fmt.Fprintf(w, `{"job_id":%d}`, jobs[key])
	})
	defer func(p []time.Duration) { again = p }(again)
	again = []time.Duration{time.Millisecond, time.Millisecond}
	for want := 1; want <= 3; want++ {
		out, said, code := submitTo(t, socket)
		if code != 0 || out != fmt.Sprintf("Submitted batch job %d\n", want) {
			t.Errorf("exit %d, %q, %q", code, out, said)
		}
	}
	mu.Lock()
	keys := len(jobs)
	mu.Unlock()
	if keys != 3 {
		t.Errorf("three submissions have %d keys", keys)
	}
	out, _, code := submitTo(t, socket, "--fed-key=mine")
	if again, _, _ := submitTo(t, socket, "--fed-key=mine"); code != 0 || again != out {
		t.Errorf("the same key: %q, then %q", out, again)
	}
}

// TestLostForGood: the message names the key to repeat it under.
func TestLostForGood(t *testing.T) {
	socket := answering(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	defer func(p []time.Duration) { again = p }(again)
	again = []time.Duration{time.Millisecond, time.Millisecond}
	_, said, code := submitTo(t, socket, "--fed-key=mine")
	if code != 1 || !strings.Contains(said, "Batch job submission failed: Zero Bytes were transmitted or received") || !strings.Contains(said, "--fed-key=mine") {
		t.Errorf("exit %d, %q", code, said)
	}
}

// TestBusyDaemonIsAskedAgain, as sbatch asks a controller that takes no jobs just now.
func TestBusyDaemonIsAskedAgain(t *testing.T) {
	requests := 0
	socket := answering(t, func(w http.ResponseWriter, _ *http.Request) {
		if requests++; requests > 2 {
			io.WriteString(w, `{"job_id":7}`)
			return
		}
		w.WriteHeader(http.StatusConflict)
		fmt.Fprintf(w, `{"error":{"number":11,"text":"Resource temporarily unavailable","detail":"%d MiB are free"}}`, 63-requests)
	})
	out, said, code := submitTo(t, socket)
	if code != 0 || out != "Submitted batch job 7\n" || said != "sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying\nsbatch: error: 62 MiB are free\nsbatch: error: 61 MiB are free\n" {
		t.Errorf("exit %d, %q, %q", code, out, said)
	}
}

// TestUnavailable: what the daemon refuses with status 503 was not carried out; what its agent says so of may have been, and is sent again.
func TestUnavailable(t *testing.T) {
	defer func(p []time.Duration) { again = p }(again)
	again = []time.Duration{time.Millisecond}
	for answer, want := range map[string]int{`{"error":{"number":1800,"text":"Unable to contact slurm controller (connect failure)"}}`: 1, "the daemon is not there: cut": 2} {
		requests := 0
		socket := answering(t, func(w http.ResponseWriter, _ *http.Request) {
			requests++
			w.WriteHeader(http.StatusServiceUnavailable)
			io.WriteString(w, answer)
		})
		if _, said, code := submitTo(t, socket); code != 1 || requests != want || strings.Contains(said, "Unable to contact") != (want == 1) || strings.Contains(said, "may have been carried out") != (want == 2) {
			t.Errorf("%s: exit %d after %d requests, %q", answer, code, requests, said)
		}
	}
}

// TestKeysOfTheCommandLine: others are refused before anything is sent.
func TestKeysOfTheCommandLine(t *testing.T) {
	if _, said, code := submitTo(t, "/nowhere", "--fed-key=a key"); code == 0 || !strings.Contains(said, "Invalid --fed-key specification") {
		t.Errorf("exit %d, %q", code, said)
	}
	in, err := caller([]string{"--wrap=true"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "job.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n#FSUB --fed-key=k\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	in.Args = []string{script}
	var out, said bytes.Buffer
	if code := run(in, &out, &said, conn.New("/nowhere", 0), false); code == 0 || !strings.Contains(said.String(), "give it on the command line") {
		t.Errorf("in a script: exit %d, %q", code, said.String())
	}
}

func submitTo(t *testing.T, socket string, args ...string) (out, said string, code int) {
	t.Helper()
	in, err := caller(append(args, "--wrap=true"), []string{"PATH=/bin"})
	if err != nil {
		t.Fatal(err)
	}
	c := conn.New(socket, 0)
	defer c.Close()
	var stdout, stderr bytes.Buffer
	code = run(in, &stdout, &stderr, c, false)
	return stdout.String(), stderr.String(), code
}

// answering serves h on a socket, a request at a time.
func answering(t *testing.T, h http.HandlerFunc) (socket string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "fsub")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: h}
	go func() {
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { srv.Close(); os.RemoveAll(dir) })
	return l.Addr().String()
}
