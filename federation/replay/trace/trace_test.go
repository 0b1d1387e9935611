package trace

import (
	"strings"
	"testing"
	"time"
)

func TestFormats(t *testing.T) {
	swf := "; UnixStartTime: 1000000000\n;\n" +
		"1 0 5 100 4 -1 -1 4 200 -1 1 7 2 3 1 1 -1 -1\n" +
		"2 10 -1 -1 4 -1 -1 4 200 -1 0 7 2 3 1 1 -1 -1\n" // never ran
	sacct := "JobIDRaw|User|Account|Submit|ElapsedRaw|TimelimitRaw|NNodes|AllocTRES|Partition\n" +
		"17|alice|ml|2026-01-02T03:04:05|3600|120|2|cpu=32,mem=64G,node=2,billing=32,gres/gpu=8,gres/gpu:h100=8|gpu\n" +
		"17.batch|alice|ml|2026-01-02T03:04:05|3600|||cpu=16|\n" +
		"18|bob|bio|2026-01-02T03:00:00|0|60|1||gpu\n"
	csv := "submit_time_s,duration_s,gpus,nodes,gpu_type,user_or_team,status\n5,60,12,1,,x,Pass\n0,30,0.5,,t4,y,Pass\n"
	for _, c := range []struct {
		name, text      string
		want, left      int
		user, per, kind string
		nodes           int
		run, limit      time.Duration
		submit          int64
	}{
		{"swf", swf, 1, 1, "user7", "", "", 0, 100 * time.Second, 200 * time.Second, 1000000000},
		{"sacct", sacct, 1, 2, "alice", "h100:4", "", 2, time.Hour, 2 * time.Hour, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Unix()},
		{"csv", csv, 2, 0, "y", "t4:1", "", 1, 30 * time.Second, 0, epoch.Unix()},
	} {
		jobs, left, err := From(strings.NewReader(c.text), c.name, Shape{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if len(jobs) != c.want || left != c.left {
			t.Errorf("%s: %d jobs and %d left out, want %d and %d", c.name, len(jobs), left, c.want, c.left)
			continue
		}
		j := jobs[0]
		if j.User != c.user || j.Spec.GPUsPerNode != c.per || j.Spec.MinNodes != c.nodes || j.Run != c.run || j.Spec.TimeLimit != c.limit || j.Submit.Unix() != c.submit {
			t.Errorf("%s: user %s, %s on each of %d nodes, runs %v of %v, submitted %v", c.name, j.User, j.Spec.GPUsPerNode, j.Spec.MinNodes, j.Run, j.Spec.TimeLimit, j.Submit)
		}
	}
	jobs, _, err := From(strings.NewReader(csv), "csv", Shape{})
	if err != nil || jobs[1].Spec.MinNodes != 2 || jobs[1].Spec.GPUsPerNode != "6" {
		t.Errorf("twelve GPUs on nodes of eight: %s on each of %d, %v", jobs[1].Spec.GPUsPerNode, jobs[1].Spec.MinNodes, err)
	}
}

func TestBadTraces(t *testing.T) {
	for text, want := range map[string]string{
		"a,b\n1,2\n":                                  "want submit_time_s and duration_s",
		"submit_time_s,duration_s\n1,x\n":             `trace: job 1: invalid run "x"`,
		"1 2 3\n":                                     "3 fields, want the 18",
		"JobID|User|State|Partition\n1|a|b|c\n":       "run sacct -a -X -P -o",
		"submit_time_s,duration_s\n":                  "no jobs",
		"submit_time_s,duration_s\nyesterday,3\n":     `invalid time "yesterday"`,
		"1 0 5 1x 4 -1 -1 4 2 -1 1 7 2 3 1 1 -1 -1\n": `field 4: invalid number "1x"`,
	} {
		if _, _, err := From(strings.NewReader(text), "trace", Shape{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
