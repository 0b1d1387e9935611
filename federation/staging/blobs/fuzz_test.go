package blobs_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"fsub/federation/staging/blobs"
)

// FuzzAddresses asks the door of a directory's store for anything at all: without an address that was signed for just that, nothing is read or written, and no answer is a
// failure of the daemon.
func FuzzAddresses(f *testing.F) {
	s, err := blobs.Open(f.Context(), blobs.Config{URL: "file://" + f.TempDir(), Public: "http://door", Key: key, Max: 1 << 20})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	const name = "fed/1/2.a/-/out.0"
	if err := s.Put(f.Context(), name, strings.NewReader("text")); err != nil {
		f.Fatal(err)
	}
	signed := map[string]bool{}
	for _, method := range []string{"GET", "PUT"} {
		url, err := s.Sign(f.Context(), method, name, 1000*time.Hour)
		if err != nil {
			f.Fatal(err)
		}
		query := strings.TrimPrefix(url, "http://door/blob?")
		signed[method+" "+query] = true
		for _, other := range []string{method, "HEAD", "DELETE"} {
			f.Add(other, "/blob", query, "text")
			f.Add(other, "/blob/../blob", query+"&obj=..%2f..%2fetc%2fpasswd", "")
			f.Add(other, "/blob", strings.Replace(query, "expiry=", "expiry=9", 1), "")
		}
	}
	f.Add("", "/blob", "", "")
	f.Fuzz(func(t *testing.T, method, path, query, body string) {
		r, err := http.NewRequest(method, "http://door", strings.NewReader(body))
		if err != nil {
			return // no client of HTTP sends it
		}
		method = r.Method // no method is GET
		r.URL.Path, r.URL.RawQuery = path, query
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		switch {
		case w.Code >= 500:
			t.Errorf("%s %s?%s: %d %s", method, path, query, w.Code, w.Body)
		case w.Code < 300 && !signed[method+" "+query]:
			if q := r.URL.Query(); q.Get("obj") != name || q.Get("method") != method { // the same, written otherwise
				t.Errorf("%s %s?%s is let in", method, path, query)
			}
		}
	})
}
