package main

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	marked := markCrashes(main)
	testscript.Main(m, map[string]func(){"fsub": marked, "sbatch": marked, "scontrol": marked, "squeue": marked, "scancel": marked, "sinfo": marked,
		"sacct": marked, "sacctmgr": marked, "sshare": marked, "srun": marked, "salloc": marked})
}

// TestSubmit tells the stories of testdata/submit with a stand-in for the daemon: it writes each request to
// $WORK/request.json and answers with the number 30000001, or with what $WORK/answer says (HTTP status, newline, body).
// $WORK/waits holds what .../wait answers: one line of JSON each time, the empty line is "not yet".
func TestSubmit(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/submit",
		Setup: func(env *testscript.Env) error {
			failCrashed(t, env)
			return startStub(env)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
			"fill":  fill,
		},
	})
}

// exits CODE COMMAND... runs a command and wants that very exit code.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var ee *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &ee) {
		got = ee.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d; stderr:\n%s", got, want, ts.ReadFile("stderr"))
	}
}

// fill FILE SIZE makes a valid script of that many bytes.
func fill(ts *testscript.TestScript, _ bool, args []string) {
	size, err := strconv.Atoi(args[1])
	ts.Check(err)
	head := "#!/bin/sh\n"
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(head+strings.Repeat("#", size-len(head))), 0o644))
}

func startStub(env *testscript.Env) error {
	// The path of a socket is short, that of a test's directory may not be.
	dir, err := os.MkdirTemp("", "fsub")
	if err != nil {
		return err
	}
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: stub(env.WorkDir)}
	go srv.Serve(l)
	env.Defer(func() { srv.Close(); os.RemoveAll(dir) })
	env.Setenv("FSUB_SOCKET", socket)
	return nil
}

// stub is the handler of the stand-in.
func stub(work string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.HasSuffix(r.URL.Path, "/wait") {
			answerWait(w, filepath.Join(work, "waits"))
			return
		}
		os.WriteFile(filepath.Join(work, "request.json"), body, 0o644)
		answer, err := os.ReadFile(filepath.Join(work, "answer"))
		if err != nil {
			answer = []byte(`200` + "\n" + `{"job_id":30000001}` + "\n")
		}
		status, text, _ := strings.Cut(string(answer), "\n")
		code, _ := strconv.Atoi(status)
		w.WriteHeader(code)
		io.WriteString(w, text)
	})
}

func answerWait(w http.ResponseWriter, file string) {
	answers, _ := os.ReadFile(file)
	line, rest, _ := strings.Cut(string(answers), "\n")
	os.WriteFile(file, []byte(rest), 0o644)
	if line == "" {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	io.WriteString(w, line)
}
