package clients

import (
	"context"
	"encoding/xml"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/testbed/bed"
)

// own are tests that a client has of itself, run by pytest with the plug-in scripts/own_NAME.py.
type own struct {
	client
	checkout string // names an environment variable: where the client's sources are, if its package does not have its tests
	args     string
	also     string // arguments for a run with what fsub has for this client
}

var owns = []own{
	{client: client{script: "submitit.py", from: "submitit==1.5.4 pytest pytest-asyncio"}, args: "--pyargs submitit"},
	{client: client{script: "psij.py", from: "psij-python==0.9.11 pytest filelock requests"}, checkout: "FSUB_PSIJ",
		args: psijTests + " --executors=slurm,slurm:multiple,slurm:srun", also: psijTests + " --executors=fsub"},
}

const psijTests = "tests/test_executor.py tests/test_callbacks.py tests/test_wait.py tests/test_nodefile.py tests/test_resources.py tests/test_mpi.py tests/user_guide --branch-name-override=main" +
	" --deselect tests/user_guide/test_attach.py --deselect tests/user_guide/test_redirect.py" // of the executor for one machine: they fail there

// TestOwn runs clients' own tests with our commands and, at the same time, with those of a site: what passes there passes with ours.
func TestOwn(t *testing.T) {
	world.Need(t)
	for _, o := range owns {
		t.Run(o.name(), func(t *testing.T) {
			t.Parallel()
			tests := ""
			if o.checkout != "" {
				if tests = os.Getenv(o.checkout); tests == "" {
					t.Skipf("SKIPPED: %s names no checkout of %s: its package does not have its tests", o.checkout, o.from)
				}
			}
			bin := o.provide(t)
			var ours, theirs map[string]string
			t.Run("run", func(t *testing.T) {
				t.Run("alpha", func(t *testing.T) { t.Parallel(); theirs = o.test(t, "alpha", bin, tests, o.args) })
				t.Run("fsub", func(t *testing.T) { t.Parallel(); ours = o.test(t, bed.Login, bin, tests, o.args) })
				if o.also != "" {
					t.Run("plug-in", func(t *testing.T) {
						t.Parallel()
						for name, what := range o.test(t, bed.Login, bin, tests, o.also) {
							if what != "passed" && what != "skipped" {
								t.Errorf("%s: %s", name, what)
							}
						}
					})
				}
			})
			for _, name := range slices.Sorted(maps.Keys(theirs)) {
				switch mine := ours[name]; {
				case theirs[name] == "passed" && mine != "passed":
					t.Errorf("%s passes at a site, and with our commands it does not: %s", name, mine)
				case theirs[name] != "passed" && mine == "passed":
					t.Logf("%s passes with our commands only", name)
				case theirs[name] != "passed" && theirs[name] != "skipped":
					t.Logf("%s fails at a site, too", name)
				}
			}
		})
	}
}

// test runs the tests and returns the result of each.
func (o own) test(t *testing.T, where, bin, sources, args string) map[string]string {
	user := <-users
	defer func() { users <- user }()
	u, err := bed.FindUser(user)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(world.Bed.Home(user), "own-"+o.name()+"-"+filepath.Base(t.Name()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{"../../python/src", "../../python/psij/src"} {
		err = errors.Join(err, os.CopyFS(filepath.Join(dir, "python"), os.DirFS(from)))
	}
	if sources != "" {
		err = errors.Join(err, os.CopyFS(filepath.Join(dir, "tests"), os.DirFS(filepath.Join(sources, "tests"))))
	}
	if err == nil {
		err = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(path, u.UID, u.UID))
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	scripts := filepath.Join(world.Bed.BinDir(), "scripts")
	env := []string{"PYTHONDONTWRITEBYTECODE=1", "LC_ALL=C.UTF-8", "PYTHONPATH=" + scripts + ":" + filepath.Join(dir, "python"), "USER=" + user, "LOGNAME=" + user}
	if where == bed.Login {
		env = append(env, "PATH="+world.Bed.BinDir()+":"+bin+":/usr/bin:/bin", "FSUB_SOCKET="+world.Daemon.Socket())
	} else {
		env = append(env, "PATH="+bin+":/usr/bin:/bin")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	words := append([]string{"python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "own_" + o.name(), "-W", "ignore", "--basetemp=tmp", "--junitxml=results.xml"}, strings.Fields(args)...)
	var out strings.Builder
	err = world.Bed.Exec(ctx, bed.Cmd{Site: where, User: user, Dir: dir, Args: words, Stdout: &out, Stderr: &out, Env: env})
	var exit *exec.ExitError
	text, readErr := os.ReadFile(filepath.Join(dir, "results.xml"))
	if err != nil && !errors.As(err, &exit) || readErr != nil {
		t.Fatalf("%s\n%v: %v", &out, err, readErr)
	}
	results, err := resultsOf(text)
	if err != nil || len(results) == 0 {
		t.Fatalf("%s\nno results: %v", &out, err)
	}
	count := map[string]int{}
	for _, what := range results {
		count[what]++
	}
	t.Logf("%s\nas %s: %d passed, %d failed, %d skipped", &out, user, count["passed"], count["failed"], count["skipped"])
	return results
}

// resultsOf reads pytest's report.
func resultsOf(report []byte) (map[string]string, error) {
	var suites struct {
		Cases []struct {
			Class   string    `xml:"classname,attr"`
			Name    string    `xml:"name,attr"`
			Failure *struct{} `xml:"failure"`
			Error   *struct{} `xml:"error"`
			Skipped *struct{} `xml:"skipped"`
		} `xml:"testsuite>testcase"`
	}
	if err := xml.Unmarshal(report, &suites); err != nil {
		return nil, err
	}
	results := map[string]string{}
	for _, c := range suites.Cases {
		what := "passed"
		switch {
		case c.Failure != nil || c.Error != nil:
			what = "failed"
		case c.Skipped != nil:
			what = "skipped"
		}
		results[c.Class+"."+c.Name] = what
	}
	return results, nil
}
