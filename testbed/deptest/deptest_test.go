// Package deptest holds the directions of imports that the design depends on.
package deptest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fsub/testbed/program"
)

// forbidden says what a package, or any below it where the path ends in "/...", must not depend on, and why.
var forbidden = []struct {
	pkg, on, because string
}{
	{"fsub/cmd/fsub/...", "net/http", "the client starts in a millisecond: net/http alone costs as much again"},
	{"fsub/cmd/fsub/...", "net", "a static binary without cgo needs no resolver, and its set-up time is paid by every call"},
	{"fsub/cmd/fsub/...", "github.com/...", "the client is linked from the standard library and our pure packages only"},
	{"fsub/cmd/fsub/...", "runtime/cgo", "one static binary for every login node, whatever its libc"},
	{"fsub/cmd/fsub/...", "fsub/slurm", "clients ask the daemon, never a site"},
	{"fsub/slurm/wire", "fsub/...", "the JSON shapes are pure: client, server and simulated site share them"},
	{"fsub/slurm/words", "fsub/federation", "words are those of a Spec: the driver and our own slurmrestd share them"},
	{"fsub/slurm/wire", "github.com/...", "the JSON shapes are pure"},
	{"fsub/slurm/hostlist", "fsub/...", "hostlists are text"},
	{"fsub/sbatch/...", "fsub/federation", "understanding a script needs no federation"},
	{"fsub/topology", "fsub/federation", "trees and gangs know nothing of jobs"},
	{"fsub/topology/torus", "fsub/...", "shapes of slices are arithmetic"},
	{"fsub/accounting", "fsub/federation", "money is arithmetic"},
	{"fsub/accounting/ledger", "fsub/federation", "money is arithmetic"},
	{"fsub/accounting/report", "github.com/...", "charts are linked by one leaf package"},
	{"fsub/accounting/bill", "github.com/...", "Parquet is linked by one leaf package"},
	{"fsub/federation/ledger", "fsub/slurm", "sites' accounts are read through their drivers"},
	{"fsub/federation", "fsub/slurm", "the domain knows no site's language"},
	{"fsub/federation", "fsub/federation/store", "the domain does no I/O"},
	{"fsub/federation", "fsub/federation/controller", "the domain does no I/O"},
	{"fsub/federation", "net/http", "the domain does no I/O"},
	{"fsub/federation", "database/sql", "the domain does no I/O"},
	{"fsub/federation/reasons", "fsub/...", "reasons are words"},
	{"fsub/federation/codes", "fsub/...", "codes and their sentences are text"},
	{"fsub/federation/ident", "fsub/...", "names are text and numbers"},
	{"fsub/federation/decision", "fsub/federation", "the root keeps decisions with attempts"},
	{"fsub/federation/audit", "fsub/...", "who did what is told in words"},
	{"fsub/federation/demand", "fsub/federation", "what a job needs depends on no site"},
	{"fsub/federation/demand", "fsub/slurm", "what a job needs is said in no site's language"},
	{"fsub/federation/place", "fsub/federation/controller", "placement is a pure function"},
	{"fsub/federation/place", "fsub/federation/store", "placement is a pure function"},
	{"fsub/federation/place", "log/slog", "placement keeps its reasons as data"},
	{"fsub/federation/place", "net/http", "placement is a pure function"},
	{"fsub/federation/lifecycle", "fsub/federation/controller", "what becomes of a job is decided apart from what is done about it"},
	{"fsub/federation/lifecycle", "fsub/federation/store", "what becomes of a job follows from what is passed in"},
	{"fsub/federation/lifecycle", "fsub/federation/place", "where a job runs next is another question"},
	{"fsub/federation/lifecycle", "fsub/slurm", "what a site says comes in the domain's words"},
	{"fsub/federation/lifecycle", "log/slog", "decisions are returned, and logged by who carries them out"},
	{"fsub/federation/lifecycle", "net/http", "what becomes of a job follows from what is passed in"},
	{"fsub/federation/controller", "fsub/slurm", "the controller knows drivers by their interface"},
	{"fsub/federation/controller", "fsub/federation/store", "the controller knows the store by its interface"},
	{"fsub/federation/controller", "fsub/federation/api", "the API looks at the controller, not the other way round"},
	{"fsub/federation/store", "fsub/federation/controller", "brothers do not import each other"},
	{"fsub/federation/store", "fsub/federation/place", "brothers do not import each other"},
	{"fsub/federation/api", "fsub/federation/controller", "the API needs an interface of six methods"},
	{"fsub/federation/api", "fsub/federation/store", "the API needs the Store interface"},
	{"fsub/federation/api", "github.com/go-resty/...", "the server side needs no client of slurmrestd"},
	{"fsub/federation/api/identity", "fsub/federation", "who calls does not depend on what is asked"},
	{"fsub/federation/api/client", "fsub/federation/api", "who asks the daemon needs no server"},
	{"fsub/federation/api/v1", "net/http", "the small client has these shapes"},
	{"fsub/federation/web", "fsub/federation/controller", "the page has no way to the data but the API"},
	{"fsub/federation/web", "fsub/federation/store", "the page has no way to the data but the API"},
	{"fsub/federation/web", "fsub/federation/api", "the API is handed to it"},
	{"fsub/federation/web/...", "html/template", "a template finds methods by name: the linker would keep all of the program"},
	{"fsub/federation/staging", "gocloud.dev/...", "the SDKs of the clouds' stores are linked by one leaf package"},
	{"fsub/federation/staging/home", "gocloud.dev/...", "the process that acts for a user needs no store"},
	{"fsub/federation/staging", "fsub/federation/controller", "the controller knows what carries files by its interface"},
	{"fsub/federation/staging", "fsub/federation/api", "brothers do not import each other"},
	{"fsub/federation/api", "fsub/federation/staging", "brothers do not import each other"},
	{"fsub/federation/controller", "fsub/federation/staging", "the controller knows what carries files by its interface"},
	{"fsub/federation/replay", "gonum.org/...", "only who draws links what draws"},
	{"fsub/federation/replay", "fsub/federation/controller", "a replay needs no daemon"},
	{"fsub/federation/replay", "fsub/federation/store", "a replay needs no daemon"},
	{"fsub/slurm", "fsub/federation/controller", "a driver does what it is asked"},
	{"fsub/slurm", "fsub/federation/store", "a driver keeps no state that must survive"},
	{"fsub/slurm", "fsub/federation/api", "brothers do not import each other"},
	{"fsub/cmd/...", "fsub/testbed/...", "what is shipped holds nothing that is for tests"},
	{"fsub/cloud", "github.com/aws/...", "a cloud's SDK is linked by its provider alone"},
	{"fsub/cloud", "cloud.google.com/...", "a cloud's SDK is linked by its provider alone"},
	{"fsub/cloud/agentserver", "github.com/aws/...", "the agent server knows no cloud"},
	{"fsub/cloud/agentserver", "fsub/federation/api", "the API is handed to it"},
	{"fsub/cloud/agentserver", "fsub/federation/store", "the agent server keeps nothing"},
	{"fsub/cloud/agentapi", "fsub/federation", "the agent carries the shapes that it speaks in, and no more of the daemon"},
	{"fsub/cloud/agentapi", "github.com/...", "the agent carries the shapes that it speaks in, and no more of the daemon"},
	{"fsub/cloud/local/inside", "fsub/...", "every agent carries it, and it runs before anything else does"},
	{"fsub/cloud/local/inside", "net", "every agent carries it, and it runs before anything else does"},
	{"fsub/cloud/local", "fsub/cloud/agent", "a provider starts agents, whatever they are"},
	{"fsub/cmd/fed-agent/...", "github.com/aws/...", "the agent asks the metadata service in plain HTTP: an SDK is more than all the rest of it"},
	{"fsub/cloud/provider", "fsub/cloud", "a provider does what it is asked, by whatever driver"},
	{"fsub/cloud/kind", "fsub/cloud", "the configuration of a cloud knows no driver"},
	{"fsub/cloud/kind", "fsub/federation/store", "the configuration of a cloud keeps nothing"},
	{"fsub/cloud/google", "fsub/cloud", "a provider knows its contract and no driver"},
	{"fsub/cloud", "fsub/cloud/clouds", "the driver knows no cloud"},
	{"fsub/cloud", "fsub/federation/controller", "a driver does what it is asked"},
	{"fsub/cloud", "fsub/federation/store", "a driver keeps its books behind an interface"},
	{"fsub/cloud", "fsub/federation/api", "brothers do not import each other"},
	{"fsub/cloud", "google.golang.org/api/...", "a cloud's SDK is linked by its provider alone"},
	{"fsub/cloud/layout", "net", "which node runs which task is arithmetic"},
	{"fsub/cloud/jobenv", "net", "a job's environment is made of its launch"},
	{"fsub/cloud/agentapi", "net/http", "what daemon and agents say is shapes"},
	{"fsub/cloud/steps", "net/http", "steps speak frames over TLS"},
	{"fsub/cloud/pmi", "fsub/...", "PMI is a protocol between a task and who started it, whoever that is"},
	{"fsub/cloud/pmi/...", "net", "the tasks' connections are brought to it"},
	{"fsub/cloud/pmi/pmix", "fsub/...", "PMIx is a protocol between a task and who started it, whoever that is"},
	{"fsub/cloud/agent/...", "fsub/federation", "the agent knows jobs as they are launched, not as they are planned"},
}

func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Deps " "}}`, "fsub/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	used := make([]bool, len(forbidden))
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		pkg, deps := fields[0], fields[1:]
		for i, rule := range forbidden {
			if !match(rule.pkg, pkg) {
				continue
			}
			used[i] = true
			for _, d := range deps {
				if match(rule.on, d) && !match(rule.pkg, d) {
					t.Errorf("%s depends on %s: %s", pkg, d, rule.because)
				}
			}
		}
	}
	for i, u := range used {
		if !u {
			t.Errorf("rule for %s: there is no such package any more", forbidden[i].pkg)
		}
	}
}

// TestDaemonIsSmall: what makes the linker keep whole SDKs is not in the daemon as it is built.
func TestDaemonIsSmall(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(makefile), "FED_TAGS := "+program.FedTags+"\n") {
		t.Errorf("the Makefile builds fed with other tags than %s", program.FedTags)
	}
	out, err := exec.Command("go", "list", "-tags", program.FedTags, "-deps", "fsub/cmd/fed").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for pkg := range strings.Lines(string(out)) {
		switch pkg = strings.TrimSpace(pkg); pkg {
		case "golang.org/x/net/trace", "google.golang.org/grpc/xds":
			t.Errorf("fed has %s: with it come 50 MB", pkg)
		}
	}
	dir := os.Getenv("FSUB_BIN")
	if dir == "" {
		t.Skip("SKIPPED: FSUB_BIN does not say where fed was built, so its size is not looked at")
	}
	fed, err := os.Stat(filepath.Join(dir, "fed"))
	if err != nil {
		t.Fatal(err)
	}
	if mb := fed.Size() / 1e6; mb > 85 {
		t.Errorf("fed has %d MB, 68 without methods that nobody calls: something that is called finds methods by name (a template of cobra's, say), so the linker keeps all; see go build -ldflags=-dumpdep", mb)
	}
}

// match reports whether path is pattern, or lies below it where pattern ends in "/...".
func match(pattern, path string) bool {
	root, below := strings.CutSuffix(pattern, "/...")
	return path == root || below && strings.HasPrefix(path, root+"/")
}

// TestWithoutClouds: with the tag nocloud, fed links no cloud's SDK.
func TestWithoutClouds(t *testing.T) {
	out, err := exec.Command("go", "list", "-tags", "nocloud,"+program.FedTags, "-deps", "fsub/cmd/fed").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for dep := range strings.Lines(string(out)) {
		for _, sdk := range []string{"github.com/aws/", "github.com/Azure/", "cloud.google.com/", "google.golang.org/api/option", "google.golang.org/api/tpu"} {
			if strings.HasPrefix(dep, sdk) {
				t.Errorf("fed without clouds depends on %s", dep)
			}
		}
		for _, name := range clouds(t) {
			if strings.TrimSpace(dep) == "fsub/cloud/"+name && name != "local" {
				t.Errorf("fed without clouds depends on %s", dep)
			}
		}
	}
}
