package slurm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"fsub/federation"
	"fsub/slurm/wire"
)

// translation is how one API version differs from the shapes of package wire. A version that a further file adds goes
// into versions, newest first.
type translation struct {
	version string
	// old: a job ID cannot be chosen, there is no /jobs/state/, and jobs are signalled one by one.
	old bool
	// describe gives the body of a submission.
	describe func(*federation.Submission, how) (any, error)
	// decode reads any answer into its shape.
	decode func(body []byte, into any) error
	// lacks are the options of sbatch, by name, that the version has no word for. They are those that [sbatch.Spec.Uses] knows.
	lacks []string
}

// how says what a submission may hold.
type how struct {
	pinned bool // the job ID
	others bool // another user than the token's, and the comment of administrators
	argv   bool // arguments of the script
	// until2302: the site is Slurm 23.02 or older.
	until2302 bool
}

// versions are the API versions that this package can speak, in order of preference.
var versions = []*translation{v42("v0.0.45"), v42("v0.0.44", "cores-per-socket"), v42("v0.0.43", "cores-per-socket"),
	v42("v0.0.42", "cores-per-socket"), v38()}

// errNoEndpoint: slurmrestd does not know the path, hence not the version or the plugin.
var errNoEndpoint = fmt.Errorf("%w: slurmrestd has no such operation", federation.ErrUnavailable)

// negotiated returns the newest version that both sides speak. The site is asked once, and again after a call was answered
// with "no such operation". /ping/ is asked because it needs no slurmctld.
func (c *client) negotiated(ctx context.Context) (*translation, error) {
	if tr := c.api.Load(); tr != nil {
		return tr, nil
	}
	for _, tr := range versions {
		r := request{op: "negotiate", method: http.MethodGet}
		status, body, err := c.send(ctx, r, wire.Slurm(tr.version, wire.PathPing))
		if err == nil {
			err = c.judge(r, tr, status, body, new(wire.PingResponse))
		}
		if errors.Is(err, errNoEndpoint) {
			continue
		}
		if errors.Is(err, errUnspecified) {
			err = c.whyUnspecified(ctx, r, err)
		}
		if err != nil {
			return nil, fmt.Errorf("site %s: %w", c.cfg.Name, err)
		}
		c.api.Store(tr)
		c.cfg.Logger.Info("API version negotiated", "site", c.cfg.Name, "version", tr.version)
		return tr, nil
	}
	return nil, fmt.Errorf("site %s: %w: it speaks none of the API versions v0.0.42 to %s (Slurm 24.11 and later do) and not %s (22.05 to 23.11)", c.cfg.Name,
		federation.ErrUnavailable, versions[0].version, versions[len(versions)-1].version)
}

// until2302 reports whether the site is Slurm 23.02 or older.
func (c *client) until2302() bool {
	release, _ := c.release.Load().(string)
	return strings.HasPrefix(release, "22.") || strings.HasPrefix(release, "23.02")
}

// takesArguments reports whether a script may have arguments: slurmrestd before 22.05.9 accepts
// such a job, and crashes.
func (c *client) takesArguments() bool {
	release, _ := c.release.Load().(string)
	patch, ok := strings.CutPrefix(release, "22.05.")
	n, err := strconv.Atoi(patch)
	return !ok || err == nil && n >= 9
}
