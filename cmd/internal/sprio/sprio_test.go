package sprio

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	v1 "fsub/federation/api/v1"
	"fsub/federation/decision"
)

// daemon answers with the priorities of two jobs, and keeps what it was asked.
type daemon struct{ asked string }

func (d *daemon) Do(_, path string, _ []byte) (int, []byte, error) {
	d.asked = path
	list := v1.Priorities{Jobs: []v1.Priority{
		{Job: 100012, Partition: "main", User: "alice", Account: "physics", QOS: "normal", Priority: 16661, Nice: 5,
			Parts: []decision.PriorityPart{{Name: decision.PriorityFairShare, Points: 16666.7}, {Name: decision.PriorityNice, Points: -5}}},
		{Job: 100011, Partition: "main", User: "alice", Account: "physics", QOS: "normal", Priority: 16666,
			Parts: []decision.PriorityPart{{Name: decision.PriorityFairShare, Points: 16666.7}, {Name: decision.PriorityWork, Points: -24}, {Name: decision.PriorityLate, Points: -1}}},
	}}
	b, err := json.Marshal(list)
	return 200, b, err
}

// TestColumns: headings and widths are those of sprio 24.11.
func TestColumns(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"", `          JOBID PARTITION   PRIORITY       SITE        AGE  FAIRSHARE
         100011 main           16666        -25          0      16667
         100012 main           16661          0          0      16667
`},
		{"-l", `          JOBID PARTITION     USER  ACCOUNT   PRIORITY       SITE        AGE      ASSOC  FAIRSHARE    JOBSIZE  PARTITION    QOSNAME        QOS        NICE                 TRES
         100011 main         alice  physics      16666        -25          0          0      16667          0          0     normal          0           0                     
         100012 main         alice  physics      16661          0          0          0      16667          0          0     normal          0           5                     
`},
		{"-h", "         100011 main           16666        -25          0      16667\n         100012 main           16661          0          0      16667\n"},
		{"-o|%i %Y %u", "JOBID PRIORITY USER\n100011 16666 alice\n100012 16661 alice\n"},
		{"-u|alice", `          JOBID PARTITION     USER   PRIORITY       SITE        AGE  FAIRSHARE
         100011 main         alice      16666        -25          0      16667
         100012 main         alice      16661          0          0      16667
`},
	} {
		var args []string
		if c.args != "" {
			args = strings.Split(c.args, "|")
		}
		var stdout, stderr bytes.Buffer
		if rc := run(args, nil, &stdout, &stderr, &daemon{}); rc != 0 || stdout.String() != c.want || stderr.Len() > 0 {
			t.Errorf("sprio %s: exit %d, %s\n%s, want\n%s", c.args, rc, &stderr, &stdout, c.want)
		}
	}
}

// TestAsks: conditions go to the daemon, and what is none is refused as by sprio.
func TestAsks(t *testing.T) {
	var stdout, stderr bytes.Buffer
	d := &daemon{}
	if rc := run([]string{"-j", "7,8", "-u", "alice", "-p", "main"}, nil, &stdout, &stderr, d); rc != 0 || d.asked != "/fed/v1/priorities?job_id=7,8&users=alice&partition=main" {
		t.Errorf("exit %d, asked %s", rc, d.asked)
	}
	for args, want := range map[string]string{"-j abc": "sprio: error: Invalid job id: abc\n", "-w": "sprio: error: the federation's factors are points that add up, without weights"} {
		stderr.Reset()
		if rc := run(strings.Fields(args), nil, &stdout, &stderr, d); rc != 1 || !strings.HasPrefix(stderr.String(), want) {
			t.Errorf("sprio %s: exit %d, %s", args, rc, &stderr)
		}
	}
}
