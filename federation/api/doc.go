// Package api is the daemon's HTTP API: slurmrestd's own paths and shapes (package slurm/wire), so that
// every tool that speaks slurmrestd sees the federation as one cluster, and /fed/v1 (package v1) for what Slurm has no
// word for. The server knows a caller by what the kernel says of the other end of the unix socket.
//
// Start with [Server]; routes.go lists /fed/v1. Package restd answers as slurmrestd does and lists jobs in its shape, submission judges what
// users ask of jobs, queue keeps what squeue lists, identity says who calls, and answer how requests are answered and refused. Package client is
// the Go client. The handlers of /fed/v1 are here, a file for each noun.
// Nothing here waits for a site: what is shown is what the store and the controller's last looks say.
package api

import (
	"context"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/spending"
)

// Controller is what the API needs of the controller. None of the methods waits for a site.
type Controller interface {
	// Judge reports as *federation.SlurmError why no site can ever run j, nil if one may.
	Judge(j *federation.Job) error
	// Decision says what placement thinks of a job now, as if it were alone.
	Decision(j *federation.Job) decision.Decision
	// Explain says why a job is where it is. It may wait for the controller's round, for a moment.
	Explain(ctx context.Context, j *federation.Job) decision.Explained
	Priority(j *federation.Job) []decision.PriorityPart
	// Starts tells when jobs that wait are expected to start, as far as that is known. It may wait for the controller's round, and not change what it returns.
	Starts(ctx context.Context) (decision.Starts, error)
	// Spendings tells what the jobs that run have come to. It may wait for the controller's round, and not change what it returns.
	Spendings(ctx context.Context) (spending.Spendings, error)
	// Try says when and where j would start if it were submitted now. It fails with what Judge says of a job that can run nowhere.
	Try(ctx context.Context, j *federation.Job) (decision.Trial, error)
	// Sites are the members of the federation as last seen, by name. The values are shared: do not change them.
	Sites() []*federation.Site
	// Wake tells that something was written to the store: a job or a request.
	Wake()
	// LookAt asks for a look at a site's jobs out of turn.
	LookAt(site federation.SiteName)
	// Settled waits until each of the requests seqs has been carried out as far as the daemon can alone, or for at most d. They were written just now.
	Settled(ctx context.Context, seqs []int64, d time.Duration)
}
