package agentserver

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"fsub/cloud"
	"fsub/cloud/agentapi"
)

// fileSite writes logs to a file, as drivers do.
type fileSite struct {
	cloud.Agents
	file *os.File
	size int64
}

func (s *fileSite) Log(_ context.Context, _ cloud.MachineID, _, _ string, offset int64, body io.Reader) (int64, error) {
	n, err := io.Copy(s.file, body)
	s.size = offset + n
	return s.size, err
}

// BenchmarkLog sends a run's output in pieces of 4 MiB over TCP.
func BenchmarkLog(b *testing.B) {
	d, err := New(Config{Key: bytes.Repeat([]byte{7}, 32), Socket: "/nowhere", Now: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	f, err := os.Create(filepath.Join(b.TempDir(), "out"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	site := &fileSite{file: f}
	d.Add("aws", site)
	srv := httptest.NewServer(d)
	defer srv.Close()
	piece := bytes.Repeat([]byte("a line of output, as long as such lines are\n"), 4<<20/44)
	b.SetBytes(int64(len(piece)))
	for b.Loop() {
		r, err := http.NewRequest("POST", srv.URL+agentapi.PathLog+"run-1/out?offset="+strconv.FormatInt(site.size, 10), bytes.NewReader(piece))
		if err != nil {
			b.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+d.session("aws:1"))
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			b.Fatal(resp.Status)
		}
		if site.size > 1<<30 { // do not fill the disk
			b.StopTimer()
			site.size = 0
			if _, err := f.Seek(0, io.SeekStart); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
	}
}
