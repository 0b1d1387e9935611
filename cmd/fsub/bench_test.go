package main_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// buildClient builds the binary as it is installed.
func buildClient(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sbatch")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return path
}

// stubDaemon answers every submission at once with a growing number, without any work of its own.
func stubDaemon(t testing.TB) (socket string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	id := 30000000
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		buf := make([]byte, 64<<10)
		for {
			if _, err := r.Body.Read(buf); err != nil {
				break
			}
		}
		id++
		fmt.Fprintf(w, `{"job_id":%d}`, id)
	})}
	go srv.Serve(l)
	t.Cleanup(func() { srv.Close() })
	return socket
}

// BenchmarkProcess measures whole processes: fsub with a daemon that does nothing, and /bin/true, in turn. The difference is
// what the client costs; the daemon's own work is measured elsewhere.
func BenchmarkProcess(b *testing.B) {
	client, socket := buildClient(b), stubDaemon(b)
	dir := b.TempDir()
	script := filepath.Join(dir, "job.sh")
	os.WriteFile(script, []byte("#!/bin/bash\n#SBATCH --job-name=bench --time=10 --mem=4G\n#SBATCH -N 2 --gres=gpu:h100:4\n"+
		"#SBATCH --output=%x-%j.out\nsrun hostname\n"), 0o644)
	commands := map[string][]string{"fsub": {client, script}, "true": {"/bin/true"}}
	if real := os.Getenv("FSUB_BENCH_OTHER"); real != "" { // another client to compare with, for development
		commands["other"] = []string{real, script}
	}
	times := map[string][]time.Duration{}
	for b.Loop() {
		for name, args := range commands {
			cmd := exec.Command(args[0], args[1:]...)
			cmd.Env = append(os.Environ(), "FSUB_SOCKET="+socket)
			start := time.Now()
			if err := cmd.Run(); err != nil {
				b.Fatalf("%s: %v", name, err)
			}
			times[name] = append(times[name], time.Since(start))
		}
	}
	for name, list := range times {
		slices.Sort(list)
		b.ReportMetric(float64(list[len(list)/2].Microseconds())/1000, name+"-ms")
	}
}
