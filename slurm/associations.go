package slurm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"fsub/federation"
	"fsub/slurm/wire"
)

// associations are slurmdbd's, kept for a minute, and longer while slurmdbd does not answer.
type associations struct {
	list     federation.Associations
	accounts []federation.Account
	strict   map[string]time.Duration
	read     time.Time
	after    int    // how many changes of the federation's own it was read after
	down     string // why slurmdbd does not answer; "": it does
}

const associationsAge = time.Minute

// members knows who may run at the site, and what licenses there are. It asks once a minute.
type members struct {
	*site
	queue *queue

	mu       sync.Mutex
	assocs   associations
	changes  int // of the accounts there, made by the federation
	licenses licenses
}

// associationsNow returns who may run at the site, nil for everybody. Without slurmdbd there are
// none. If slurmdbd does not answer, the old ones stay in force; where there are no old ones slurmctld, which has a copy of its own, judges.
func (m *members) associationsNow(ctx context.Context) (associations, error) {
	if m.cfg.NoAssociations {
		return associations{}, nil
	}
	now := m.c.now()
	m.mu.Lock()
	have, changes := m.assocs, m.changes
	m.mu.Unlock()
	if !have.read.IsZero() && now.Sub(have.read) < associationsAge && have.after == changes && have.down == "" && !m.c.noAccounting.Load() {
		return have, nil
	}
	fresh, err := m.readAssociations(ctx)
	if errors.Is(err, errNoEndpoint) {
		fresh, err = associations{}, nil
	}
	if err != nil {
		if errors.Is(err, federation.ErrDenied) || ctx.Err() != nil {
			return associations{}, err
		}
		since := "since the daemon's start; slurmctld judges who may run"
		if !have.read.IsZero() {
			since = fmt.Sprintf("since %s; its associations of then are used", have.read.UTC().Format(time.RFC3339))
		}
		have.down = fmt.Sprintf("slurmdbd has not answered %s: %v", since, err)
		m.mu.Lock()
		m.assocs.down = have.down
		m.mu.Unlock()
		return have, nil
	}
	fresh.read, fresh.after = now, changes
	m.mu.Lock()
	m.assocs = fresh
	m.mu.Unlock()
	return fresh, nil
}

// changed has the next look read the associations again.
func (m *members) changed() {
	m.mu.Lock()
	m.changes++
	m.mu.Unlock()
}

// accountingAnswers asks slurmdbd for proof that it answers. The next look reads the associations anew if it does not.
func (m *members) accountingAnswers(ctx context.Context) bool {
	var a wire.WCKeysResponse
	err := m.c.do(ctx, request{op: "tres", method: http.MethodGet, db: true, path: wire.PathDBTRES}, &a)
	answers := err == nil && len(a.Errors) == 0 || errors.Is(err, errNoEndpoint)
	m.c.noAccounting.Store(!answers)
	return answers
}

func (m *members) readAssociations(ctx context.Context) (associations, error) {
	var a wire.AssociationsResponse
	r := request{op: "associations", method: http.MethodGet, db: true, path: wire.PathDBAssociations}
	if err := m.c.do(ctx, r, &a); err != nil {
		return associations{}, err
	}
	if len(a.Errors) > 0 {
		return associations{}, fmt.Errorf("site %s: associations: %w", m.cfg.Name, slurmError(federation.ErrUnavailable, a.Errors[0], ""))
	}
	cluster := a.Meta.Slurm.Cluster
	if cluster == "" { // Slurm older than 23.11 does not say which it is
		cluster = m.queue.clusterName(ctx)
	}
	out := associations{list: federation.Associations{}, strict: m.strictQOS(ctx)}
	for _, x := range a.Associations {
		if x.Flags.Has("DELETED") || (x.Cluster != cluster && cluster != "") {
			continue
		}
		if x.User == "" {
			out.accounts = append(out.accounts, federation.Account{Name: x.Account, Parent: x.ParentAccount, ID: int64(x.ID), QOS: x.QOS,
				DefaultQOS: x.Default.QOS, Shares: x.SharesRaw})
			continue
		}
		as := federation.Association{Account: x.Account, Partition: x.Partition, QOS: x.QOS, Default: x.IsDefault,
			ID: int64(x.ID), DefaultQOS: x.Default.QOS, Shares: x.SharesRaw}
		if as.Default {
			out.list[x.User] = append([]federation.Association{as}, out.list[x.User]...)
		} else {
			out.list[x.User] = append(out.list[x.User], as)
		}
	}
	return out, nil
}

// strictQOS are the site's QOS with DenyOnLimit and a limit of time. None where slurmrestd does not tell of them: slurmctld refuses their jobs then.
func (m *members) strictQOS(ctx context.Context) map[string]time.Duration {
	var a wire.QOSResponse
	if err := m.c.do(ctx, request{op: "qos", method: http.MethodGet, db: true, path: wire.PathDBQOS}, &a); err != nil {
		return nil
	}
	out := map[string]time.Duration{}
	for _, q := range a.QOS {
		if longest := q.Limits.Max.WallClock.Per.Job; q.Flags.Has(restWords["DenyOnLimit"]) && longest.Set && !longest.Infinite {
			out[q.Name] = time.Duration(longest.Value()) * time.Minute
		}
	}
	return out
}
