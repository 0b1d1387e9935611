package slurm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"fsub/federation"
	"fsub/slurm/wire"
)

// standing is what our token may do at the site.
type standing struct {
	known  bool
	mapped bool
	// onlyUser is the one user for whom the token acts, "" if it acts for all.
	onlyUser string
	// each: every user has a token of his own, and onlyUser is "".
	each bool
	// wckey: the site takes no notice of workload characterization keys, so that ours can be the key. Otherwise it is in the comment.
	wckey bool
}

// rights knows what our token may do at the site.
type rights struct {
	*site
	mu     sync.Mutex
	stands standing    // once the site was asked
	sees   atomic.Bool // where each user has a token, the reader was seen to see the jobs of others
}

// standing finds out what the token may do, once.
func (rt *rights) standing(ctx context.Context) (standing, error) {
	rt.mu.Lock()
	st := rt.stands
	rt.mu.Unlock()
	if st.known {
		return st, nil
	}
	if rt.cfg.Mode == federation.Pinned { // Observe makes sure
		return standing{}, nil
	}
	st, err := rt.probe(ctx)
	if err != nil {
		return st, err
	}
	rt.set(st)
	return st, nil
}

func (rt *rights) set(st standing) {
	rt.mu.Lock()
	rt.stands = st
	rt.mu.Unlock()
}

// of is the standing that counts for one job: at a site that has become pinned there may still be jobs under numbers of its own.
func (st standing) of(ref federation.JobRef) standing {
	if ref.SiteJobID != 0 && ref.SiteJobID != uint32(ref.Pinned()) {
		st.mapped = true
	}
	return st
}

// probe asks the site what the token may do.
func (rt *rights) probe(ctx context.Context) (standing, error) {
	tr, err := rt.c.negotiated(ctx)
	if err != nil {
		return standing{}, err
	}
	st := standing{known: true, mapped: tr.old || rt.cfg.Mode == federation.Mapped}
	all := false
	switch {
	case rt.c.users != nil:
		st.each = true
		_, err = rt.diag(ctx)
	case tr.old:
		all, err = rt.actsAsOthers(ctx)
	default:
		all, err = rt.choosesIDs(ctx, tr)
	}
	if err != nil {
		return standing{}, err
	}
	if !all {
		st.mapped = true
	}
	if !all && !st.each {
		st.onlyUser = rt.c.tokens.name()
	}
	switch {
	case rt.cfg.Mode == federation.Pinned && st.mapped:
		return standing{}, fmt.Errorf("site %s: %w", rt.cfg.Name, rt.notPinned(tr))
	case st.mapped && !all && !st.each && st.onlyUser == "":
		return standing{}, fmt.Errorf("site %s: %w: the user of the %s is unknown: set user", rt.cfg.Name, federation.ErrDenied, rt.c.tokens.describe())
	case st.mapped:
		st.wckey, err = rt.noWCKeys(ctx)
	}
	return st, err
}

// choosesIDs finds out whether the site lets us choose job IDs and users. slurmctld checks that late: the request below names a
// reservation that cannot exist and is refused in any case, but with another number.
func (rt *rights) choosesIDs(ctx context.Context, tr *translation) (bool, error) {
	hold := true
	desc := &wire.JobDesc{JobID: int64(rt.cfg.LastID), UserID: "0", GroupID: "0", Name: "fsub-probe", Reservation: "fsub-no-such-reservation", Hold: &hold,
		WorkDir: "/", Environment: wire.Environment{"FSUB=probe"}, Script: "#!/bin/true\n"}
	var a wire.JobSubmitResponse
	r := request{op: "probe", method: http.MethodPost, path: wire.PathJobSubmit, body: wire.JobSubmitRequest{Job: desc}}
	if err := rt.c.do(ctx, r, &a); err != nil {
		return false, err
	}
	for _, e := range a.Errors {
		if e.Number == wire.ErrJobID || e.Number == wire.ErrUserID || e.Number == wire.ErrAccess {
			return false, nil
		}
	}
	return true, nil
}

// actsAsOthers finds out whether the token allows calls in another user's name. It first checks
// that the token is valid at all.
func (rt *rights) actsAsOthers(ctx context.Context) (bool, error) {
	if _, err := rt.diag(ctx); err != nil {
		return false, err
	}
	var a wire.DiagResponse
	err := rt.c.do(ctx, request{op: "probe", method: http.MethodGet, path: wire.PathDiag, as: "nobody"}, &a)
	if errors.Is(err, federation.ErrDenied) {
		return false, nil
	}
	return err == nil, err
}

// noWCKeys reports whether slurmdbd keeps no list of workload characterization keys, which it does where they are tracked.
func (rt *rights) noWCKeys(ctx context.Context) (bool, error) {
	var a wire.WCKeysResponse
	err := rt.c.do(ctx, request{op: "wckeys", method: http.MethodGet, db: true, path: wire.PathDBWCKeys}, &a)
	if errors.Is(err, errNoEndpoint) {
		return true, nil
	}
	return err == nil && len(a.WCKeys) == 0, err
}

// notPinned says why the site cannot be used in pinned mode, and what to do.
func (rt *rights) notPinned(tr *translation) error {
	detail := fmt.Sprintf("the site does not let the %s choose job IDs: use a token of its SlurmUser (scontrol show config | grep SlurmUser), or mode: mapped", rt.c.tokens.describe())
	if tr != nil && tr.old {
		detail = "API version " + tr.version + " has no word for job IDs: use mode: mapped"
	}
	return &federation.SlurmError{Kind: federation.ErrDenied, Number: wire.ErrJobID, Text: wire.Strerror(wire.ErrJobID), Detail: detail}
}

// onlyFor refuses what the token does not allow.
func (rt *rights) onlyFor(st standing, user string) error {
	if st.onlyUser == "" || st.onlyUser == user {
		return nil
	}
	return fmt.Errorf("%w: its token acts for %s only", federation.ErrDenied, st.onlyUser)
}
