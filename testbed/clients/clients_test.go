package clients

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fsub/testbed/bed"
)

// client is a program and what its script must show of it.
type client struct {
	script string // in scripts/; run by the client's own Python or R, or by sh
	pypi   string // its packages there; empty: it is Debian's
	shows  string // words in their order
}

var clients = []client{
	{"batchtools.R", "", "submit poll array fail cancel"},
	{"clustershell.sh", "", "partitions jobs states cancel"},
	{"ipyparallel.py", "", "submit poll fail cancel"},
	{"rslurm.R", "", "submit array poll depend fail cancel"},
	{"snakemake.sh", "", "submit poll depend fail cancel"},
	{"toil.py", "", "submit poll depend fail"},

	{"dask.py", "dask-jobqueue==0.9.0", "submit work poll fail cancel"},
	{"hydra.py", "hydra-core==1.3.8 hydra-submitit-launcher==1.2.0", "submit poll array fail"},
	{"parsl.py", "parsl==2026.10.26", "submit poll cancel fail"},
	{"psij.py", "psij-python==0.9.11", "submit poll fail cancel depend srun"},
	{"qtoolkit.py", "qtoolkit==0.1.7", "submit poll fail queue cancel"},
	{"reframe.sh", "reframe-hpc==4.10.4", "submit poll depend fail cancel"},
	{"simple_slurm.py", "simple-slurm==0.3.6", "submit poll fail array depend queue cancel"},
	{"snakemake9.sh", "snakemake==9.27.1 snakemake-executor-plugin-slurm==2.8.0", "submit poll depend array fail cancel"},
	{"submitit.py", "submitit==1.5.4", "submit poll fail cancel array depend"},
	{"torchx.py", "torchx==0.7.0", "submit poll fail het requeue cancel"},
}

func (c client) name() string { return strings.TrimSuffix(c.script, filepath.Ext(c.script)) }

// users take one client each at a time: scripts look at all jobs of their user.
var users = make(chan string, 3)

func init() {
	for _, u := range []string{"alice", "carol", "dave"} {
		users <- u
	}
}

// TestClients runs every client end to end.
func TestClients(t *testing.T) {
	world.Need(t)
	if testing.Short() {
		t.Skip("SKIPPED: -short: client programs are tried without it")
	}
	for _, c := range clients {
		t.Run(c.name(), func(t *testing.T) {
			t.Parallel()
			bin := c.provide(t)
			user := <-users
			defer func() { users <- user }()
			c.run(t, user, bin)
		})
	}
}

// provide returns the directory of the client's programs.
func (c client) provide(t *testing.T) string {
	args, bin := []string{"debian"}, filepath.Join(cache, "debian/usr/bin")
	if c.pypi != "" {
		if os.Getenv("FSUB_FULL") == "" {
			t.Skip("SKIPPED: needs PyPI, which a plain test run does without: run make test-full, or testbed/clients/run.sh " + c.name())
		}
		args, bin = append([]string{c.name()}, strings.Fields(c.pypi)...), filepath.Join(cache, "venv", c.name(), "bin")
	}
	out, err := exec.CommandContext(t.Context(), "./provide.sh", args...).CombinedOutput()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == 75 && (c.pypi != "" || os.Getenv("CI") == ""): // CI has what Debian has
		t.Skipf("SKIPPED: the mirror of Debian or PyPI does not give what provide.sh %v needs:\n%s", args, out)
	case err != nil:
		t.Fatalf("provide.sh %v: %v\n%s", args, err, out)
	}
	return bin
}

// run runs the client's script as a user and compares what it shows.
func (c client) run(t *testing.T, user, bin string) {
	u, err := bed.FindUser(user)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(world.Bed.Home(user), c.name())
	if err := errors.Join(os.Mkdir(dir, 0o755), os.Chown(dir, u.UID, u.UID)); err != nil {
		t.Fatal(err)
	}
	interpreter := map[string]string{".sh": "sh", ".py": "python3", ".R": "Rscript"}[filepath.Ext(c.script)] // the first of PATH
	script := filepath.Join(world.Bed.BinDir(), "scripts", "with_"+c.script)
	var out bytes.Buffer
	err = world.Bed.Exec(t.Context(), bed.Cmd{Site: bed.Login, User: user, Dir: dir, Args: []string{interpreter, script}, Stdout: &out, Stderr: &out,
		Env: []string{"PATH=" + world.Bed.BinDir() + ":" + bin + ":/usr/bin:/bin", "RHOME=" + cache + "/debian/usr/lib/R", "FSUB_SOCKET=" + world.Daemon.Socket(), "LC_ALL=C.UTF-8",
			"PYTHONDONTWRITEBYTECODE=1"}})
	var shown []string
	for line := range strings.Lines(out.String()) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "client":
			t.Log(rest)
		case "shown":
			shown = append(shown, rest)
		}
	}
	if want := strings.Fields(c.shows); err != nil || !slices.Equal(shown, want) {
		t.Fatalf("%s: %v: it has shown %v, want %v. Its directory holds:\n%s\nIt said:\n%s", script, err, shown, want, files(dir), out.String())
	}
	t.Logf("as %s: %s", user, c.shows)
}

// files are the names and the last words of what a client left.
func files(dir string) string {
	out, _ := exec.Command("sh", "-c", "cd "+dir+" && find . -type f -size -64k \\( -name '*.log' -o -name '*.out' -o -name '*.err' \\) | head -20 | xargs -r tail -n 15").CombinedOutput()
	return string(out)
}
