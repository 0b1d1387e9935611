package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	v1 "fsub/federation/api/v1"
	"fsub/sbatch"
)

// script is an ordinary batch script of about 1 KiB.
var script = `#!/bin/bash
#SBATCH --job-name=bench
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --time=00:10:00
#SBATCH --output=/dev/null
` + strings.Repeat("# A line of the kind of which people's scripts have many: it does nothing.\n", 10) + `
set -euo pipefail
export OMP_NUM_THREADS=1
exit 0
`

// environment is about what a login shell gives a job: 30 variables.
func environment(home string) []string {
	env := []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + home, "USER=alice", "LOGNAME=alice",
		"SHELL=/bin/bash", "LANG=C.UTF-8", "TERM=xterm-256color", "PWD=" + home, "SHLVL=1", "EDITOR=vi",
	}
	for i := len(env); i < 30; i++ {
		env = append(env, fmt.Sprintf("BENCH_VARIABLE_%02d=/opt/software/of/some/name/%02d/bin", i, i))
	}
	return env
}

// submitBody is script, environment and directives as fsub sends them.
func submitBody(home string, hold bool) []byte {
	spec := sbatch.Spec{
		Name: "bench", MinNodes: 1, MaxNodes: 1, NTasks: 1, TimeLimit: 10 * time.Minute, Output: "/dev/null", WorkDir: home, Hold: hold,
	}
	return mustJSON(v1.SubmitRequest{Spec: spec, Payload: sbatch.Payload{Script: script, Environment: environment(home)}})
}

// restBody is the same for slurmrestd.
func restBody(home string, hold bool) []byte {
	return mustJSON(map[string]any{"job": map[string]any{
		"name": "bench", "nodes": "1", "tasks": 1, "time_limit": 10, "standard_output": "/dev/null", "current_working_directory": home,
		"hold": hold, "script": script, "environment": environment(home),
	}})
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
