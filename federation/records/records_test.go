package records_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"fsub/federation"
	"fsub/federation/audit"
	"fsub/federation/records"
	"fsub/federation/store"
)

type hook struct{ Owner, Name, URL string }

func hooks(s records.Store) records.Set[hook] {
	return records.Set[hook]{Store: s, Kind: "hook", Key: func(h *hook) (owner, name *string) { return &h.Owner, &h.Name }}
}

func open(t *testing.T) *store.Store {
	s, err := store.Open(t.Context(), store.Config{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestSet(t *testing.T) {
	set := hooks(open(t))
	for _, h := range []hook{{"bob", "a", "x"}, {"ann", "b", "y"}, {"ann", "a", "z"}, {"ann", "a", "w"}} {
		if err := set.Put(t.Context(), &h); err != nil {
			t.Fatal(err)
		}
	}
	all, err := set.List(t.Context(), "")
	own, err2 := set.List(t.Context(), "ann")
	if err != nil || err2 != nil || len(all) != 3 || len(own) != 2 || own[0] != (hook{"ann", "a", "w"}) || all[2].Owner != "bob" {
		t.Errorf("%v, %v: %v, of ann %v", err, err2, all, own)
	}
	if err := set.Remove(t.Context(), "ann", "a"); err != nil {
		t.Error(err)
	}
	if h, err := set.Find(t.Context(), "ann", "a"); !errors.Is(err, federation.ErrNotFound) {
		t.Errorf("removed: %v, %v", h, err)
	}
	if err := set.Update(t.Context(), "ann", "a", func(*hook) bool { return true }); !errors.Is(err, federation.ErrNotFound) {
		t.Errorf("update of nothing: %v", err)
	}
}

// between is a store to which somebody else writes just before the first write.
type between struct {
	records.Store
	other func()
}

func (b *between) PutRecord(ctx context.Context, r *records.Record, audit ...audit.Entry) error {
	if other := b.other; other != nil {
		b.other = nil
		other()
	}
	return b.Store.PutRecord(ctx, r, audit...)
}

// A change is made to what is there when it is written, whoever wrote since it was read.
func TestUpdateSeesOthers(t *testing.T) {
	s := open(t)
	set := hooks(s)
	if err := set.Put(t.Context(), &hook{"ann", "a", "1"}); err != nil {
		t.Fatal(err)
	}
	slow := hooks(&between{s, func() { set.Put(t.Context(), &hook{"ann", "a", "2"}) }})
	if err := slow.Update(t.Context(), "ann", "a", func(h *hook) bool { h.URL += "+"; return true }); err != nil {
		t.Fatal(err)
	}
	if h, err := set.Find(t.Context(), "ann", "a"); err != nil || h.URL != "2+" {
		t.Errorf("%v, %v", h, err)
	}
	if err := set.Update(t.Context(), "ann", "a", func(h *hook) bool { h.URL = "no"; return false }); err != nil {
		t.Error(err)
	}
	if h, _ := set.Find(t.Context(), "ann", "a"); h.URL != "2+" {
		t.Errorf("what was to be left is %v", h)
	}
}

func TestCheckName(t *testing.T) {
	for _, good := range []string{"a", "weekly-cost_2.csv", strings.Repeat("x", 63)} {
		if err := records.CheckName(good); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"", "../x", ".x", "a b", "a/b", "ä", strings.Repeat("x", 64)} {
		if records.CheckName(bad) == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
