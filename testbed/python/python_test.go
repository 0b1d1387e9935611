package python

import (
	"bytes"
	"context"
	"flag"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the client's models anew")

const source = "../../python"

// TestClient runs the client's own tests with each Python, on the wheel as it is installed.
func TestClient(t *testing.T) {
	wheel := built(t, "*client*.whl")
	for version := range pythons {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			p := interpreterOf(t, version)
			d := startDaemon(t, p)
			v := newVenv(t, p, wheel+"[callable]", "pytest")
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(source+"/tests")); err != nil {
				t.Fatal(err)
			}
			out, err := v.run(dir, d.environment(), "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", ".")
			t.Logf("%s", out)
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPlugins runs what is built on the client: PSI/J's executor, and with FSUB_FULL Snakemake's own tests for executors.
func TestPlugins(t *testing.T) {
	client := built(t, "*client*.whl")
	upstream := os.Getenv("FSUB_PSIJ") // a checkout of psij-python of that version: its sdist has not all that its tests need
	for name, c := range map[string]struct {
		packages []string
		tests    string // a folder
		args     []string
		why      string // not to run it; "": none
	}{
		"psij": {packages: []string{"psij-python==0.9.11"}, tests: source + "/psij/tests"},
		"psij_upstream": {packages: []string{"psij-python==0.9.11", "filelock", "requests"}, tests: upstream, why: unless(upstream != "", "FSUB_PSIJ names no checkout of psij-python"),
			args: []string{"--executors=fsub", "tests/test_executor.py", "tests/test_callbacks.py", "tests/test_wait.py", "tests/test_nodefile.py", "tests/test_resources.py", "tests/user_guide"}},
		"snakemake": {packages: []string{"snakemake==9.27.1", "snakemake-storage-plugin-fs"}, tests: source + "/snakemake/tests", why: unless(os.Getenv("FSUB_FULL") != "", "takes minutes: with FSUB_FULL=1")},
	} {
		t.Run(name, func(t *testing.T) {
			if c.why != "" {
				t.Skip("SKIPPED: " + c.why)
			}
			t.Parallel()
			plugin := built(t, strings.TrimSuffix(name, "_upstream")+"*.whl")
			d := startDaemon(t, own(t))
			v := newVenv(t, own(t), append(c.packages, client, plugin, "pytest")...)
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(c.tests)); err != nil {
				t.Fatal(err)
			}
			out, err := v.run(dir, append(d.environment(), "HOME="+dir), append([]string{"-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore"}, c.args...)...)
			if t.Logf("%s", out); err != nil {
				t.Error(err)
			}
		})
	}
}

func unless(met bool, why string) string {
	if met {
		return ""
	}
	return why
}

// TestSdist: what is built from the sdist is the client, and brings nothing else.
func TestSdist(t *testing.T) {
	t.Parallel()
	sdist := built(t, "*client*.tar.gz")
	p := own(t)
	v := newVenv(t, p, sdist)
	out, err := v.run(t.TempDir(), nil, "-c", "import fsub_client, importlib.metadata as m; print(fsub_client.Client, sorted(d.name for d in m.distributions()))")
	if want := "<class 'fsub_client._client.Client'> ['fsub-client', 'pip', 'setuptools']"; err != nil || strings.TrimSpace(strings.Replace(string(out), "'pip']", "'pip', 'setuptools']", 1)) != want {
		t.Errorf("%v: %s, want %s", err, out, want)
	}
}

// TestTypes: mypy and pyright find nothing, for the oldest Python, and with FSUB_FULL for the newest.
func TestTypes(t *testing.T) {
	t.Parallel()
	p := own(t)
	v := newVenv(t, p, built(t, "*client*.whl")+"[callable]", "mypy", "pytest", "pyright[nodejs]")
	versions := []string{"3.10"} // the oldest that mypy still knows
	if os.Getenv("FSUB_FULL") != "" {
		versions = append(versions, "3.14")
	}
	for _, version := range versions {
		if out, err := v.run(source, nil, "-m", "mypy", "--python-version", version, "--no-incremental", "--cache-dir", os.DevNull); err != nil {
			t.Errorf("mypy for Python %s: %v\n%s", version, err, out)
		}
	}
	versions[0] = "3.9"
	for _, version := range versions {
		if out, err := v.run(source, nil, "-m", "pyright", "--pythonversion", version, "--pythonpath", v.python); err != nil {
			t.Errorf("pyright for Python %s: %v\n%s", version, err, out)
		}
	}
}

// TestModels: the client's models are those of the daemon's document.
func TestModels(t *testing.T) {
	d := startDaemon(t, own(t))
	document, err := exec.Command("curl", "-sf", "--unix-socket", d.socket, "http://fsub/fed/v1/openapi.json").Output()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(own(t).path, source+"/tools/models.py")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(document), os.Stderr
	want, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	const models = source + "/src/fsub_client/models.py"
	if *update {
		if err := os.WriteFile(models, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(models); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what the daemon's types come to (%v): go test ./testbed/python -run TestModels -update", filepath.Clean(models), err)
	}
}

// TestConformance asks for what schemathesis makes of the daemon's document: no answer is one that the document does not allow. Only what changes nothing is asked.
func TestConformance(t *testing.T) {
	if os.Getenv("FSUB_FULL") == "" {
		t.Skip("SKIPPED: takes minutes: with FSUB_FULL=1")
	}
	d := startDaemon(t, own(t))
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", d.socket)
	}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "fsub" },
		Transport: &http.Transport{DialContext: dial, DisableCompression: true},
	})
	defer server.Close()
	v := newVenv(t, own(t), "schemathesis==4.32.5")
	args := []string{"-m", "schemathesis.cli", "run", server.URL + "/fed/v1/openapi.json", "--url", server.URL, "--max-examples", "15", "--phases", "fuzzing,coverage", "--request-timeout", "20",
		"--checks", "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"}
	for _, which := range [][]string{
		{"--include-method", "GET", "--exclude-path-regex", "events|tunnel|wait|queue"}, // what does not end, and what is binary
		{"--include-path", "/fed/v1/jobs/states"},
	} {
		out, err := v.run(t.TempDir(), nil, append(args, which...)...)
		if t.Logf("%s", out[max(0, len(out)-600):]); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

// TestDocs runs the programs of the pages, those of one page in one directory, with the scripts that stand there.
func TestDocs(t *testing.T) {
	t.Parallel()
	v := newVenv(t, own(t), built(t, "*client*.whl")+"[callable]")
	d := startDaemon(t, own(t))
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	programs := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		for _, b := range block.FindAllSubmatch(text, -1) {
			if string(b[1]) == "bash" {
				if err := os.WriteFile(filepath.Join(dir, string(b[2])), b[3], 0o644); err != nil {
					t.Fatal(err)
				}
				continue
			}
			programs++
			if out, err := v.run(dir, d.environment(), "-c", string(b[3])); err != nil {
				t.Errorf("%s: %v\n%s%s", filepath.Base(page), err, b[3], out)
			} else {
				t.Logf("%s", out)
			}
		}
	}
	if programs < 5 {
		t.Errorf("only %d programs", programs)
	}
}

var block = regexp.MustCompile("(?sm)^```(python|bash) ?(\\S*)\n(.*?)^```$")
