package answer

import (
	"net/http/httptest"
	"slices"
	"testing"
	"time"
)

// reader is one who does not read, and sees when he is cut off.
type reader struct {
	*httptest.ResponseRecorder
	cut bool
}

func (r *reader) SetWriteDeadline(time.Time) error {
	r.cut = true
	return nil
}

// Answers that wait to be read may not come to more than mostUnread, whoever does not read them; one alone may.
func TestUnread(t *testing.T) {
	type answer struct {
		uid uint32
		n   int
	}
	const m = 1 << 20
	for name, c := range map[string]struct {
		answers []answer
		cut     []int
	}{
		"few":                           {[]answer{{1, 200 * m}, {2, 200 * m}}, nil},
		"one alone":                     {[]answer{{1, 600 * m}}, nil},
		"the largest of who has most":   {[]answer{{1, 100 * m}, {2, 200 * m}, {1, 150 * m}, {3, 100 * m}}, []int{2}},
		"the oldest where each has one": {[]answer{{1, 200 * m}, {2, 200 * m}, {3, 200 * m}}, []int{0}},
		"who has little is left alone":  {[]answer{{1, 400 * m}, {2, 1 * m}, {1, 200 * m}}, []int{0}},
		"as many as it takes":           {[]answer{{1, 250 * m}, {2, 250 * m}, {3, 500 * m}}, []int{0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			var u unread
			var all []*fairWriter
			for i, a := range c.answers {
				w := &fairWriter{ResponseWriter: &reader{ResponseRecorder: httptest.NewRecorder()}, ctx: t.Context(), uid: a.uid, unread: &u}
				all = append(all, w)
				u.enter(w, a.n)
				w.since = time.Unix(int64(i), 0)
			}
			var cut []int
			for i, w := range all {
				if w.ResponseWriter.(*reader).cut {
					cut = append(cut, i)
					if _, err := w.Write(make([]byte, buffered)); err != errCut {
						t.Errorf("%d was cut off, and wrote on: %v", i, err)
					}
				}
				u.leave(w)
			}
			if !slices.Equal(cut, c.cut) {
				t.Errorf("%v are cut off, want %v", cut, c.cut)
			}
			if u.bytes != 0 || len(u.users) != 0 {
				t.Errorf("%d bytes of %d users are left", u.bytes, len(u.users))
			}
		})
	}
}
