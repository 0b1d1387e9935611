package rights

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"fsub/testbed/bed"
	"fsub/testbed/suite"
)

var world suite.Suite

func full() bool { return os.Getenv("FSUB_FULL") != "" }

// sites are 24.11, and with FSUB_FULL 26.05 and 22.05.
func sites() []string {
	if full() {
		return []string{"alpha", "gamma", "delta"}
	}
	return []string{"alpha"}
}

// partitions are closed to alice, each in its way. They are made once their QOS are known: 26.05 does not start otherwise.
var partitions = []string{
	"scontrol create PartitionName=rootonly Nodes=ALL RootOnly=YES MaxTime=1:00:00",
	"scontrol create PartitionName=hidden Nodes=ALL Hidden=YES MaxTime=1:00:00",
	"scontrol create PartitionName=groups Nodes=ALL AllowGroups=bob MaxTime=1:00:00",
	"scontrol create PartitionName=accounts Nodes=ALL AllowAccounts=vision MaxTime=1:00:00",
	"scontrol create PartitionName=denied Nodes=ALL DenyAccounts=physics MaxTime=1:00:00",
	"scontrol create PartitionName=allowqos Nodes=ALL AllowQos=special MaxTime=1:00:00",
	"scontrol create PartitionName=denyqos Nodes=ALL DenyQos=normal MaxTime=1:00:00",
	"scontrol create PartitionName=elsewhere Nodes=ALL AllocNodes=nosuch MaxTime=1:00:00",
	"scontrol create PartitionName=reserved Nodes=ALL ReqResv=YES MaxTime=1:00:00",
	"scontrol create PartitionName=small Nodes=ALL MaxNodes=1 MaxCPUsPerNode=2 MaxMemPerNode=2000 MaxTime=10",
	"scontrol create PartitionName=wide Nodes=ALL MinNodes=2 MaxTime=1:00:00",
	"scontrol create PartitionName=closed Nodes=ALL State=DRAIN MaxTime=1:00:00",
}

func TestMain(m *testing.M) {
	if at := os.Getenv(scontrolAt); at != "" {
		os.Exit(scontrolIn(at))
	}
	world.Main(m, suite.Config{Name: "rights", Sites: sites(), Start: start})
}

// scontrolAt has this program run scontrol in a site of a bed, as root: DIRECTORY:SITE.
const scontrolAt = "FSUB_RIGHTS_SCONTROL"

func scontrolIn(at string) int {
	dir, site, _ := strings.Cut(at, ":")
	b, err := bed.New(bed.Options{Dir: dir})
	if err == nil {
		err = b.Exec(context.Background(), bed.Cmd{Site: site, Args: append([]string{"scontrol"}, os.Args[1:]...), Stdout: os.Stdout, Stderr: os.Stderr})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// start gives each site what alice has no right to: partitions, a QOS, a reservation, and a QOS with limits that she may use.
func start(ctx context.Context) error {
	if err := world.Programs("fsub", "fed"); err != nil {
		return err
	}
	for _, site := range sites() {
		for _, line := range append([]string{
			"sacctmgr -i -Q add qos special Priority=1000",
			"sacctmgr -i -Q add qos capped Flags=DenyOnLimit MaxWall=5 MaxTRESPerJob=cpu=4",
			"sacctmgr -i -Q add qos slow MaxWall=5 MaxTRESPerJob=cpu=4",
			"sacctmgr -i -Q modify user alice where account=physics set qos+=capped,slow",
			"sacctmgr -i -Q add account strict,own,single",
			"sacctmgr -i -Q modify account strict set qos=normal,capped defaultqos=capped",
			"sacctmgr -i -Q modify account single set qos=capped",
			"sacctmgr -i -Q add user alice account=strict,own,single",
			"sacctmgr -i -Q modify user alice where account=own set qos+=capped defaultqos=capped",
			"sacctmgr -i -Q modify user bob set qos+=special",
			"scontrol create reservation ReservationName=bobs Users=bob StartTime=now Duration=1-0 Nodes=" + site + "4",
		}, partitions...) {
			if _, err := world.Bed.Output(ctx, site, "", strings.Fields(line)...); err != nil {
				return err
			}
		}
	}
	err := world.StartDaemon(ctx, func(config map[string]any) {
		for _, s := range config["sites"].([]any) {
			site := s.(map[string]any)
			site["backlog"] = 400 // else a user's jobs take no more than half of what may wait there
			if name := site["name"].(string); name == "delta" {
				site["node_command"] = []string{"/usr/bin/env", scontrolAt + "=" + world.Bed.Dir() + ":" + name, os.Args[0]}
			}
		}
	})
	if err != nil {
		return err
	}
	return world.Daemon.AwaitSites(ctx)
}

// patience is how long anything may take on a machine that is busy with other tests.
const patience = 4 * time.Minute

type output struct {
	stdout, stderr string
	code           int
}

// login runs one of our commands in the login, as a user.
func login(t *testing.T, user string, args ...string) output {
	t.Helper()
	return run(t, bed.Cmd{Site: bed.Login, User: user, Args: args,
		Env: []string{"PATH=" + world.Bin + ":/usr/bin:/bin", "FSUB_SOCKET=" + world.Daemon.Socket(), "LC_ALL=C.UTF-8"}})
}

// at runs one of Slurm's own commands inside a site, as a user.
func at(t *testing.T, site, user string, args ...string) output {
	t.Helper()
	return run(t, bed.Cmd{Site: site, User: user, Args: args})
}

func run(t *testing.T, c bed.Cmd) output {
	t.Helper()
	var stdout, stderr strings.Builder
	c.Stdout, c.Stderr = &stdout, &stderr
	err := world.Bed.Exec(t.Context(), c)
	out := output{stdout: stdout.String(), stderr: stderr.String()}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		out.code = exit.ExitCode()
	case err != nil:
		t.Fatalf("%v: %v", c.Args, err)
	}
	return out
}
