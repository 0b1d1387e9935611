package slurm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"fsub/federation"
	"fsub/slurm/wire"
)

// associations are slurmdbd's, kept for a minute, and longer while slurmdbd does not answer.
type associations struct {
	list federation.Associations
	read time.Time
}

const associationsAge = time.Minute

// associationsNow returns who may run at the site, nil for everybody. Without slurmdbd there are none; one that does not
// answer leaves the old ones in force, and is an error only if there are no old ones.
func (d *Driver) associationsNow(ctx context.Context) (federation.Associations, error) {
	if d.cfg.NoAssociations {
		return nil, nil
	}
	now := d.c.now()
	d.mu.Lock()
	have := d.assocs
	d.mu.Unlock()
	if !have.read.IsZero() && now.Sub(have.read) < associationsAge {
		return have.list, nil
	}
	list, err := d.readAssociations(ctx)
	if errors.Is(err, errNoEndpoint) {
		list, err = nil, nil
	}
	if err != nil {
		if have.read.IsZero() || errors.Is(err, federation.ErrDenied) {
			return nil, err
		}
		d.remarks.add(fmt.Sprintf("slurmdbd has not answered since %s; its associations of then are used", have.read.UTC().Format(time.RFC3339)))
		return have.list, nil
	}
	d.mu.Lock()
	d.assocs = associations{list: list, read: now}
	d.mu.Unlock()
	return list, nil
}

func (d *Driver) readAssociations(ctx context.Context) (federation.Associations, error) {
	var a wire.AssociationsResponse
	r := request{op: "associations", method: http.MethodGet, db: true, path: wire.PathDBAssociations}
	if err := d.c.do(ctx, r, &a); err != nil {
		return nil, err
	}
	if len(a.Errors) > 0 {
		return nil, fmt.Errorf("site %s: associations: %w", d.cfg.Name, slurmError(federation.ErrUnavailable, a.Errors[0], ""))
	}
	list := federation.Associations{}
	for _, x := range a.Associations {
		if x.User == "" || x.Flags.Has("DELETED") || (x.Cluster != a.Meta.Slurm.Cluster && a.Meta.Slurm.Cluster != "") {
			continue
		}
		as := federation.Association{Account: x.Account, Partition: x.Partition, QOS: x.QOS, Default: x.IsDefault}
		if as.Default {
			list[x.User] = append([]federation.Association{as}, list[x.User]...)
		} else {
			list[x.User] = append(list[x.User], as)
		}
	}
	return list, nil
}
