package copies

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// store keeps what is put by path, and refuses what it is told to.
type store struct {
	*httptest.Server
	mu     sync.Mutex
	has    map[string][]byte
	puts   []string
	refuse string
}

func newStore(t *testing.T) *store {
	s := &store{has: map[string][]byte{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case r.URL.Path == s.refuse:
			http.Error(w, "no", http.StatusServiceUnavailable)
		case r.Method == "PUT" && (err != nil || r.Header.Get("X-Kind") != "block"):
			http.Error(w, "bad", http.StatusBadRequest)
		case r.Method == "PUT":
			s.has[r.URL.Path] = text
			s.puts = append(s.puts, r.URL.Path)
		case s.has[r.URL.Path] == nil:
			http.NotFound(w, r)
		default:
			w.Write(s.has[r.URL.Path])
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// run runs it as the wrapper does.
func (s *store) run(t *testing.T, dir string, in []byte, words ...string) (out []byte, errs string, code int) {
	t.Helper()
	var lines strings.Builder
	for n := range 5 {
		fmt.Fprintf(&lines, "7 copy1.%d.put %s/%d?secret\n7 copy1.%d.get %[2]s/%[1]d?secret\n8 copy1.%[1]d.put http://other\n", n, s.URL, n, n)
	}
	if err := os.WriteFile(filepath.Join(dir, "urls"), []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "in")
	if err := os.WriteFile(file, in, 0o600); err != nil {
		t.Fatal(err)
	}
	from, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	var said bytes.Buffer
	code = Main(words, from, to, &said)
	out, _ = os.ReadFile(to.Name())
	return out, said.String(), code
}

// TestThereAndBack: what is sent in pieces comes back, whatever its length, with its sum; what an earlier try has sent is not sent again, and counts in the sum.
func TestThereAndBack(t *testing.T) {
	const piece = 1 << 20
	for _, n := range []int{1, part, piece, piece + 1, 3*piece + 77} {
		s, dir := newStore(t), t.TempDir()
		data := make([]byte, n)
		rand.NewChaCha8([32]byte{}).Read(data)
		want := fmt.Sprintf("%x\n", sha256.Sum256(data))
		sum, done := filepath.Join(dir, "sum"), filepath.Join(dir, "done")
		put := []string{"put", filepath.Join(dir, "urls"), "7", "copy1", fmt.Sprint(n), fmt.Sprint(piece), sum, done, "X-Kind: block"}
		os.WriteFile(done, []byte("0\n"), 0o600)
		if n > piece {
			s.refuse = "/1"
			if _, errs, code := s.run(t, dir, data, put...); code == 0 || !strings.Contains(errs, "503") || strings.Contains(errs, "secret") {
				t.Errorf("%d bytes, and the second piece is refused: %d %s", n, code, errs)
			}
			s.refuse = ""
		}
		if _, errs, code := s.run(t, dir, data, put...); code != 0 {
			t.Fatalf("%d bytes: %s", n, errs)
		}
		if got, _ := os.ReadFile(sum); string(got) != want || len(s.puts) != (n+piece-1)/piece {
			t.Errorf("%d bytes: sent %v, sum %s, not %s", n, s.puts, got, want)
		}
		get := []string{"get", filepath.Join(dir, "urls"), "7", "copy1", fmt.Sprint(n), fmt.Sprint(piece), sum}
		os.Remove(sum)
		out, errs, code := s.run(t, dir, nil, get...)
		if got, _ := os.ReadFile(sum); code != 0 || !bytes.Equal(out, data) || string(got) != want {
			t.Errorf("%d bytes: %d came back, %d %s, sum %s", n, len(out), code, errs, got)
		}
		delete(s.has, "/0")
		if _, errs, code := s.run(t, dir, nil, get...); code == 0 || !strings.Contains(errs, "404") {
			t.Errorf("a piece is missing: %d %s", code, errs)
		}
		s.has["/0"] = data[:min(n, piece)/2]
		if _, errs, code := s.run(t, dir, nil, get...); code == 0 || !strings.Contains(errs, "missing") {
			t.Errorf("half of a piece is missing: %d %s", code, errs)
		}
	}
}

// TestArchiveOfAnotherLength: files that have grown or shrunk since they were measured make no copy.
func TestArchiveOfAnotherLength(t *testing.T) {
	for _, n := range []int{1000, 3000} {
		s, dir := newStore(t), t.TempDir()
		sum, done := filepath.Join(dir, "sum"), filepath.Join(dir, "done")
		os.WriteFile(done, []byte("0\n"), 0o600)
		if _, errs, code := s.run(t, dir, make([]byte, n), "put", filepath.Join(dir, "urls"), "7", "copy1", "2000", "4096", sum, done, "X-Kind: block"); code == 0 || errs == "" {
			t.Errorf("%d bytes for 2000 were taken", n)
		}
		if _, err := os.Stat(sum); err == nil {
			t.Error("it has a sum")
		}
	}
}
