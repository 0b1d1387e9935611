package blobs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/staging"
	"fsub/federation/staging/blobs"
	"fsub/federation/staging/blobs/s3test"
)

var key = []byte(strings.Repeat("k", 32))

// directory is a store in a directory with its server.
func directory(t *testing.T, max int64) *blobs.Store {
	var s *blobs.Store
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	s = open(t, blobs.Config{URL: "file://" + t.TempDir() + "/new", Public: server.URL, Key: key, Max: max})
	return s
}

func open(t *testing.T, c blobs.Config) *blobs.Store {
	t.Helper()
	s, err := blobs.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestObjects holds every kind of store to what staging.Objects promises.
func TestObjects(t *testing.T) {
	t.Run("file", func(t *testing.T) { testObjects(t, directory(t, 0), true) })
	t.Run("mem", func(t *testing.T) { testObjects(t, open(t, blobs.Config{URL: "mem://"}), false) })
	t.Run("s3", func(t *testing.T) { testObjects(t, open(t, blobs.Config{URL: s3test.Start(t)}), true) })
}

func testObjects(t *testing.T, o staging.Objects, signs bool) {
	ctx := t.Context()
	for _, text := range []string{"first", "the second is longer"} { // newer content replaces older
		if err := o.Put(ctx, "fed/1/2.a/-/out.0", strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	if got := get(t, o, "fed/1/2.a/-/out.0", 4, 6); got != "second" {
		t.Errorf("a part: %q", got)
	}
	if got := get(t, o, "fed/1/2.a/-/out.0", 0, -1); got != "the second is longer" {
		t.Errorf("all: %q", got)
	}
	if n, err := o.Size(ctx, "fed/1/2.a/-/out.0"); n != 20 || err != nil {
		t.Errorf("size %d, %v", n, err)
	}
	if _, err := o.Size(ctx, "fed/no"); !errors.Is(err, federation.ErrNotFound) {
		t.Errorf("size of nothing: %v", err)
	}
	if _, err := o.Get(ctx, "fed/no", 0, -1); !errors.Is(err, federation.ErrNotFound) {
		t.Errorf("reading nothing: %v", err)
	}
	if err := o.Put(ctx, "fed/half", io.MultiReader(strings.NewReader("half"), broken{})); err == nil {
		t.Error("half of an object was taken")
	}
	if _, err := o.Size(ctx, "fed/half"); !errors.Is(err, federation.ErrNotFound) {
		t.Errorf("half of an object is there: %v", err)
	}
	if signs {
		testSigned(t, o)
	}
	if err := o.Delete(ctx, "fed/1/2.a/-/out.0"); err != nil {
		t.Error(err)
	}
	var left []string
	err := o.List(ctx, "fed/", func(key string, at time.Time) error {
		if time.Since(at) > time.Hour {
			t.Errorf("%s is of %s", key, at)
		}
		left = append(left, key)
		return nil
	})
	want := ""
	if signs {
		want = "fed/1/2.a/-/put"
	}
	if strings.Join(left, " ") != want || err != nil {
		t.Errorf("left: %q, %v", left, err)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("broken") }

func get(t *testing.T, o staging.Objects, key string, offset, length int64) string {
	t.Helper()
	r, err := o.Get(t.Context(), key, offset, length)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// testSigned: an address opens one object for one method and nothing else.
func testSigned(t *testing.T, o staging.Objects) {
	put, err := o.Sign(t.Context(), "PUT", "fed/1/2.a/-/put", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	fetch, err := o.Sign(t.Context(), "GET", "fed/1/2.a/-/out.0", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	lapsed, err := o.Sign(t.Context(), "GET", "fed/1/2.a/-/out.0", time.Nanosecond)
	if err != nil {
		t.Fatal(err)
	}
	if code, body := call(t, "GET", fetch, ""); code != 200 || body != "the second is longer" {
		t.Errorf("GET: %d %q", code, body)
	}
	if code, _ := call(t, "PUT", put, "by address"); code/100 != 2 || get(t, o, "fed/1/2.a/-/put", 0, -1) != "by address" {
		t.Errorf("PUT: %d", code)
	}
	if _, ok := o.(*blobs.Store); !ok || !strings.Contains(fetch, "/blob?") {
		return // how a cloud's store guards itself is its own business
	}
	for name, c := range map[string][2]string{
		"PUT with an address for GET": {"PUT", fetch},
		"GET with an address for PUT": {"GET", put},
		"another object":              {"GET", strings.Replace(fetch, "out.0", "in.tar", 1)},
		"a later end":                 {"GET", strings.Replace(fetch, "expiry=1", "expiry=2", 1)},
		"DELETE":                      {"DELETE", fetch},
		"no signature":                {"GET", strings.Split(fetch, "?")[0] + "?obj=fed%2F1%2F2.a%2F-%2Fout.0"},
	} {
		if code, body := call(t, c[0], c[1], "x"); code != http.StatusForbidden {
			t.Errorf("%s: %d %q", name, code, body)
		}
	}
	time.Sleep(1100 * time.Millisecond) // addresses count in seconds
	if code, _ := call(t, "GET", lapsed, ""); code != http.StatusForbidden {
		t.Errorf("a lapsed address: %d", code)
	}
}

func call(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text)
}

func TestTooLargeIsNotKept(t *testing.T) {
	s := directory(t, 10)
	url, err := s.Sign(t.Context(), "PUT", "k", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if code, _ := call(t, "PUT", url, strings.Repeat("x", 11)); code != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d", code)
	}
	req, _ := http.NewRequest("PUT", url, io.MultiReader(strings.NewReader(strings.Repeat("x", 11)))) // of unknown length
	if resp, err := http.DefaultClient.Do(req); err != nil || resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("of unknown length: %v, %v", resp, err)
	}
	if _, err := s.Size(t.Context(), "k"); !errors.Is(err, federation.ErrNotFound) {
		t.Errorf("it is there: %v", err)
	}
}

// An address that is used again, by many at a time and by some who break off, has one object, which is whole; nothing else is left in the directory.
func TestAddressUsedAgain(t *testing.T) {
	dir := t.TempDir()
	var s *blobs.Store
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.ServeHTTP(w, r) }))
	defer server.Close()
	s = open(t, blobs.Config{URL: "file://" + dir, Public: server.URL, Key: key, Max: 1 << 20})
	url, err := s.Sign(t.Context(), "PUT", "fed/1/2.a/-/out.0", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	lapsed, err := s.Sign(t.Context(), "PUT", "fed/1/2.a/-/state", time.Nanosecond)
	if err != nil {
		t.Fatal(err)
	}
	once := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // what breaks off a request breaks its connection
	put := func(body io.Reader) (int, error) {
		req, err := http.NewRequest("PUT", url, body)
		if err != nil {
			return 0, err
		}
		resp, err := once.Do(req)
		if err != nil {
			return 0, err
		}
		return resp.StatusCode, resp.Body.Close()
	}
	var senders sync.WaitGroup
	for n := range rune(8) {
		senders.Go(func() {
			for range 20 {
				if code, err := put(strings.NewReader(strings.Repeat(string('a'+n), 100_000))); code != http.StatusCreated || err != nil {
					t.Errorf("PUT: %d, %v", code, err)
				}
				if code, err := put(io.MultiReader(strings.NewReader("half"), broken{})); err == nil && code == http.StatusCreated {
					t.Error("half of an object was taken")
				}
			}
		})
	}
	senders.Wait()
	if got := get(t, s, "fed/1/2.a/-/out.0", 0, -1); len(got) != 100_000 || strings.Trim(got, got[:1]) != "" {
		t.Errorf("%d bytes of several, %.10q", len(got), got)
	}
	time.Sleep(1100 * time.Millisecond) // addresses count in seconds
	if code, _ := call(t, "PUT", lapsed, "x"); code != http.StatusForbidden {
		t.Errorf("a lapsed address: %d", code)
	}
	server.Close() // and with it whatever was broken off
	var files []string
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if len(files) != 1 {
		t.Errorf("files %q, want one", files)
	}
}

// What nodes put by address leaves some of the file system free, also where it fills up meanwhile.
func TestRoomThatStays(t *testing.T) {
	var s *blobs.Store
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.ServeHTTP(w, r) }))
	defer server.Close()
	s = open(t, blobs.Config{URL: "file://" + t.TempDir(), Public: server.URL, Key: key, Free: 1000})
	url, err := s.Sign(t.Context(), "PUT", "k", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		free []uint64
		size int
		code int
	}{
		"full": {[]uint64{999}, 1, http.StatusInsufficientStorage}, "just enough": {[]uint64{1000}, 1, http.StatusCreated},
		"full in the middle": {[]uint64{1 << 40, 1000, 999}, 40 << 20, http.StatusInsufficientStorage},
	} {
		looks := 0
		s.SetFree(func() (uint64, error) { looks++; return c.free[min(looks, len(c.free))-1], nil })
		if code, body := call(t, "PUT", url, strings.Repeat("x", c.size)); code != c.code {
			t.Errorf("%s: %d %q", name, code, body)
		}
		if _, err := s.Size(t.Context(), "k"); (err == nil) != (c.code == http.StatusCreated) {
			t.Errorf("%s: it is there: %v", name, err)
		}
		_ = s.Delete(t.Context(), "k")
	}
}

func TestTheDirectoryIsTheDaemonsAlone(t *testing.T) {
	dir := t.TempDir() + "/new"
	s := open(t, blobs.Config{URL: "file://" + dir, Public: "http://x", Key: key})
	if err := s.Put(t.Context(), "a/b", strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{dir, dir + "/a"} {
		if st, err := os.Stat(name); err != nil || st.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", name, st.Mode(), err)
		}
	}
}

// TestOnTheDisk: what is to be on the disk is what was sent, whatever its length, also where many come at one time. What breaks off leaves nothing.
func TestOnTheDisk(t *testing.T) {
	dir := t.TempDir()
	s := open(t, blobs.Config{URL: "file://" + dir, Public: "http://x", Key: key, Outlives: func(string) bool { return true }})
	data := make([]byte, 5<<20)
	rand.NewChaCha8([32]byte{}).Read(data)
	var all sync.WaitGroup
	for i, n := range []int{0, 1, 4096, 32 << 10, 32<<10 + 1, 1 << 20, 1<<20 + 4096, 2<<20 - 1, 5 << 20, 3 << 20, 3<<20 + 1, 4<<20 + 4097} {
		all.Go(func() {
			name := fmt.Sprint("n", i)
			if err := s.Put(t.Context(), name, io.MultiReader(bytes.NewReader(data[:n/2]), bytes.NewReader(data[n/2:n]))); err != nil {
				t.Errorf("%d bytes: %v", n, err)
			}
			if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(got, data[:n]) {
				t.Errorf("%d bytes: %d are there: %v", n, len(got), err)
			}
		})
		all.Go(func() {
			name := fmt.Sprint("broken-", i, "-")
			if err := s.Put(t.Context(), name, io.MultiReader(bytes.NewReader(data[:n]), broken{})); err == nil {
				t.Errorf("%d bytes that break off were taken", n)
			}
			if found, _ := filepath.Glob(filepath.Join(dir, name+"*")); len(found) > 0 {
				t.Errorf("%d bytes that break off: %v", n, found)
			}
		})
	}
	all.Wait()
}

// A list of what a directory holds is whole while other objects are written.
func TestListWhileOthersAreWritten(t *testing.T) {
	s := directory(t, 0)
	if err := s.Put(t.Context(), "fed/1/kept", strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	var writing sync.WaitGroup
	for n := range 4 {
		writing.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				if err := s.Put(t.Context(), fmt.Sprintf("fed/1/%d", n), strings.NewReader("x")); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 500 {
		found := false
		err := s.List(t.Context(), "fed/1/", func(key string, _ time.Time) error {
			found = found || key == "fed/1/kept"
			return nil
		})
		if err != nil || !found {
			t.Errorf("found %v: %v", found, err)
			break
		}
	}
	close(over)
	writing.Wait()
}
