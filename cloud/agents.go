package cloud

import (
	"context"
	"io"
	"net/http"

	"fsub/cloud/agentapi"
	"fsub/federation"
	"fsub/federation/tunnel"
)

// MachineID is our name of a machine: the site's name, a colon, the number of its gang and its
// index there: "aws:17.0". The agent server finds the site's driver by it.
type MachineID string

// Agents is what the agent server needs of a site's driver on behalf of its machines. The agent
// server checks tokens; the driver does not.
type Agents interface {
	// Hello lets in a machine of the gang named by token, once per machine (the same nonce may come again). ErrDenied: no such gang, the
	// machine is not of it, it was let in already, or the gang is over. ErrConflict: not recorded yet, ask again.
	Hello(ctx context.Context, gang string, h agentapi.Hello) (Let, error)
	// Poll returns the machine's orders as soon as they are not those of p.Version, or ctx ends: then the same ones again. ErrDenied: the machine
	// is not one any more.
	Poll(ctx context.Context, m MachineID, p agentapi.Poll) (agentapi.Orders, error)
	// Report returns when what was told is in the records.
	Report(ctx context.Context, m MachineID, r agentapi.Report) error
	// Log appends to the output of a run on this machine, from the offset it begins at, and returns how much there is now. ErrConflict: there is a gap
	// before it, and the size tells where to go on. ErrDenied: the run is not one of this machine's.
	Log(ctx context.Context, m MachineID, run, stream string, offset int64, body io.Reader) (size int64, err error)
	// Owner is the user of the federation whose commands run inside the run on this machine. ErrDenied: the run is not one of this machine's, or is over.
	Owner(ctx context.Context, m MachineID, run string) (user string, err error)
	// Stream hands over a connection that the machine was ordered to make, to the caller of Connect, by the ID of the order. ErrNotFound: nobody waits for it
	// (any more). The connection is made by accept.
	Stream(m MachineID, id string, accept func() (tunnel.End, error)) error
	// Asking tells that a command inside the run asks for something to be changed, until answered is called. A cancellation or requeue of the run
	// that comes meanwhile reaches its machines after the answer, so that "scontrol requeue $SLURM_JOB_ID" is not killed before it has succeeded.
	Asking(run string) (answered func())
}

// Let is a machine that was let in.
type Let struct {
	Machine MachineID
	Node    string // its host name
	Welcome agentapi.Welcome
}

// AgentServer is what a driver needs of the agent server: how its machines find it. Package
// agentserver implements it.
type AgentServer interface {
	http.Handler
	// Boot fills in URL, Pin, Token, Expires and the agent of a gang's boot data. Equal arguments give equal data.
	Boot(site federation.SiteName, gang string, provider agentapi.Boot) (agentapi.Boot, error)
	// Servers are the addresses that are told to machines where several daemons share a database: of all their agent servers, this one's first. nil: there is one daemon.
	Servers() []string
	// Add lets the machines of a site in.
	Add(site federation.SiteName, a Agents)
}
