package v1

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
	TRES     string `json:"tres"`   // "cpu=2,mem=2000M,node=1"
	Layout   string `json:"layout"` // "Block"
}
