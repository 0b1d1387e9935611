package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestImagesRun makes the images as make image does, unpacks them, and runs each program in what is there: with its own C library, and nothing of this machine.
func TestImagesRun(t *testing.T) {
	bin := os.Getenv("FSUB_BIN")
	if bin == "" || os.Geteuid() != 0 {
		t.Skip("SKIPPED: FSUB_BIN does not say where the programs are, or you are not root, who may change the root directory")
	}
	out := t.TempDir()
	if text, err := exec.Command("./make.sh", "go", out).CombinedOutput(); err != nil {
		t.Fatalf("make.sh: %v\n%s", err, text)
	}
	for name, call := range map[string][]string{"fed": {"/usr/sbin/fed", "version"}, "fed-agent": {"/usr/sbin/fed-agent"}} {
		archives, err := filepath.Glob(filepath.Join(out, name+"-image-*.tar"))
		if err != nil || len(archives) != 1 {
			t.Fatalf("%v: %v", archives, err)
		}
		layout, root := t.TempDir(), t.TempDir()
		unpack(t, archives[0], layout)
		index := read[struct{ Manifests []descriptor }](t, layout+"/index.json")
		blob := func(digest string) string { return layout + "/blobs/" + strings.ReplaceAll(digest, ":", "/") }
		for _, l := range read[struct{ Layers []descriptor }](t, blob(index.Manifests[0].Digest)).Layers {
			unpack(t, blob(l.Digest), root)
		}
		text, _ := exec.Command("chroot", append([]string{"--userspec=65532:0", root}, call...)...).CombinedOutput()
		if want := map[string]string{"fed": "database schema", "fed-agent": "fed-agent: error: usage: "}[name]; !strings.Contains(string(text), want) {
			t.Errorf("%s: %q, want %q", name, text, want)
		}
	}
}

func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	if out, err := exec.Command("tar", "-xf", archive, "-C", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}
