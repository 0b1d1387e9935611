package submit

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"fsub/cmd/internal/conn"
	"fsub/sbatch"
)

// TestBigScriptIsCopiedTwice: a script of the largest size is read once and written into the request once.
func TestBigScriptIsCopiedTwice(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "big.sh")
	body := "#!/bin/sh\n#SBATCH -n1\n" + strings.Repeat("echo "+strings.Repeat("x", 73)+"\n", sbatch.MaxScript/79+1)
	body = body[:sbatch.MaxScript-1] + "\n"
	if err := os.WriteFile(script, []byte(body), 0o644); err != nil {
		t.Fatal(err)
	}
	socket, got := sink(t)
	in, err := caller([]string{script}, []string{"PATH=/bin"})
	if err != nil {
		t.Fatal(err)
	}
	c := conn.New(socket, 0)
	defer c.Close()
	var before, after runtime.MemStats
	var out bytes.Buffer
	runtime.ReadMemStats(&before)
	code := run(in, &out, io.Discard, c, false)
	runtime.ReadMemStats(&after)
	if code != 0 || out.String() != "Submitted batch job 7\n" {
		t.Fatalf("exit %d, %q", code, out.String())
	}
	allocated := after.TotalAlloc - before.TotalAlloc
	t.Logf("a script of %d bytes: %d allocated, %d sent", len(body), allocated, <-got)
	if most := uint64(len(body))*9/4 + 64<<10; allocated > most {
		t.Errorf("%d bytes are allocated, more than two copies (%d)", allocated, most)
	}
}

// sink is a daemon that reads a request into a buffer of its own and answers with a number; got is how long the request was.
func sink(t *testing.T) (socket string, got chan int) {
	dir, err := os.MkdirTemp("", "fsub")
	if err != nil {
		t.Fatal(err)
	}
	socket, got = filepath.Join(dir, "s"), make(chan int, 1)
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close(); os.RemoveAll(dir) })
	buf := make([]byte, 1<<20)
	go func() {
		k, err := l.Accept()
		if err != nil {
			return
		}
		defer k.Close()
		n, kept := 0, 0
		for ended := false; !ended; { // the request ends with "submit_host":"..."}, of which a part may come by itself
			m, err := k.Read(buf[kept:])
			if err != nil {
				return
			}
			n += m
			last := buf[max(0, kept+m-300) : kept+m]
			ended = bytes.HasSuffix(last, []byte(`"}`)) && bytes.Contains(last, []byte(`"submit_host":`))
			kept = copy(buf, last)
		}
		got <- n
		io.WriteString(k, "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{\"job_id\":7}")
	}()
	return socket, got
}
