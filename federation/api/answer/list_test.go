package answer

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestList(t *testing.T) {
	for _, c := range []struct {
		name string
		n    int
		rest string
		want string
	}{
		{"jobs", 0, `{"meta":{"a":[]}}`, `{"jobs":[],"meta":{"a":[]}}`},
		{"jobs", 2, `{"jobs":[],"errors":[]}`, `{"jobs":[0,1],"errors":[]}`},
		{"jobs", 1, `{"errors":[],"warnings":[]}`, `{"jobs":[0],"errors":[],"warnings":[]}`},
		{"", 3, "", "[0,1,2]"},
		{"", 0, "", "[]"},
	} {
		w := httptest.NewRecorder()
		l := NewList(w, c.name)
		for i := range c.n {
			l.Add(json.RawMessage(fmt.Sprint(i)))
			if err := l.Send(); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.End(json.RawMessage(c.rest)); err != nil {
			t.Fatal(err)
		}
		if got := w.Body.String(); got != c.want+"\n" {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// TestListFails: an error before anything has gone out is the answer; later the answer breaks off, and the caller is told by that.
func TestListFails(t *testing.T) {
	broken := errors.New("the disk is gone")
	for _, large := range []bool{false, true} {
		w := httptest.NewRecorder()
		l := NewList(w, "jobs")
		l.Add(json.RawMessage(`"` + strings.Repeat("x", map[bool]int{false: 10, true: listBuffer}[large]) + `"`))
		if err := l.Send(); err != nil {
			t.Fatal(err)
		}
		err := l.Fail(broken)
		var cut cutError
		if got := errors.As(err, &cut); got != large || !errors.Is(err, broken) || (w.Body.Len() > 0) != large {
			t.Errorf("large %v: %v, cut %v, %d bytes have gone out", large, err, got, w.Body.Len())
		}
	}
	l := NewList(goneWriter{httptest.NewRecorder()}, "jobs")
	l.Add(json.RawMessage(`"` + strings.Repeat("x", listBuffer) + `"`))
	err := l.Send()
	if !errors.As(err, new(cutError)) || errors.Unwrap(err) != nil || l.Fail(err) != err {
		t.Errorf("the caller has gone: %v", err)
	}
}

type goneWriter struct{ http.ResponseWriter }

func (goneWriter) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }
