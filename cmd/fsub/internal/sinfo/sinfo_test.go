package sinfo

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fsub/cmd/fsub/internal/conn"
	"fsub/slurm/wire"
)

// fakeDaemon has the partitions and nodes that the golden runs of a real sinfo saw.
type fakeDaemon struct {
	change func(*wire.NodesResponse)
	err    error
}

func (d *fakeDaemon) Do(_, path string, _ []byte) (int, []byte, error) {
	if d.err != nil {
		return 0, nil, d.err
	}
	if strings.Contains(path, "/partitions") {
		b, err := json.Marshal(goldenPartitions())
		return 200, b, err
	}
	nodes := goldenNodes()
	if d.change != nil {
		d.change(&nodes)
	}
	b, err := json.Marshal(nodes)
	return 200, b, err
}

func goldenPartitions() (r wire.PartitionsResponse) {
	main := wire.Partition{Name: "main", Flags: wire.Strings{"DEFAULT"}}
	main.Nodes.Total, main.Partition.State, main.Maximums.Time, main.Defaults.Time = 4, wire.Strings{"UP"}, wire.Inf(), wire.Num(10)
	main.Maximums.Nodes, main.Priority.Tier, main.Priority.JobFactor = wire.Inf(), 1, 1
	short := main
	short.Name, short.Flags, short.Maximums.Time, short.Defaults.Time, short.Priority.Tier = "short", nil, wire.Num(60), wire.Number{}, 10
	r.Partitions = wire.List[wire.Partition]{main, short}
	r.Meta.Slurm.Cluster = "chk"
	return r
}

func goldenNodes() (r wire.NodesResponse) {
	n := func(name, state string, cpus, mem int64, gpus string) wire.Node {
		return wire.Node{Name: name, Hostname: name, Address: "127.0.0.1", State: wire.Strings{state}, CPUs: 16, AllocCPUs: cpus, RealMemory: 64000,
			AllocMemory: mem, GRES: "gpu:h100:4", GRESUsed: gpus, Features: wire.Strings{"h100", "ib"}, ActiveFeatures: wire.Strings{"h100", "ib"},
			Sockets: 16, Cores: 1, Threads: 1, Weight: 1, Partitions: wire.Strings{"main", "short"}, Version: "24.11.5", FreeMem: wire.Num(5367), CPULoad: 594}
	}
	first := n("chk1", "MIXED", 5, 500, "gpu:h100:1(IDX:0)")
	first.FreeMem, first.CPULoad = wire.Num(9834), 531
	r.Nodes = wire.List[wire.Node]{first, n("chk2", "MIXED", 1, 200, "gpu:h100:0(IDX:N/A)"), n("chk3", "IDLE", 0, 0, "gpu:h100:0(IDX:N/A)"), n("chk4", "IDLE", 0, 0, "gpu:h100:0(IDX:N/A)")}
	return r
}

type golden struct {
	Cmd    string `json:"cmd"`
	RC     any    `json:"rc"`
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
}

// TestGolden compares with what a real sinfo 24.11 printed for the same nodes.
func TestGolden(t *testing.T) {
	dir := os.Getenv("FSUB_ORACLE")
	if dir == "" {
		t.Skip("FSUB_ORACLE is not set: no recorded runs of a real sinfo to compare with")
	}
	b, err := os.ReadFile(filepath.Join(dir, "cli_golden", "golden_24.11.jsonl"))
	if err != nil {
		t.Skip(err)
	}
	compared := 0
	for line := range bytes.Lines(b) {
		var g golden
		if err := json.Unmarshal(line, &g); err != nil {
			t.Fatal(err)
		}
		words := strings.TrimPrefix(g.Cmd, `env SINFO_FORMAT='%D %T' `)
		if !strings.HasPrefix(words, "sinfo") || strings.Contains(words, "--json") || strings.Contains(words, "ersion") || strings.Contains(g.Cmd, "\\x1E") {
			continue
		}
		out, err := exec.Command("bash", "-c", "printf '%s\\0' "+words).Output()
		if err != nil {
			t.Fatal(err)
		}
		var env []string
		if words != g.Cmd {
			env = []string{"SINFO_FORMAT=%D %T"}
		}
		compared++
		var stdout, stderr bytes.Buffer
		args := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")[1:]
		rc := run(args, env, &stdout, &stderr, &fakeDaemon{}, time.Date(2026, 11, 20, 17, 33, 9, 0, time.Local))
		if float64(rc) != g.RC || strings.TrimSpace(stderr.String()) != strings.TrimSpace(g.Stderr) {
			t.Errorf("%s: exit %d, want %v; stderr %q, want %q", g.Cmd, rc, g.RC, &stderr, g.Stderr)
		}
		if got, want := strings.TrimRight(stdout.String(), "\n"), strings.TrimRight(g.Stdout, "\n"); got != want {
			t.Errorf("%s\n got:\n%s\nwant:\n%s", g.Cmd, got, want)
		}
	}
	t.Logf("%d recorded runs compared", compared)
}

func TestRows(t *testing.T) {
	two := func(r *wire.NodesResponse) {
		r.Nodes[0].State = wire.Strings{"MIXED", "DRAIN"}
		r.Nodes[0].Reason = "fan"
		r.Nodes[1].State = wire.Strings{"MIXED", "NOT_RESPONDING"}
		r.Nodes[2].State, r.Nodes[2].Reason = wire.Strings{"DOWN"}, "dead"
		other := r.Nodes[3]
		other.Name, other.ClusterName, other.Partitions = "chk1", "beta", wire.Strings{"short"}
		r.Nodes = append(r.Nodes, other)
	}
	for _, test := range []struct{ args, want string }{
		{"-h -o %P,%D,%t,%N", "main*,1,mix*,chk2 main*,1,drng,chk1 main*,1,idle,chk4 main*,1,down,chk3 short,1,mix*,chk2 short,1,drng,chk1 short,2,idle,chk[1,4] short,1,down,chk3"},
		{"-h -o %D", "5"},
		{"-h -o %F", "2/2/1/5"},
		{"-h -p short -o %F,%C", "2/2/1/5,6/32/42/80"},
		{"-h -R -o %E,%N", "dead,chk3 fan,chk1"},
		{"-h -t idle -p main -o %N", "chk4"},
		{"-h -t drain -p main -o %N", "chk1"},
		{"-h -n chk[2-3] -p main -o %N,%T", "chk2,mixed* chk3,down"},
		{"-h -d -p main -o %N", "chk2"},
		{"-h -M beta -o %V:%N", "beta:chk1"},
		{"-h -p nosuch", ""},
	} {
		var stdout, stderr bytes.Buffer
		rc := run(strings.Fields(test.args), nil, &stdout, &stderr, &fakeDaemon{change: two}, time.Now())
		if got := strings.Join(strings.Fields(stdout.String()), " "); rc != 0 || got != test.want {
			t.Errorf("%s: exit %d %s\n got %s\nwant %s", test.args, rc, &stderr, got, test.want)
		}
	}
}

func TestFailures(t *testing.T) {
	for _, test := range []struct {
		args   string
		daemon *fakeDaemon
		stderr string
	}{
		{"", &fakeDaemon{err: conn.ErrConnect}, "slurm_load_partitions: Unable to contact slurm controller (connect failure)\n"},
		{"-i 5", nil, "sinfo: error: fsub's sinfo does not have --iterate yet\n"},
		{"-n n[", &fakeDaemon{}, "sinfo: error: Invalid node list: n[\n"},
	} {
		var stdout, stderr bytes.Buffer
		if rc := run(strings.Fields(test.args), nil, &stdout, &stderr, test.daemon, time.Now()); rc != 1 || stderr.String() != test.stderr || stdout.Len() > 0 {
			t.Errorf("%s: exit %d, %q, want %q", test.args, rc, &stderr, test.stderr)
		}
	}
}

func TestJSON(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if rc := run([]string{"--json"}, nil, &stdout, &stderr, &fakeDaemon{}, time.Now()); rc != 0 {
		t.Fatalf("exit %d, %s", rc, &stderr)
	}
	var out struct {
		Sinfo []struct {
			Nodes struct{ Allocated, Idle, Total int }
		}
	}
	if err := json.Unmarshal(stdout.Bytes(), &out); err != nil || len(out.Sinfo) != 4 || out.Sinfo[0].Nodes.Total != 2 || out.Sinfo[0].Nodes.Allocated != 2 {
		t.Errorf("%v, %+v", err, out)
	}
}
