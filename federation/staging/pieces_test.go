package staging_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
			with := tools(t, tool+" cp find stat date mkfifo tee dd cut") // and no openssl
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

// TestDamagedCopy: a copy that is not what was saved starts no job.
func TestDamagedCopy(t *testing.T) {
	t.Parallel()
	k := inPieces(t, nil)
	script, _ := writes(t, 2*mib)
	sub, a := k.attempt(script)
	k.start(sub, 0).wait()
	k.saved(a)
	err := k.store.List(t.Context(), "", func(key string, _ time.Time) error {
		if strings.HasSuffix(key, ".1.0") || strings.HasSuffix(key, ".0.0") {
			r, err := k.store.Get(t.Context(), key, 0, -1)
			if err != nil {
				return err
			}
			text, err := io.ReadAll(r)
			r.Close()
			if err != nil {
				return err
			}
			text[mib/2]++
			return k.store.Put(t.Context(), key, bytes.NewReader(text))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	sub, a = k.attempt("#!/bin/sh\necho it runs\n")
	n := k.start(sub, 0)
	if got := n.wait(); got != "1" || !strings.Contains(k.out(a), "is not the one that was saved") || strings.Contains(k.out(a), "it runs") {
		t.Errorf("on a node: %s: %s", got, k.out(a))
	}
	j, _ := k.job("", k.fed)
	err = k.stager.Link(t.Context(), federation.Submission{Job: j, Payload: k.payload, Key: "fsub:test:30000001.3.abc"}, func(string) bool { return true })
	if err == nil || !strings.Contains(err.Error(), "is not the one that was saved") {
		t.Errorf("at home: %v", err)
	}
}
