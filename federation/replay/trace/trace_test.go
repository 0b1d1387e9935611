package trace

import (
	"bytes"
	"compress/gzip"
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
		{"sacct", sacct, 1, 1, "alice", "h100:4", "", 2, time.Hour, 2 * time.Hour, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Unix()},
		{"csv", csv, 2, 0, "y", "t4:1", "", 1, 30 * time.Second, 0, epoch.Unix()},
		{"csv of a spreadsheet", "\ufeff" + strings.ReplaceAll(strings.ReplaceAll(csv, ",", ";"), "\n", "\r\n"), 2, 0, "y", "t4:1", "", 1, 30 * time.Second, 0, epoch.Unix()},
		{"tabs", strings.ReplaceAll(csv, ",", "\t"), 2, 0, "y", "t4:1", "", 1, 30 * time.Second, 0, epoch.Unix()},
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

// compressed is text as gzip has it.
func compressed(t *testing.T, text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	z.Close()
	return b.String()
}

func TestBadTraces(t *testing.T) {
	const head, sacct = "submit_time_s,duration_s,gpus\n", "JobIDRaw|User|Submit|ElapsedRaw\n"
	cut := compressed(t, head+"0,1,1\n0,1,1\n")
	cut = cut[:len(cut)-9] // of its end there is the checksum, and a byte of the text
	for text, want := range map[string]string{
		"":                                     "no jobs to replay: it is empty",
		"\n\n":                                 "no jobs to replay: it is empty",
		head:                                   "no jobs to replay",
		head + "1,0,\n":                        "no jobs to replay: of 1 none ever ran",
		"hello world\n":                        "not a trace: want the Standard Workload Format (18 numbers in a line), what sacct -P prints, or CSV",
		"[{\"submit\": 1, \"run\": 2}]":        "not a trace",
		"\x7fELF\x01\x00,\x00":                 "not a trace",
		"a,b\n1,2\n":                           `its first line is "a,b": want the names of columns, submit_time_s and duration_s at least`,
		head + "0,1,1\n1,x,\n":                 `trace: line 3: invalid duration_s "x": want a number of seconds`,
		head + "0,1,1\n0,1,-1\n":               `trace: line 3: invalid gpus "-1": want a number, 0 or more`,
		head + "0,1\n":                         "trace: line 2: 2 columns, want the 3 that the first line names",
		head + "yesterday,3,\n":                `line 2: invalid submit_time_s: invalid time "yesterday": want seconds, or 2026-01-31T08:00:00`,
		"; made by hand, of no use\n\n1 2 3\n": "line 3: 3 fields, want the 18",
		"1 -1 5 10 4 -1 -1 4 2 -1 1 7 2 3 1 1 -1 -1\n":    `line 1: field 2: invalid time of submission "-1": want a number of seconds`,
		"1 0 5 10 1e300 -1 -1 4 2 -1 1 7 2 3 1 1 -1 -1\n": `line 1: invalid number of processors: fields 5 and 8 are "1e300" and "4"`,
		"1 0 5 10 4 -1 -1 nan 2 -1 1 7 2 3 1 1 -1 -1\n":   `line 1: invalid number of processors: fields 5 and 8 are "4" and "nan"`,
		"1 0 5 1x 4 -1 -1 4 2 -1 1 7 2 3 1 1 -1 -1\n":     `line 1: field 4: invalid number "1x"`,
		"1|a|2026-01-02T03:04:05|9\n":                     `its first line is "1|a|2026-01-02T03:04:05|9", and names no columns Submit and ElapsedRaw: run sacct -a -X -P -o`,
		"JobID           JobName\n----- ------\n":         "no | between its columns: run sacct -a -X -P -o",
		"     User        JobID\n----- ------\n":          "no | between its columns: run sacct -a -X -P -o",
		"\x1f\x8bxx":                                      "not gzip, though it begins like that",
		cut:                                               "line 4: the file ends in the middle of it: unexpected EOF",
		"submit_time_s,\"duration\nx,y":                   `line 2: extraneous or missing " in quoted-field`,
		sacct + "7|a|2026-01-02T03:04:05|9\n8|a\n":        "line 3: 2 columns, want the 4 that the first line names",
		sacct + "7|a|2026-01-02T03:04:05|soon\n":          `line 2: invalid ElapsedRaw "soon": want a number of seconds`,
		sacct + "7|a|Unknown|9\n":                         `line 2: Submit: invalid time "Unknown": want seconds, or`,
	} {
		if _, _, err := From(strings.NewReader(text), "trace", Shape{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, _, err := Read(t.TempDir(), Shape{}); err == nil || strings.Contains(err.Error(), "read ") || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("a directory: %v", err)
	}
}
