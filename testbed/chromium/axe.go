package chromium

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// axe-core, which looks for what people with disabilities cannot use, as npm has it, and the SHA-512 of that.
const (
	axePackage   = "axe-core@4.14.1"
	axeIntegrity = "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
)

// Axe is axe-core, for [Page.Barriers]. It is not a part of this project: npm gets it. The test is skipped where there is no npm, or npm cannot get it.
func Axe(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("npm", "pack", axePackage, "--silent", "--ignore-scripts", "--pack-destination", dir)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: npm cannot get %s: %v %s", axePackage, err, out)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if len(files) != 1 {
		t.Fatalf("npm pack has left %v", files)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha512.Sum512(text); base64.StdEncoding.EncodeToString(sum[:]) != axeIntegrity {
		t.Fatalf("%s is not what it was", axePackage)
	}
	script, err := fileOf(text, "package/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	return string(script)
}

// fileOf is a file of a packed archive.
func fileOf(packed []byte, name string) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if h.Name == name {
			return io.ReadAll(r)
		}
	}
}

// Barrier is something on a page that somebody cannot use.
type Barrier struct {
	ID, Impact, Help string
	Nodes            []struct {
		HTML           string
		FailureSummary string
	}
}

func (b *Barrier) String() string {
	var where []string
	for _, n := range b.Nodes[:min(len(b.Nodes), 3)] {
		where = append(where, fmt.Sprintf("%.200s (%s)", n.HTML, strings.Join(strings.Fields(n.FailureSummary), " ")))
	}
	return fmt.Sprintf("%s (%s): %s, %d times: %s", b.ID, b.Impact, b.Help, len(b.Nodes), strings.Join(where, "; "))
}

// Barriers are what axe finds on the page.
func (p *Page) Barriers(axe string) (all []Barrier) {
	p.b.t.Helper()
	p.Eval(axe+";0", nil)
	var found string
	p.Eval(`axe.run().then((r) => JSON.stringify(r.violations))`, &found)
	p.b.must(json.Unmarshal([]byte(found), &all))
	return all
}
