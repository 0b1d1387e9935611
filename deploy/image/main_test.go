package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// layout makes an image of a small tree and returns its directory.
func layout(t *testing.T, when string) string {
	t.Helper()
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"root/etc/passwd": 0o644, "bin/hello": 0o755} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("usr/lib", dir+"/root/lib"); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", when)
	i := image{layout: dir + "/out", name: "hello:v1", arch: "amd64", entrypoint: "/usr/bin/hello,now", user: "65532"}
	if err := i.make([]string{dir + "/root=/", dir + "/bin/hello=/usr/bin/hello"}); err != nil {
		t.Fatal(err)
	}
	return i.layout
}

func read[T any](t *testing.T, path string) (v T) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestLayout(t *testing.T) {
	dir := layout(t, "1000000000")
	index := read[struct{ Manifests []descriptor }](t, dir+"/index.json")
	blob := func(digest string) string { return dir + "/blobs/" + strings.ReplaceAll(digest, ":", "/") }
	manifest := read[struct{ Layers []descriptor }](t, blob(index.Manifests[0].Digest))
	out, err := exec.Command("tar", "-tvzf", blob(manifest.Layers[0].Digest)).CombinedOutput()
	for _, want := range []string{" etc/passwd", " lib -> usr/lib", " usr/bin/", " usr/bin/hello", "-rwxr-xr-x"} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%v: the layer lacks %q:\n%s", err, want, out)
		}
	}
	if other := read[struct{ Manifests []descriptor }](t, layout(t, "1000000000")+"/index.json"); other.Manifests[0].Digest != index.Manifests[0].Digest {
		t.Errorf("made twice it is %s and %s", index.Manifests[0].Digest, other.Manifests[0].Digest)
	}
	if other := read[struct{ Manifests []descriptor }](t, layout(t, "1000000001")+"/index.json"); other.Manifests[0].Digest == index.Manifests[0].Digest {
		t.Error("the time of the image does not count")
	}
}

func TestWhatIsWrong(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1")
	i := image{layout: t.TempDir() + "/out", name: "x"}
	for part, want := range map[string]string{"nosuch": "want FROM=TO", "/nosuch=/x": "no such file"} {
		if err := i.make([]string{part}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", part, err, want)
		}
	}
}
