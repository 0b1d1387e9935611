package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fsub/federation"
	"fsub/federation/store"
	"fsub/sbatch"
)

// FuzzRestore restores copies that are damaged somewhere, or are something else: each is refused with its name, or is a store that can be opened and read.
func FuzzRestore(f *testing.F) {
	dir := f.TempDir()
	path := filepath.Join(dir, "fed.db")
	s, err := store.Open(ctx, store.Config{Path: path})
	if err != nil {
		f.Fatal(err)
	}
	for range 3 {
		j := federation.Job{State: federation.Pending, Spec: &sbatch.Spec{Name: "x"}}
		if err := s.CreateJob(ctx, &j, &sbatch.Payload{Script: "#!/bin/sh\n"}); err != nil {
			f.Fatal(err)
		}
	}
	s.Close()
	copied := filepath.Join(dir, "copy.db")
	if err := store.Backup(ctx, path, copied); err != nil {
		f.Fatal(err)
	}
	sound, err := os.ReadFile(copied)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(0), uint32(len(sound)), []byte(nil))            // whole
	f.Add(uint32(0), uint32(100), []byte("SQLite format 3\x00")) // cut off
	f.Add(uint32(18), uint32(len(sound)), []byte{9, 9})          // a version of the format that does not exist
	f.Add(uint32(60), uint32(len(sound)), []byte{0, 0, 0, 0})    // the mark of a copy
	f.Add(uint32(4096+5), uint32(len(sound)), []byte("garbage in a page"))
	f.Add(uint32(0), uint32(0), []byte("not a database"))
	f.Fuzz(func(t *testing.T, at, size uint32, patch []byte) {
		text := append([]byte(nil), sound[:min(int(size), len(sound))]...)
		at %= uint32(len(sound))
		if n := int(at) + len(patch); n > len(text) && n < 2*len(sound) {
			text = append(text, make([]byte, n-len(text))...)
		}
		copy(text[min(int(at), len(text)):], patch)
		dir := t.TempDir()
		from, to := filepath.Join(dir, "copy.db"), filepath.Join(dir, "fed.db")
		if err := os.WriteFile(from, text, 0o600); err != nil {
			t.Fatal(err)
		}
		report, err := store.Check(ctx, from)
		if err != nil {
			if !strings.Contains(err.Error(), from) {
				t.Errorf("check: %v does not name the file", err)
			}
		}
		if _, restored := store.Restore(ctx, from, to); restored != nil {
			if !strings.Contains(restored.Error(), dir) {
				t.Errorf("restore: %v does not name the file", restored)
			}
			if _, err := os.Stat(to); err == nil {
				t.Errorf("restore: %v, and there is a database", restored)
			}
			return
		}
		if err != nil || len(report.Faults) > 0 {
			t.Errorf("restored, although the check says: %v %v", err, report)
		}
		s, err := store.Open(ctx, store.Config{Path: to})
		if err != nil {
			if !strings.Contains(err.Error(), to) {
				t.Errorf("open: %v does not name the file", err)
			}
			return
		}
		defer s.Close()
		if _, err := s.Job(ctx, federation.FirstJobID); err != nil && err.Error() == "" {
			t.Error("an error without words")
		}
	})
}
