package staging_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fsub/accounting/egress"
	"fsub/federation"
	"fsub/federation/staging"
	"fsub/federation/staging/blobs"
	"fsub/federation/staging/blobs/s3test"
	"fsub/sbatch"
)

const mib = 1 << 20

// inPieces is a job that keeps ck, in copies that are cut into pieces of a MiB.
func inPieces(t *testing.T, o staging.Objects) *keeping {
	k := &keeping{newWorld(t), &sbatch.Fed{Keep: []string{"ck"}}}
	if o == nil {
		o = k.store
	}
	k.stager = k.newStager(o, func(c *staging.Config) { c.Max, c.Piece = 8*mib, mib })
	return k
}

// writes is a script that keeps so many random bytes, and fails.
func writes(t *testing.T, size int) (script, sum string) {
	file := filepath.Join(t.TempDir(), "data")
	data := make([]byte, size)
	rand.NewChaCha8([32]byte{byte(size)}).Read(data)
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return "#!/bin/sh\nmkdir -p ck\ncp " + file + " ck/data\nexit 1\n", fmt.Sprintf("%x", sha256.Sum256(data))
}

const sums = "#!/bin/sh\nset -- $(sha256sum ck/data)\necho $1\n"

// TestKeptInPieces: a copy of several pieces comes back as it was, by each of the tools that a node may have, and through a store in a cloud; with openssl and without.
func TestKeptInPieces(t *testing.T) {
	for _, tool := range []string{"curl", "python3", "wget", "s3 curl"} {
		t.Run(tool, func(t *testing.T) {
			var o staging.Objects
			tool, inCloud := strings.CutPrefix(tool, "s3 ")
			if !inCloud {
				t.Parallel()
			} else { // it sets variables
				s3, err := blobs.Open(t.Context(), blobs.Config{URL: s3test.Start(t)})
				if err != nil {
					t.Fatal(err)
				}
				defer s3.Close()
				o = s3
			}
			k := inPieces(t, o)
			with := tools(t, tool+" cp mv find stat date mkfifo tee dd cut") // and no openssl
			script, sum := writes(t, 3*mib+77_777)
			sub, a := k.attempt(script)
			usual := "_fsub_bin=/usr/local/bin:/usr/bin:/bin"
			sub.Payload.Script = strings.Replace(sub.Payload.Script, usual, "_fsub_bin="+with, 1)
			n := k.start(sub, 0)
			if got := n.wait(); got != "1" || n.readNode(n) != "" {
				t.Fatalf("%s: %s", got, n.readNode(n))
			}
			if got := k.saved(a); got.Bytes < 3*mib {
				t.Errorf("%+v", got)
			}
			sub, a = k.attempt(sums)
			if inCloud { // with openssl
				with = "/usr/local/bin:/usr/bin:/bin"
			}
			sub.Payload.Script = strings.Replace(sub.Payload.Script, usual, "_fsub_bin="+with, 1)
			n = k.start(sub, 0)
			if got := n.wait(); got != "0" || k.out(a) != sum+"\n" {
				t.Errorf("%s: %q, not %s: %s", got, k.out(a), sum, n.readNode(n))
			}
			j, _ := k.job("", k.fed)
			if err := k.stager.Link(t.Context(), federation.Submission{Job: j, Payload: k.payload, Key: "fsub:test:30000001.3.abc"}, func(string) bool { return true }); err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprintf("%x", sha256.Sum256([]byte(k.read("ck/data")))); got != sum {
				t.Errorf("at home: %s", got)
			}
		})
	}
}

// TestPiecesAreNotSentTwice: where the store fails in the middle of a copy, the next try of the same files begins there.
func TestPiecesAreNotSentTwice(t *testing.T) {
	t.Parallel()
	k := inPieces(t, nil)
	sent := map[string]int{}
	refuse := func(r *http.Request) bool {
		obj := r.URL.Query().Get("obj")
		_, piece, ok := strings.Cut(obj, "/keep.")
		if r.Method != "PUT" || !ok || strings.Count(piece, ".") != 2 {
			return false
		}
		sent[piece[len(piece)-1:]]++
		return strings.HasSuffix(piece, ".2") && sent["2"] < 3
	}
	k.refuse.Store(&refuse)
	script, sum := writes(t, 3*mib+1)
	sub, _ := k.attempt(script)
	k.start(sub, 0).wait()
	k.refuse.Store(nil)
	if got := fmt.Sprint(sent); got != "map[0:1 1:1 2:3 3:1]" {
		t.Errorf("sent %s", got)
	}
	sub, a := k.attempt(sums)
	n := k.start(sub, 0)
	if got := n.wait(); got != "0" || k.out(a) != sum+"\n" {
		t.Errorf("%s: %q, not %s", got, k.out(a), sum)
	}
}

// TestLostWordOfACopy: where the store has the word which copy counts, but its answer is lost, that copy is not written over by the next.
func TestLostWordOfACopy(t *testing.T) {
	t.Parallel()
	k := inPieces(t, nil)
	over := make(chan bool, 1)
	marks := 0
	refuse := func(r *http.Request) bool {
		_, name, ok := strings.Cut(r.URL.Query().Get("obj"), "/keep.")
		if r.Method != "PUT" || !ok {
			return false
		}
		if !strings.Contains(name, ".") {
			if marks++; marks == 1 {
				text, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(bytes.NewReader(text))
				if err := k.store.Put(r.Context(), r.URL.Query().Get("obj"), bytes.NewReader(text)); err != nil {
					t.Error(err)
				}
				k.write("go", "") // now the files change
				return true
			}
		}
		if marks > 0 && strings.HasSuffix(name, ".1") { // the second copy breaks off after its first piece
			select {
			case over <- true:
			default:
			}
			return true
		}
		return false
	}
	k.refuse.Store(&refuse)
	fill := func(c string) string { return "head -c 1500000 /dev/zero | tr '\\0' " + c + " >ck/data" }
	sub, _ := k.attempt("#!/bin/bash\nmkdir ck\n" + fill("1") + "\nfor i in {1..600}; do [ -e " + k.dir + "/go ] && " + fill("2") + " && break; sleep 0.1; done\nfor i in {1..600}; do sleep 0.1; done\n")
	n := k.start(sub, 0)
	<-over
	n.kill()
	k.refuse.Store(nil)
	sub, a := k.attempt("#!/bin/sh\nwc -c <ck/data\ntr -d 1 <ck/data\n")
	n = k.start(sub, 0)
	if got := n.wait(); got != "0" || k.out(a) != "1500000\n" {
		t.Errorf("%s: %q: %s", got, k.out(a), n.readNode(n))
	}
}

// saves runs an attempt that keeps so many bytes.
func (k *keeping) saves(size int) (sum string) {
	k.Helper()
	script, sum := writes(k.T, size)
	sub, a := k.attempt(script)
	k.start(sub, 0).wait()
	k.saved(a)
	return sum
}

// spoil does something to the second piece of the copy of each attempt whose key has a word; nil: it removes that.
func (k *keeping) spoil(attempt string, change func([]byte) []byte) {
	k.Helper()
	var keys []string
	err := k.store.List(k.Context(), "", func(key string, _ time.Time) error {
		if _, name, ok := strings.Cut(key, "/keep."); ok && strings.Count(name, ".") == 2 && strings.HasSuffix(name, ".1") && strings.Contains(key, attempt) {
			keys = append(keys, key)
		}
		return nil
	})
	if err != nil || len(keys) == 0 {
		k.Fatal(keys, err)
	}
	for _, key := range keys {
		if change == nil {
			err = k.store.Delete(k.Context(), key)
		} else {
			text, e := k.readObject(key)
			if err = e; err == nil {
				err = k.store.Put(k.Context(), key, bytes.NewReader(change(text)))
			}
		}
		if err != nil {
			k.Fatal(err)
		}
	}
}

func (k *keeping) readObject(key string) ([]byte, error) {
	r, err := k.store.Get(k.Context(), key, 0, -1)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

func flip(text []byte) []byte { text[len(text)/2]++; return text }
func half(text []byte) []byte { return text[:len(text)/2] }

// TestDamagedCopy: a copy that is not what was saved, or of which some is missing, starts no job, on a node and at home; nothing of it gets into the job's directory. The job
// begins without one when it is let go.
func TestDamagedCopy(t *testing.T) {
	for name, change := range map[string]func([]byte) []byte{"changed": flip, "shorter": half, "missing": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := inPieces(t, nil)
			k.saves(2 * mib)
			k.spoil("", change)
			sub, a := k.attempt("#!/bin/sh\necho it runs\n")
			n := k.start(sub, 0)
			if got := n.wait(); got != "1" || !strings.Contains(k.out(a), "no copy of what was saved is whole") || strings.Contains(k.out(a), "it runs") {
				t.Errorf("on a node: %s: %s", got, k.out(a))
			}
			j, _ := k.job("", k.fed)
			err := k.stager.Link(t.Context(), federation.Submission{Job: j, Payload: k.payload, Key: "fsub:test:30000001.9.abc"}, func(string) bool { return true })
			if !errors.Is(err, egress.ErrDamaged) || k.read("ck/data") != "" {
				t.Errorf("at home: %v, and %d bytes are there", err, len(k.read("ck/data")))
			}
			if _, _, err := k.stager.Collect(t.Context(), j, a, federation.SiteJob{}); !errors.Is(err, egress.ErrDamaged) {
				t.Errorf("collected: %v", err)
			}
			k.write("ck/data", "at home")
			sub, a = k.attempt("#!/bin/sh\ncat ck/data\n")
			n = k.start(sub, 0)
			if got := n.wait(); got != "0" || k.out(a) != "at home" {
				t.Errorf("let go: %s: %s", got, k.out(a))
			}
		})
	}
}

// TestTheCopyBefore: where the newest copy is damaged the one before is used, of the same attempt or of an earlier one, and the history says so.
func TestTheCopyBefore(t *testing.T) {
	t.Run("of an earlier attempt", func(t *testing.T) {
		t.Parallel()
		k := inPieces(t, nil)
		k.saves(2 * mib)
		first := k.saves(3 * mib)
		k.saves(4 * mib)
		k.spoil("/3.abc/", flip)
		j, _ := k.job("", k.fed)
		k.beginsWith(first, j)
		if err := k.stager.Link(t.Context(), federation.Submission{Job: j, Payload: k.payload, Key: "fsub:test:30000001.9.abc"}, func(string) bool { return true }); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256([]byte(k.read("ck/data")))); got != first {
			t.Errorf("at home: %s, not %s", got, first)
		}
	})
	t.Run("of the same attempt", func(t *testing.T) {
		t.Parallel()
		k := inPieces(t, nil)
		script, first := writes(t, 2*mib)
		script = strings.Replace(script, "exit 1", "while [ ! -e "+k.dir+"/go ]; do sleep 0.1; done; head -c 3000000 /dev/zero >ck/data; exit 1", 1)
		sub, a := k.attempt(script)
		n := k.start(sub, 0)
		was := k.saved(a).Bytes
		k.write("go", "")
		n.wait()
		if got := k.saved(a).Bytes; got == was {
			t.Fatal("it was saved once")
		}
		k.spoil(".1.1", flip) // what was saved second
		j, _ := k.job("", k.fed)
		k.beginsWith(first, j)
	})
}

// beginsWith runs an attempt that finds the older copy.
func (k *keeping) beginsWith(sum string, j *federation.Job) {
	k.Helper()
	sub, a := k.attempt(sums)
	n := k.start(sub, 0)
	if got := n.wait(); got != "0" || !strings.Contains(k.out(a), sum) || !strings.Contains(k.out(a), "the one before is used") {
		k.Errorf("%s: %s, want %s", got, k.out(a), sum)
	}
	notes, _, err := k.stager.Collect(k.Context(), j, a, federation.SiteJob{})
	if err != nil || !strings.Contains(strings.Join(notes, "\n"), "it began with the one before") {
		k.Errorf("%q, %v", notes, err)
	}
}
