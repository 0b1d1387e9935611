package output

import (
	"errors"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"fsub/federation"
)

func TestAppend(t *testing.T) {
	f := New(Config{Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler), Now: time.Now})
	for _, step := range []struct {
		offset int64
		text   string
		size   int64
		err    error
	}{
		{0, "hello ", 6, nil},
		{0, "hello ", 6, nil},                 // the reply was lost
		{3, "lo world", 11, nil},              // a piece that overlaps
		{12, "!", 11, federation.ErrConflict}, // a gap
	} {
		if size, err := f.Append("run.out", step.offset, strings.NewReader(step.text)); size != step.size || !errors.Is(err, step.err) {
			t.Errorf("%d %q: %d, %v", step.offset, step.text, size, err)
		}
	}
	if text, more, err := f.Read("run.out", 6, 3); string(text) != "wor" || !more || err != nil {
		t.Errorf("%q, more %t: %v", text, more, err)
	}
	if text, more, err := f.Read("run.out", 6, 30); string(text) != "world" || more || err != nil {
		t.Errorf("%q, more %t: %v", text, more, err)
	}
	if _, _, err := f.Read("run.err", 0, 1); !errors.Is(err, federation.ErrNotFound) {
		t.Error(err)
	}
	full := New(Config{Dir: t.TempDir(), Reserve: math.MaxUint64, Logger: slog.New(slog.DiscardHandler), Now: time.Now})
	if _, err := full.Append("run.out", 0, strings.NewReader("x")); !errors.Is(err, federation.ErrDenied) {
		t.Error(err)
	}
}
