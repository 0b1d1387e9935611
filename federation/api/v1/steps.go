package v1

import "fsub/federation"

// StepSignal asks that a signal be sent to one step of a running job: POST /fed/v1/steps/signal. Without a Signal the step is killed. The answer is {} once that
// was passed on.
type StepSignal struct {
	Job    federation.JobID `json:"job"` // the raw number: of an array's task its own
	Step   string           `json:"step"`
	Signal string           `json:"signal,omitempty"` // "USR1" or a number
}

// Step is a step that runs.
type Step struct {
	Job      int64  `json:"job"` // raw number
	ID       string `json:"id"`
	Name     string `json:"name"`
	Nodes    string `json:"nodes"` // hostlist
	NumNodes int    `json:"num_nodes"`
	Tasks    int    `json:"tasks"`
	CPUs     int    `json:"cpus"`
	Start    int64  `json:"start"`
	TRES     string `json:"tres"`            // "cpu=2,mem=2000M,node=1"
	Layout   string `json:"layout"`          // "Block"
	Limit    int64  `json:"limit,omitempty"` // its own time limit, in seconds; 0: none
	SrunHost string `json:"srun_host,omitempty"`
	SrunPID  int    `json:"srun_pid,omitempty"`
}

// SiteSrun says how the owner of a job that runs at a Slurm cluster calls the srun of that cluster: the answer of POST /fed/v1/job/{id}/tunnel where there is no tunnel.
type SiteSrun struct {
	Site    federation.SiteName `json:"site"`
	Job     int64               `json:"job"`               // its number there
	Host    string              `json:"host,omitempty"`    // to log in at by ssh; "": it is the daemon's machine
	User    string              `json:"user,omitempty"`    // there, if it is another name than here
	Command []string            `json:"command,omitempty"` // program, with its first arguments; without it, the srun that PATH has there
}
