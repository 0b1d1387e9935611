package driver

import "context"

// Rebooter has nodes of its site rebooted, as scontrol reboot does: each once it is idle, or with ASAP once the jobs that it has now have ended.
type Rebooter interface {
	// RebootNodes returns when the site has taken the order. It is not repeated: a node would reboot once more. ErrInvalid: this site
	// cannot, and nothing was done. ErrUnavailable: it may have been done, or not.
	RebootNodes(ctx context.Context, o RebootOrder) error
}

// RebootOrder says which nodes of a site are to reboot, and how.
type RebootOrder struct {
	Nodes     []string
	Cancel    bool   // they are not to reboot after all; nothing else is said then
	ASAP      bool   // no new job starts there before it
	NextState string // RESUME or DOWN; "": as before
	Reason    string // "": the node keeps the one that it has, or gets Slurm's
}
