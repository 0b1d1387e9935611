package containers

import (
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// knows has podman of the world's jobs reach a registry without TLS, with its password or without.
func (w *world) knows(t *testing.T, r *registry, password bool) {
	t.Helper()
	dir := filepath.Join(w.dir, ".config", "containers")
	auths := "{}"
	if password {
		auths = fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, r.addr, base64.StdEncoding.EncodeToString([]byte(r.user+":"+r.password)))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, own := range []string{w.dir, filepath.Dir(dir), dir} { // podman writes below the user's home
		if err := os.Chown(own, w.uid, -1); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"registries.conf": fmt.Sprintf("[[registry]]\nlocation = %q\ninsecure = true\n", r.addr), "auth.json": auths} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPull: images of a registry. Machines are on this one's network, where the registry is.
func TestPull(t *testing.T) {
	containertestNeeds(t)
	w := newWorld(t, "host")
	t.Run("fetched", w.tryFetched)
	t.Run("refused", w.tryRefused)
	t.Run("slow", w.trySlow)
}

// tryFetched: an image is fetched once for all of a step's tasks, and not again for the next job, with the user's credentials.
func (w *world) tryFetched(t *testing.T) {
	r := newRegistry(t, filepath.Join(w.dir, "tiny"), false)
	w.knows(t, r, true)
	image := r.addr + "\\#lab/tiny:1"
	script := "#SBATCH --container-image=docker://" + image + "\necho $COLOR; pwd; cat /etc/os-release\n"
	const want = "pyxis: importing docker image: docker://ADDR#lab/tiny:1\npyxis: imported docker image: docker://ADDR#lab/tiny:1\nregistry\n/work\nPRETTY_NAME=\"Tiny\"\n"
	if out, words, code := w.submit(t, script, "--wait"); strings.ReplaceAll(out, r.addr, "ADDR") != want || code != 0 {
		t.Errorf("%d, %q; %s", code, out, words)
	}
	if n := r.fetched.Load(); n != 1 {
		t.Errorf("its layer was fetched %d times", n)
	}
	var both sync.WaitGroup
	for _, name := range []string{"one", "two"} { // on one machine, at once
		both.Go(func() {
			t.Run(name, func(t *testing.T) {
				out, words, code := w.submit(t, "#SBATCH -M boxes -c1\nsrun -n2 --overcommit --container-image="+strings.ReplaceAll(image, `\`, "")+" sh -c 'echo $COLOR' 2>/dev/null\n", "--wait")
				if out != "registry\nregistry\n" || code != 0 {
					t.Errorf("%d, %q; %s", code, out, words)
				}
			})
		})
	}
	both.Wait()
	if n := r.fetched.Load(); n > 2 { // at most once by the other machine of the pool
		t.Errorf("its layer was fetched %d times", n)
	}
}

// tryRefused: what the registry says is the error, in one line, in pyxis' words.
func (w *world) tryRefused(t *testing.T) {
	r := newRegistry(t, filepath.Join(w.dir, "tiny"), false)
	for _, c := range []struct {
		name, image, want string
		password          bool
	}{
		{"denied", "lab/tiny:1", "reading manifest 1 in ADDR/lab/tiny: unauthorized", false},
		{"no tag", "lab/tiny:2", "reading manifest 2 in ADDR/lab/tiny: manifest unknown", true},
		{"no image", "lab/none:1", "reading manifest 1 in ADDR/lab/none: manifest unknown", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.knows(t, r, c.password)
			out, words, code := w.submit(t, "#SBATCH --container-image="+r.addr+"\\#"+c.image+"\necho on\n", "--wait")
			tag := strings.Replace(c.image, ":", "/", 1)
			tag = tag[strings.LastIndex(tag, "/")+1:]
			name := strings.TrimSuffix(c.image, ":"+tag)
			want := "pyxis: importing docker image: ADDR#" + c.image + "\nslurmstepd: error: pyxis: failed to import docker image: ADDR#" + c.image + ": exit status 125\n" +
				"slurmstepd: error: pyxis: printing podman log file:\nslurmstepd: error: pyxis:     Error: initializing source docker://ADDR/" + name + ":" + tag + ": " + c.want + "\n"
			if got := strings.ReplaceAll(out, r.addr, "ADDR"); got != want || code != 1 {
				t.Errorf("%d, %q, want %q; %s", code, got, want, words)
			}
		})
	}
}

// trySlow: who waits for an image is ended by scancel, in a script's container and in a step's, and nobody goes on to fetch it. No command line has the password meanwhile.
func (w *world) trySlow(t *testing.T) {
	for name, script := range map[string]string{"script": "#SBATCH --container-image=IT\ntrue\n", "step": "#SBATCH -M boxes\nsrun --container-image=IT true\n"} {
		t.Run(name, func(t *testing.T) {
			r := newRegistry(t, filepath.Join(w.dir, "tiny"), true)
			t.Cleanup(func() { close(r.hold) }) // before the server ends, which waits for it
			w.knows(t, r, true)
			image := r.addr + "#lab/tiny:1"
			if name == "script" {
				image = strings.ReplaceAll(image, "#", `\#`)
			}
			_, words, code := w.submit(t, strings.ReplaceAll(script, "IT", image))
			if code != 0 {
				t.Fatal(words)
			}
			w.until(t, "the layer is asked for", func() bool { return isClosed(r.asked) })
			during := w.podmans()
			secret := base64.StdEncoding.EncodeToString([]byte(r.user + ":" + r.password))
			if len(during) == 0 || slices.ContainsFunc(during, func(s string) bool { return strings.Contains(s, r.password) || strings.Contains(s, secret) }) {
				t.Errorf("meanwhile there run %q", during)
			}
			if out, err := w.command("scancel", strings.Fields(words)[3]).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			w.until(t, "nobody fetches it", func() bool { return len(w.podmans()) == 0 })
			w.until(t, "its folders are gone", func() bool {
				left, _ := filepath.Glob(w.dir + "/state-machines/*/*/run/*")
				return len(left) == 0
			})
		})
	}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// podmans are the command lines of those who work on the world's images.
func (w *world) podmans() (out []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		text, _ := os.ReadFile(file)
		if line := strings.ReplaceAll(string(text), "\x00", " "); strings.HasPrefix(line, "podman ") && strings.Contains(line, w.dir) {
			out = append(out, line)
		}
	}
	return out
}

func containertestNeeds(t *testing.T) {
	t.Helper()
	for _, p := range []string{"podman", "tar"} {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("SKIPPED: there is no %s: make test installs it", p)
		}
	}
}
