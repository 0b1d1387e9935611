package trace

import (
	"bytes"
	"compress/gzip"
	"errors"
	"strings"
	"testing"
	"time"

	"fsub/federation/replay"
)

// FuzzFrom reads traces of all forms: what it takes are jobs that can be planned, in order, and an error names the file.
func FuzzFrom(f *testing.F) {
	for _, text := range []string{
		"; UnixStartTime: 1000000000\n;\n1 0 5 100 4 -1 -1 4 200 -1 1 7 2 3 1 1 -1 -1\n2 10 -1 -1 4 -1 -1 4 200 -1 0 7 2 3 1 1 -1 -1\n",
		"JobIDRaw|User|Account|Submit|ElapsedRaw|TimelimitRaw|NNodes|AllocTRES|Partition\n17|alice|ml|2026-01-02T03:04:05|3600|120|2|cpu=32,mem=64G,node=2,gres/gpu:h100=8|gpu\n17.batch|a|b|c|d|||\n",
		"JobID|Submit|Elapsed|Timelimit\n17|2026-01-02T03:04:05|1-02:03:04|UNLIMITED\n",
		"submit_time_s,duration_s,gpus,nodes,gpu_type,user_or_team,mem_mib\n5,60,12,1,,x,1\n0,30,0.5,,t4,y,\n",
		"submit,start,end,time_limit\n2026-01-31T08:00:00,1,2,60\n",
	} {
		f.Add([]byte(text))
		var z bytes.Buffer
		w := gzip.NewWriter(&z)
		_, _ = w.Write([]byte(text))
		_ = w.Close()
		f.Add(z.Bytes())
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		jobs, left, err := From(bytes.NewReader(text), "trace", Shape{Max: 1000})
		if err != nil {
			if !strings.HasPrefix(err.Error(), "trace: ") {
				t.Errorf("%v does not name the file", err)
			}
			return
		}
		if len(jobs) == 0 || left < 0 || errors.Is(err, replay.ErrNoJobs) {
			t.Errorf("%d jobs, %d left out", len(jobs), left)
		}
		var last time.Time
		for i := range jobs {
			j := &jobs[i]
			s := j.Spec
			if j.Run < time.Second || s.TimeLimit < 0 || s.MinNodes < 0 || s.NTasks < 1 || s.CPUsPerTask < 1 || s.MemPerNode < 0 || strings.Contains(s.GPUsPerNode, "-") && !strings.Contains(s.GPUsPerNode, ":") {
				t.Errorf("job %d runs %v of %v on %d nodes, %d tasks of %d CPUs, %d MiB, %s GPUs", i, j.Run, s.TimeLimit, s.MinNodes, s.NTasks, s.CPUsPerTask, s.MemPerNode, s.GPUsPerNode)
			}
			if y := j.Submit.Year(); j.Submit.Before(last) || y < 1970 || y > 2200 {
				t.Errorf("job %d is submitted at %v, after one of %v", i, j.Submit, last)
			}
			last = j.Submit
		}
	})
}
