package output

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"os"
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
		if size, err := f.Append("run.out", 0, step.offset, strings.NewReader(step.text)); size != step.size || !errors.Is(err, step.err) {
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
	if _, err := full.Append("run.out", 0, 0, strings.NewReader("x")); !errors.Is(err, federation.ErrDenied) {
		t.Error(err)
	}
}

// TestBounds: a stream is cut off where it or its user has enough, and the machine goes on sending; others go on writing.
func TestBounds(t *testing.T) {
	f := New(Config{Dir: t.TempDir(), Most: 10, User: 15, Logger: slog.New(slog.DiscardHandler), Now: time.Now})
	size := func(name string) int {
		text, _, err := f.Read(name, 0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		kept, _, _ := strings.Cut(string(text), "\nfsub: cut off")
		return len(kept)
	}
	uid := uint32(os.Getuid())
	other := uid
	if uid == 0 {
		uid, other = 65533, 65534
	}
	for _, step := range []struct {
		name    string
		uid     uint32
		offset  int64
		n       int
		settled int64
		kept    int
	}{
		{"a.out", uid, 0, 8, 8, 8},
		{"a.out", uid, 8, 100, 108, 10}, // two of them, and a line that says so
		{"a.out", uid, 8, 100, 108, 10}, // the reply was lost
		{"a.out", uid, 108, 50, 158, 10},
		{"b.out", uid, 0, 9, 9, 0}, // the line counts, too
	} {
		got, err := f.Append(step.name, step.uid, step.offset, strings.NewReader(strings.Repeat("x", step.n)))
		if kept := size(step.name); got != step.settled || err != nil || kept != step.kept {
			t.Errorf("%d bytes of %s at %d: settled up to %d (%v), %d are kept; want %d, %d", step.n, step.name, step.offset, got, err, kept, step.settled, step.kept)
		}
	}
	if other == uid {
		t.Skip("SKIPPED: not root: all files have one owner")
	}
	if got, err := f.Append("c.out", other, 0, strings.NewReader("hello")); got != 5 || err != nil || size("c.out") != 5 {
		t.Errorf("another user's: %d, %v", got, err)
	}
	// What is kept is known again after a restart, by the owners of the files.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	again := New(Config{Dir: f.cfg.Dir, User: 15, Keep: time.Hour, Logger: f.cfg.Logger, Now: time.Now})
	again.Tidy(ctx)
	if mine, theirs := again.quota.of(uid), again.quota.of(other); mine < 10 || theirs != 5 {
		t.Errorf("after a restart: %d and %d", mine, theirs)
	}
}

// TestScarceRoom: those who hold most are cut off before anybody else is.
func TestScarceRoom(t *testing.T) {
	f := New(Config{Reserve: 1 << 30})
	f.quota.add(1, 16<<30)
	f.quota.add(2, 1<<20)
	for _, c := range []struct {
		uid  uint32
		free uint64
		some bool
	}{{1, 100 << 30, true}, {1, 3 << 30, false}, {2, 3 << 30, true}, {2, 1<<30 + 1, true}} {
		if got := f.left(0, c.uid, c.free) > 0; got != c.some {
			t.Errorf("uid %d with %d MiB free: %t", c.uid, c.free>>20, got)
		}
	}
}
