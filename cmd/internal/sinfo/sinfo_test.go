package sinfo

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/cmd/internal/conn"
	"fsub/slurm/wire"
)

// fakeDaemon has the partitions and nodes that the golden runs of a real sinfo saw.
type fakeDaemon struct {
	change       func(*wire.NodesResponse)
	reservations wire.ReservationsResponse
	err          error
}

func (d *fakeDaemon) Do(_, path string, _ []byte) (int, []byte, error) {
	if d.err != nil {
		return 0, nil, d.err
	}
	path, query, _ := strings.Cut(path, "?")
	site := strings.TrimPrefix(strings.TrimSuffix(query, "sparse=1"), "cluster=")
	site = strings.TrimSuffix(site, "&")
	switch {
	case strings.HasSuffix(path, "/sites"):
		return 200, []byte(`[{"name":"alpha"},{"name":"beta"}]`), nil
	case strings.HasSuffix(path, "/reservations/"):
		b, err := json.Marshal(d.reservations)
		return 200, b, err
	case strings.Contains(path, "/partitions"), strings.Contains(path, "/ping"):
		b, err := json.Marshal(goldenPartitions())
		return 200, b, err
	}
	nodes := goldenNodes()
	if d.change != nil {
		d.change(&nodes)
	}
	nodes.Nodes = slices.DeleteFunc(nodes.Nodes, func(n wire.Node) bool { return site != "" && n.ClusterName != site })
	b, err := json.Marshal(nodes)
	return 200, b, err
}

func goldenPartitions() (r wire.PartitionsResponse) {
	main := wire.Partition{Name: "main", Flags: wire.Strings{"DEFAULT"}}
	main.Nodes.Total, main.Partition.State, main.Maximums.Time, main.Defaults.Time = 4, wire.Strings{"UP"}, wire.Inf(), wire.Num(10)
	main.Maximums.Nodes, main.Priority.Tier, main.Priority.JobFactor = wire.Inf(), 1, 1
	main.Maximums.Shares, main.Maximums.OverSubscribe.Jobs = 1, 1
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
		r.Nodes[3].CPUs = 8
		other := r.Nodes[3]
		other.Name, other.ClusterName, other.Partitions = "chk1", "beta", wire.Strings{"short"}
		r.Nodes = append(r.Nodes, other)
	}
	for _, test := range []struct{ args, want string }{
		{"-h -o %P,%D,%t,%N", "main*,1,mix*,chk2 main*,1,drng,chk1 main*,1,idle,chk4 main*,1,down,chk3 short,1,mix*,chk2 short,1,drng,chk1 short,2,idle,chk[1,4] short,1,down,chk3"},
		{"-h -o %D", "5"},
		{"-h -o %F", "2/2/1/5"},
		{"-h -p short -o %F,%C", "2/2/1/5,6/16/42/64"},
		{"-h -R -o %E,%N", "fan,chk1 dead,chk3"},
		{"-h -t idle -p main -o %N", "chk4"},
		{"-h -t drain -p main -o %N", "chk1"},
		{"-h -n chk[2-3] -p main -o %N,%T", "chk2,mixed* chk3,down"},
		{"-h -d -p main -o %N", "chk2"},
		{"-h -M beta -o %V:%N", "beta:chk1"},
		{"-M beta -o %V:%N", "CLUSTER: beta CLUSTER:NODELIST beta:chk1"},
		{"-M chk -h -o %D", "5"},
		{"-M all -h -o %D", "5"},
		{"-h -p nosuch", ""},
		// As a real sinfo 24.11 answered: a state is a base state with whatever flags, or a flag; & wants both.
		{"-h -t idle -p main -o %N", "chk4"},
		{"-h -t mix -p main -o %N,%T", "chk2,mixed* chk1,draining"},
		{"-h -t mixed&drain -p main -o %N", "chk1"},
		{"-h -t no_resp,down -p main -o %N", "chk[2-3]"},
		{"-h -t resv -p main -o %P|%D|%t|%N|%C|%c|%z|%G", "main*|0|n/a||0/0/0/0|0|0:0:0|(null)"},
		{"-h -t resv -o %D", ""},
		{"-h -t resv -N", ""},
		{"-h -t resv -s -p main", "main* up infinite 0/0/0/0"},
		{"-R -h -t resv", ""},
		// Sizes do not keep nodes apart but with --exact; the least has a +, load and free memory are ranges.
		{"-h -p main -o %c,%m,%w,%e,%O", "8+,64000,1,5367-9834,5.31-5.94"},
		{"-h -e -p main -o %c,%D", "16,3 8,1"},
		{"-h -p main -S -c -e -o %c", "16 8"},
		{"-h -p main -S c -e -o %c", "8 16"},
		{"-h -p main -S y -o %t", "drng mix* down idle"},
		{"-h -p main -S=-N -N -o %N", "chk4 chk3 chk2 chk1"},
		{"-h -p main -S E -o %E,%N", "none,chk[2,4] dead,chk3 fan,chk1"},
		{"words beside -h -p main -o %D", "4"},
		{"-T", "No reservations in the system"},
	} {
		var stdout, stderr bytes.Buffer
		rc := run(strings.Fields(test.args), nil, &stdout, &stderr, &fakeDaemon{change: two}, time.Now())
		if got := strings.Join(strings.Fields(stdout.String()), " "); rc != 0 || got != test.want {
			t.Errorf("%s: exit %d %s\n got %s\nwant %s", test.args, rc, &stderr, got, test.want)
		}
	}
}

// TestCloud has nodes that are started when a job needs them. The rows are those of a real sinfo 24.11 with nodes of State=CLOUD, all in one
// partition, that were made to be in these states.
func TestCloud(t *testing.T) {
	cloud := func(r *wire.NodesResponse) {
		r.Nodes = nil
		add := func(name string, alloc int64, reason string, state ...string) {
			r.Nodes = append(r.Nodes, wire.Node{Name: name, Hostname: name, State: state, CPUs: 4, AllocCPUs: alloc, RealMemory: 8000, Reason: reason,
				Partitions: wire.Strings{"short"}, Features: wire.Strings{"g6"}})
		}
		add("c1", 1, "", "MIXED", "CLOUD", "NOT_RESPONDING", "POWERING_UP")
		add("c2", 1, "", "MIXED", "CLOUD", "NOT_RESPONDING", "POWERING_UP")
		add("c3", 4, "", "ALLOCATED", "CLOUD", "NOT_RESPONDING", "POWERING_UP")
		add("c4", 0, "", "IDLE", "CLOUD", "POWERED_DOWN")
		add("c5", 0, "FedStockOut: none left", "DOWN", "CLOUD", "POWERED_DOWN")
		add("c6", 0, "x", "IDLE", "CLOUD", "DRAIN", "POWERED_DOWN")
		add("c7", 0, "", "IDLE", "CLOUD", "NOT_RESPONDING", "POWERING_UP")
		add("c8", 0, "", "IDLE", "CLOUD", "POWERING_DOWN")
	}
	for _, test := range []struct{ args, want string }{
		{"-N -h -p short -o %N|%t|%T|%F|%A|%C", "c1|mix#|mixed#|1/0/0/1|1/0|1/3/0/4 c2|mix#|mixed#|1/0/0/1|1/0|1/3/0/4 c3|alloc#|allocated#|1/0/0/1|1/0|4/0/0/4 " +
			"c4|idle~|idle~|0/1/0/1|0/1|0/4/0/4 c5|down~|down~|0/0/1/1|0/0|0/0/4/4 c6|drain~|drained~|0/0/1/1|0/0|0/0/4/4 " +
			"c7|idle#|idle#|0/1/0/1|0/1|0/4/0/4 c8|idle%|idle%|0/1/0/1|0/1|0/4/0/4"},
		{"-h -t cloud -p short -o %D", "8"},
		{"-h -t powering_up -p short -o %N", "c[1-3,7]"},
		{"-h -t alloc -p short -o %t,%N", "mix#,c[1-2] alloc#,c3"},
		{"-h -t idle&powered_down -p short -o %N", "c[4,6]"},
		{"-h -t down -p short -o %E", "FedStockOut: none left"},
		{"-h -R -o %E,%N", "x,c6 FedStockOut: none left,c5"},
		{"-h -N -n c4 -O StateComplete", "idle+cloud+powered_d"},
	} {
		var stdout, stderr bytes.Buffer
		rc := run(strings.Fields(test.args), nil, &stdout, &stderr, &fakeDaemon{change: cloud}, time.Now())
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
		{"-i 0", nil, "sinfo: error: Error: invalid entry for --iterate=0\n"},
		{"-n n[", &fakeDaemon{}, "sinfo: error: 'n[' invalid entry for --nodes\n"},
		{"-a -p main", nil, "sinfo: error: Conflicting options, -a and -p, specified. Please choose one or the other.\n"},
		{"-t ~idle", nil, "sinfo: error: Bad state string: \"~idle\"\nsinfo: error: valid states: " + strings.Join(stateWords, ",") + "\n"},
		{"-M nosuch", &fakeDaemon{}, "sinfo: error: No cluster 'nosuch' known by database.\nsinfo: error: 'nosuch' can't be reached now, or it is an invalid " +
			"entry for --cluster.  Use 'sacctmgr list clusters' to see available clusters.\nsinfo: fatal: Could not get cluster information\n"},
	} {
		var stdout, stderr bytes.Buffer
		if rc := run(strings.Fields(test.args), nil, &stdout, &stderr, test.daemon, time.Now()); rc != 1 || stderr.String() != test.stderr || stdout.Len() > 0 {
			t.Errorf("%s: exit %d, %q, want %q", test.args, rc, &stderr, test.stderr)
		}
	}
}

// TestAllFields: sinfo 24.11 complains of "All" among the names of -O, and prints all columns for it, as for "-o %all".
func TestAllFields(t *testing.T) {
	said := func(args ...string) (out, complaint string) {
		var stdout, stderr bytes.Buffer
		if rc := run(args, nil, &stdout, &stderr, &fakeDaemon{}, time.Now()); rc != 0 {
			t.Errorf("%s: exit %d", args, rc)
		}
		return stdout.String(), stderr.String()
	}
	all, _ := said("-o", "%all")
	for _, word := range []string{"All", "all:10"} {
		name, _, _ := strings.Cut(word, ":")
		if got, complaint := said("-O", word); got != all || complaint != "sinfo: error: Invalid job format specification: "+name+"\n" {
			t.Errorf("-O %s says %q and prints\n%s\nwant\n%s", word, complaint, got, all)
		}
	}
	if got, _ := said("-h", "-O", "NodeHost:8,All,StateLong:6"); !strings.HasPrefix(got, "chk1    up|") || !strings.HasSuffix(strings.SplitN(got, "\n", 2)[0], "|mixed ") {
		t.Errorf("between others:\n%s", got)
	}
}

// TestOneUnknownCluster: it is complained about, and the others are shown.
func TestOneUnknownCluster(t *testing.T) {
	var stdout, stderr bytes.Buffer
	rc := run([]string{"-M", "nosuch,chk", "-o", "%P"}, nil, &stdout, &stderr, &fakeDaemon{}, time.Now())
	if rc != 0 || stderr.String() != "sinfo: error: No cluster 'nosuch' known by database.\n" || stdout.String() != "CLUSTER: chk\nPARTITION\nmain*\nshort\n" {
		t.Errorf("exit %d, %q, %q", rc, &stderr, &stdout)
	}
}

func TestReservations(t *testing.T) {
	now := time.Date(2026, 11, 21, 21, 0, 0, 0, time.Local)
	at := func(d time.Duration) wire.Number { return wire.Num(now.Add(d).Unix()) }
	d := &fakeDaemon{}
	d.reservations.Reservations = wire.List[wire.Reservation]{
		{Name: "a_very_long_name", StartTime: at(-time.Hour), EndTime: at(50 * time.Hour), NodeList: "chk[2-3]"},
		{Name: "later", StartTime: at(time.Hour), EndTime: at(2 * time.Hour), NodeList: "chk4"},
	}
	// What a real sinfo 24.11 printed for the first one, and for one that has not begun.
	want := "RESV_NAME            STATE           START_TIME             END_TIME     DURATION  NODELIST\n" +
		"a_very_long_name    ACTIVE  2026-11-21T20:00:00  2026-11-23T23:00:00   2-03:00:00  chk[2-3]\n" +
		"later             INACTIVE  2026-11-21T22:00:00  2026-11-21T23:00:00     01:00:00  chk4\n"
	var stdout, stderr bytes.Buffer
	if rc := run([]string{"-T"}, nil, &stdout, &stderr, d, now); rc != 0 || stdout.String() != want {
		t.Errorf("exit %d %s\n got:\n%s\nwant:\n%s", rc, &stderr, &stdout, want)
	}
}

// TestEnvironment: the command line is above the environment.
func TestEnvironment(t *testing.T) {
	for _, test := range []struct{ env, args, want string }{
		{"SINFO_FORMAT=%R", "", "PARTITION main short"}, {"SINFO_FORMAT=%R", "-O nodehost:5 -n chk1 -h", "chk1"},
		{"SINFO_PARTITION=short", "-h -o %P", "short"}, {"SINFO_PARTITION=short", "-a -h -o %P", "short"}, {"SINFO_PARTITION=short", "-p main -h -o %P", "main*"},
		{"SINFO_SORT=-P", "-h -o %P", "short main*"}, {"SINFO_ALL=", "-p main -h -o %P", "main*"}, {"SLURM_CLUSTERS=chk", "-o %R", "CLUSTER: chk PARTITION main short"},
		{"SLURM_TIME_FORMAT=%s", "-h -p main -n chk1 -o %H", "1795195874"},
	} {
		d := &fakeDaemon{change: func(r *wire.NodesResponse) { r.Nodes[0].ReasonChangedAt = wire.Num(1795195874) }}
		var stdout, stderr bytes.Buffer
		rc := run(strings.Fields(test.args), []string{test.env}, &stdout, &stderr, d, time.Now())
		if got := strings.Join(strings.Fields(stdout.String()), " "); rc != 0 || got != test.want {
			t.Errorf("%s sinfo %s: exit %d %s, got %q, want %q", test.env, test.args, rc, &stderr, got, test.want)
		}
	}
}

// TestFieldNames compares the names of --helpFormat, and every header, with a real sinfo's.
func TestFieldNames(t *testing.T) {
	dir := os.Getenv("FSUB_ORACLE")
	if dir == "" {
		t.Skip("FSUB_ORACLE is not set: no list of a real sinfo's fields to compare with")
	}
	b, err := os.ReadFile(filepath.Join(dir, "cli_golden", "fields24.tsv"))
	if err != nil {
		t.Skip(err)
	}
	_, names := new(command).fields()
	n := 0
	for line := range strings.Lines(string(b)) {
		part := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if part[0] != "sinfo" {
			continue
		}
		n++
		if f := names[strings.ToLower(part[1])]; f == nil || f.Header != part[2] {
			t.Errorf("%s: %v, want the header %s", part[1], f, part[2])
		}
	}
	if n != len(names) || n < 40 {
		t.Errorf("%d fields, real sinfo has %d", len(names), n)
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
	if err := json.Unmarshal(stdout.Bytes(), &out); err != nil || len(out.Sinfo) != 6 || out.Sinfo[2].Nodes.Total != 2 || out.Sinfo[0].Nodes.Allocated != 1 {
		t.Errorf("%v, %+v", err, out)
	}
}
