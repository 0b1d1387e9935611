package bed

import (
	"encoding/json"
	"strings"
	"testing"
)

// parsed is a line that a command prints with ParseConf.
type parsed struct {
	Component int
	Options   map[string]any
}

func testParse(t *testing.T, b *Bed, site string) {
	script := b.Home("alice") + "/het-" + site
	got, err := b.Output(t.Context(), site, "alice", "bash", "-c", `printf '#!/bin/bash\n#SBATCH -t 90 -J first\n#SBATCH hetjob\n#SBATCH -N2\n' > `+script+
		`; SLURM_CONF=`+ParseConf+` FSUB_BED_COMPONENTS=2 SBATCH_ACCOUNT=physics sbatch --nice=3 `+script+`; echo exit $?; squeue -h -n first`)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(got), "\n")
	if len(lines) != 3 || lines[2] != "exit 1" {
		t.Fatalf("sbatch of two components printed %q", got)
	}
	for i, want := range []map[string]string{
		{"job-name": "first", "time": "01:30:00", "nice": "3", "account": "physics"}, {"nodes": "2", "nice": "3", "account": "physics"},
	} {
		var line parsed
		if err := json.Unmarshal([]byte(lines[i]), &line); err != nil || line.Component != i {
			t.Errorf("line %d: %v: %s", i, err, lines[i])
		}
		for name, value := range want {
			if line.Options[name] != value {
				t.Errorf("component %d: %s is %q, want %q", i, name, line.Options[name], value)
			}
		}
	}
}
