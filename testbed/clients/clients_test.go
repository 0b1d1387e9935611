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
	from   string // its packages of PyPI, or "mvn:" and a program of Maven Central; empty: it is Debian's
	shows  string // words in their order
}

var clients = []client{
	{"batchtools.R", "", "submit poll array fail cancel"},
	{"clustershell.sh", "", "partitions jobs states cancel"},
	{"ipyparallel.py", "", "submit poll fail cancel"},
	{"rslurm.R", "", "submit array poll depend fail cancel"},
	{"snakemake.sh", "", "submit poll depend fail cancel"},
	{"toil.py", "", "submit poll depend fail"},

	{"aiida.py", "aiida-core==2.9.4", "submit poll account fail"},
	{"cluster_tools.py", "cluster-tools==4.3.3", "submit map fail limits"},
	{"clusterfutures.py", "clusterfutures==0.5", "submit poll map fail die"},
	{"cylc.sh", "cylc-flow==8.5.4", "submit poll depend fail cancel"},
	{"dask.py", "dask-jobqueue==0.9.0", "submit work poll fail cancel"},
	{"executorlib.py", "executorlib[cluster]==1.11.0", "submit poll depend fail queue cancel"},
	{"gridtk.sh", "gridtk==4.0.0", "submit poll array depend fail cancel"},
	{"gwf.sh", "gwf==1.7.2 setuptools<80", "submit depend poll cancel fail"},
	{"hydra.py", "hydra-core==1.3.8 hydra-submitit-launcher==1.2.0", "submit poll array fail"},
	{"maestro.sh", "maestrowf==1.2.1", "submit depend poll fail"},
	{"nextflow.sh", "mvn:io.nextflow:nextflow:24.10.0:nextflow.cli.Launcher", "submit poll array depend fail cancel"},
	{"parsl.py", "parsl==2026.10.26", "submit poll cancel fail"},
	{"psij.py", "psij-python==0.9.11", "submit poll fail cancel depend srun"},
	{"pyslurmutils.py", "pyslurmutils==1.7.0", "submit poll fail queue cancel"},
	{"qtoolkit.py", "qtoolkit==0.1.7", "submit poll fail queue cancel"},
	{"reframe.sh", "reframe-hpc==4.10.4", "submit poll depend fail cancel"},
	{"reportseff.sh", "reportseff==2.10.3", "jobs array files user format"},
	{"signac_flow.py", "signac-flow==0.29.1", "submit queue poll bundle"},
	{"simple_slurm.py", "simple-slurm==0.3.6", "submit poll fail array depend queue cancel"},
	{"slurm2sql.py", "slurm2sql==0.9.9", "jobs fields array steps"},
	{"slurmgrid.sh", "slurmgrid==0.2.0", "submit chunks poll fail"},
	{"slurmrestapi.py", "slurmrestapi==25.11.4.0", "ping nodes submit poll fail array update cancel account"},
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

// TestClients runs every client end to end, with our commands.
func TestClients(t *testing.T) { each(t, bed.Login) }

// TestAtSite runs the same with the commands of one of the sites, which tells a client's own faults from ours.
func TestAtSite(t *testing.T) {
	if os.Getenv("FSUB_FULL") == "" {
		t.Skip("SKIPPED: compares clients with themselves: run testbed/clients/run.sh")
	}
	each(t, "alpha")
}

func each(t *testing.T, where string) {
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
			c.run(t, where, user, bin)
		})
	}
}

// provide returns the directory of the client's programs.
func (c client) provide(t *testing.T) string {
	args, bin := []string{"debian"}, filepath.Join(cache, "debian/usr/bin")
	if c.from != "" {
		if os.Getenv("FSUB_FULL") == "" {
			t.Skip("SKIPPED: needs PyPI or Maven Central, which a plain test run does without: run make test-full, or testbed/clients/run.sh " + c.name())
		}
		args, bin = append([]string{c.name()}, strings.Fields(c.from)...), filepath.Join(cache, "venv", c.name(), "bin")
	}
	out, err := exec.CommandContext(t.Context(), "./provide.sh", args...).CombinedOutput()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == 75 && (c.from != "" || os.Getenv("CI") == ""): // CI has what Debian has
		t.Skipf("SKIPPED: the mirrors do not give what provide.sh %v needs:\n%s", args, out)
	case err != nil:
		t.Fatalf("provide.sh %v: %v\n%s", args, err, out)
	}
	return bin
}

// run runs the client's script as a user, in the login or at a site, and compares what it shows.
func (c client) run(t *testing.T, where, user, bin string) {
	u, err := bed.FindUser(user)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(world.Bed.Home(user), c.name()+"-"+where)
	if err := errors.Join(os.Mkdir(dir, 0o755), os.Chown(dir, u.UID, u.UID)); err != nil {
		t.Fatal(err)
	}
	interpreter := map[string]string{".sh": "sh", ".py": "python3", ".R": "Rscript"}[filepath.Ext(c.script)] // the first of PATH
	script := filepath.Join(world.Bed.BinDir(), "scripts", "with_"+c.script)
	env := []string{"RHOME=" + cache + "/debian/usr/lib/R", "LC_ALL=C.UTF-8", "PYTHONDONTWRITEBYTECODE=1"}
	if where == bed.Login {
		env = append(env, "PATH="+world.Bed.BinDir()+":"+bin+":/usr/bin:/bin", "FSUB_SOCKET="+world.Daemon.Socket())
	} else {
		env = append(env, "PATH="+bin+":/usr/bin:/bin", "SLURMRESTD=http://127.0.0.1:6820")
	}
	var out bytes.Buffer
	err = world.Bed.Exec(t.Context(), bed.Cmd{Site: where, User: user, Dir: dir, Args: []string{interpreter, script}, Stdout: &out, Stderr: &out, Env: env})
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
	if strings.Contains(out.String(), "a fault of fsub") {
		t.Errorf("a command of ours panicked")
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
