package idle

import "fsub/federation/ident"

// Held is a running job that has left idle what it holds for as long as its rule says.
type Held struct {
	Job     ident.JobID
	Site    ident.SiteName
	Account string // of the account tree, that pays for it; "": none does
	GPUs    int    // that it holds; 0: it holds none, and its CPUs are idle
	// Now: it is known to be idle still. Else nothing has been heard of it since, as after a restart of the daemon.
	Now  bool
	Text string // who was told, as [Record.String] has it; "": nobody yet
}

// Comment is what Slurm's commands show of it as the job's SystemComment; "": nothing.
func (h *Held) Comment() string {
	if h.Text == "" {
		return ""
	}
	return Name + ": " + h.Text
}
