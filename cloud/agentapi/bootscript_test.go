package agentapi

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// fakeAgent says what it was started with, and ends.
const fakeAgent = "#!/bin/sh\necho agent \"$1\"; cat \"$2\"; exit 3\n"

// bootWorld runs boot scripts with a PATH that has the tools given, from a server that refuses the first requests.
type bootWorld struct {
	dir, tools string
	refuse     int
	url        string
}

func newBootWorld(t *testing.T, tools ...string) *bootWorld {
	t.Helper()
	w := &bootWorld{dir: t.TempDir(), tools: t.TempDir()}
	for _, tool := range append([]string{"sh", "sed", "mktemp", "cat", "chmod", "mv", "rm", "sleep", "touch"}, tools...) {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Skipf("SKIPPED: there is no %s", tool)
		}
		if out, err := exec.Command(path, "-c", "import sys; print(sys.executable)").Output(); tool == "python3" && err == nil {
			path = strings.TrimSpace(string(out)) // what is found may be a wrapper that needs more of PATH
		}
		if err := os.Symlink(path, filepath.Join(w.tools, tool)); err != nil {
			t.Fatal(err)
		}
	}
	srv := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if w.refuse > 0 {
			w.refuse--
			http.Error(rw, "not yet", http.StatusServiceUnavailable)
			return
		}
		if strings.HasPrefix(r.URL.Path, PathBinary) {
			_, _ = rw.Write([]byte(fakeAgent))
		}
	}))
	srv.Config.ErrorLog = nil
	t.Cleanup(srv.Close)
	w.url = srv.URL
	return w
}

// run returns what the script printed and whether it switched the machine off.
func (w *bootWorld) run(t *testing.T, b Boot) (out string, off bool) {
	t.Helper()
	cmd := exec.Command(filepath.Join(w.tools, "sh"), "-s")
	cmd.Stdin = strings.NewReader(b.Script())
	cmd.Env = []string{"PATH=" + w.tools, "TMPDIR=" + w.dir, "FSUB_RETRY=0", "FSUB_POWEROFF=touch " + w.dir + "/off"}
	text, _ := cmd.CombinedOutput()
	_, err := os.Stat(filepath.Join(w.dir, "off"))
	if left, _ := filepath.Glob(filepath.Join(w.dir, "fsub-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	return string(text), err == nil
}

func (w *bootWorld) boot() Boot {
	sum := sha256.Sum256([]byte(fakeAgent))
	return Boot{URL: w.url, Token: "t'$(touch /nowhere)`\\", Agent: hex.EncodeToString(sum[:]), PowerOff: true}
}

func TestBootScriptStartsTheAgent(t *testing.T) {
	for name, tools := range map[string][]string{
		"curl":    {"curl", "sha256sum"},
		"wget":    {"wget", "sha256sum"},
		"python3": {"python3"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newBootWorld(t, tools...)
			w.refuse = 2
			b := w.boot()
			out, off := w.run(t, b)
			if want := "agent -boot\n" + string(b.Lines()) + "fsub: the agent ended: 3\n"; !strings.HasSuffix(out, want) || !off {
				t.Errorf("off %v, printed %q, want %q", off, out, want)
			}
		})
	}
}

func TestBootScriptRunsNothingElse(t *testing.T) {
	w := newBootWorld(t, "curl", "sha256sum")
	b := w.boot()
	b.Agent = strings.Repeat("0", 64)
	out, off := w.run(t, b)
	if strings.Contains(out, "agent -boot") || !strings.Contains(out, "not the agent") || !strings.Contains(out, "has no agent") || !off {
		t.Errorf("off %v, printed %q", off, out)
	}
}

func TestBootScriptGivesUp(t *testing.T) {
	w := newBootWorld(t, "curl", "sha256sum")
	w.refuse = 1 << 30
	b := w.boot()
	if out, off := w.run(t, b); !strings.Contains(out, "has no agent") || !off {
		t.Errorf("off %v, printed %q", off, out)
	}
	w = newBootWorld(t)
	if out, off := w.run(t, w.boot()); !strings.Contains(out, "neither curl nor wget nor python3") || !off {
		t.Errorf("off %v, printed %q", off, out)
	}
}

func TestBootScriptUsesTheAgentThatIsThere(t *testing.T) {
	w := newBootWorld(t)
	path := filepath.Join(t.TempDir(), "agent")
	if err := os.WriteFile(path, []byte(fakeAgent), 0o755); err != nil {
		t.Fatal(err)
	}
	b := Boot{Path: path}
	if out, off := w.run(t, b); !strings.HasPrefix(out, "agent -boot\npath="+path) || off {
		t.Errorf("off %v, printed %q", off, out)
	}
}

func TestBootScriptIsSmall(t *testing.T) {
	b := Boot{URL: strings.Repeat("u", 300), Token: strings.Repeat("t", 300), Pin: strings.Repeat("p", 44), Agent: strings.Repeat("a", 64), Instance: strings.Repeat("i", 300)}
	if n := len(b.Script()); n >= 16<<10 {
		t.Errorf("%d bytes, EC2 takes 16384", n)
	}
}

// Of several daemons one serves the agent.
func TestBootScriptAsksAllDaemons(t *testing.T) {
	w := newBootWorld(t, "curl", "sha256sum")
	b := w.boot()
	b.URL = "https://127.0.0.1:1," + w.url + ",https://127.0.0.1:2"
	if out, off := w.run(t, b); !strings.Contains(out, "agent -boot") || !off {
		t.Errorf("off %v, printed %q", off, out)
	}
}
