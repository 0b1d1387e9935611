package bed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Up starts sites, or the default ones when names is empty, and returns when their nodes are idle and slurmrestd listens.
// It installs what is missing, repairs what has died, and leaves alone what runs. Progress lines go to progress.
func (b *Bed) Up(ctx context.Context, names []string, progress io.Writer) error {
	return b.install(ctx, names, progress, func(sites []Site, st state, say teller) error {
		return each(sites, func(s Site) error { return b.upSite(ctx, st, s, say) })
	})
}

// Install makes everything ready for Up, but starts no site.
func (b *Bed) Install(ctx context.Context, names []string, progress io.Writer) error {
	return b.install(ctx, names, progress, func([]Site, state, teller) error { return b.dropRoute(ctx) })
}

// install makes sites ready and calls then, while no other Up or Down is at work on the bed.
func (b *Bed) install(ctx context.Context, names []string, progress io.Writer, then func([]Site, state, teller) error) error {
	sites, err := b.pickSites(names)
	if err != nil {
		return err
	}
	unlock, err := b.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := checkNamespaces(); err != nil {
		return err
	}
	say := newTeller(progress)
	if err := b.installHostPackages(ctx, say); err != nil {
		return err
	}
	st, err := b.setUp(ctx)
	if err != nil {
		return err
	}
	if err := b.provideRoots(ctx, sites, say); err != nil {
		return err
	}
	return then(sites, st, say)
}

// each does one thing for all items at the same time and returns all errors.
func each[T any](items []T, do func(T) error) error {
	errs := make([]error, len(items))
	var wg sync.WaitGroup
	for i, item := range items {
		wg.Go(func() { errs[i] = do(item) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// teller prints progress lines from several goroutines.
type teller func(format string, args ...any)

func newTeller(w io.Writer) teller {
	if w == nil {
		w = io.Discard
	}
	var mu sync.Mutex
	begun := time.Now()
	return func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(w, "%6.1fs  %s\n", time.Since(begun).Seconds(), fmt.Sprintf(format, args...))
	}
}

// upSite brings one site up, or repairs it.
func (b *Bed) upSite(ctx context.Context, st state, s Site, say teller) error {
	begun := time.Now()
	holder, ok := b.holder(s.Name)
	if !ok {
		if err := b.writeSite(st, s); err != nil {
			return fmt.Errorf("configure %s: %w", s.Name, err)
		}
		if err := b.clear(ctx, st, s); err != nil {
			return err
		}
		var err error
		if holder, err = b.startHolder(s); err != nil {
			return err
		}
		if err := writeJSON(filepath.Join(b.siteDir(s.Name), "site.json"), siteState{holder}); err != nil {
			signal(holder.PID, unix.SIGKILL)
			return err
		}
	}
	if err := b.connect(ctx, st.Subnet, s, holder); err != nil {
		return fmt.Errorf("connect %s: %w", s.Name, err)
	}
	if err := b.makeDatabase(ctx, s, holder); err != nil {
		return err
	}
	if err := b.startAll(ctx, s, holder); err != nil {
		return err
	}
	say("%s is up (%d nodes, %s) after %.1f s", s.Name, s.Nodes, b.restURL(st, s), time.Since(begun).Seconds())
	return nil
}

// startAll starts the services of a site in their order, the slurmds and slurmrestd at the same time.
func (b *Bed) startAll(ctx context.Context, s Site, holder procID) error {
	var last []service
	for _, v := range b.services(s) {
		if v.atOnce() {
			last = append(last, v)
			continue
		}
		if err := b.start(ctx, s.Name, holder, v); err != nil {
			return err
		}
		switch v.name {
		case "slurmdbd":
			if err := b.addAccounts(ctx, s, holder); err != nil {
				return err
			}
		case "slurmctld":
			if err := b.saveFirstState(ctx, s, holder, v); err != nil {
				return err
			}
		}
	}
	if err := each(last, func(v service) error { return b.start(ctx, s.Name, holder, v) }); err != nil {
		return err
	}
	return b.awaitNodes(ctx, s)
}

// awaitNodes waits until every node answers. Nodes that an operator drained or set down, or that run jobs, are fine.
func (b *Bed) awaitNodes(ctx context.Context, s Site) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		states, err := b.nodeStates(ctx, s.Name)
		waiting := len(states) == 0
		for state := range states {
			waiting = waiting || strings.HasPrefix(state, "unknown") || strings.HasSuffix(state, "*")
		}
		if err == nil && !waiting {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("nodes of %s are not ready (%v, %v): see %s", s.Name, states, err, filepath.Join(b.siteDir(s.Name), "log"))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// addAccounts gives a new site its accounts and users. What exists stays as it is.
func (b *Bed) addAccounts(ctx context.Context, s Site, holder procID) error {
	done := filepath.Join(b.siteDir(s.Name), "accounts.done")
	if _, err := os.Stat(done); err == nil {
		return nil
	}
	var script strings.Builder
	script.WriteString("set -e\n")
	add := func(format string, args ...any) {
		fmt.Fprintf(&script, "sacctmgr -i -Q add "+format+" || [ $? = 1 ]\n", args...) // 1: it exists
	}
	add("cluster %s", s.Name)
	add("account %s Cluster=%s", strings.Join(accountsOf(s.Users()), " "), s.Name)
	for _, u := range s.Users() {
		add("user %s Account=%s DefaultAccount=%s Cluster=%s", u.Name, strings.Join(u.Accounts, ","), u.Accounts[0], s.Name)
	}
	fmt.Fprintf(&script, "test $(sacctmgr -nP show user | wc -l) -ge %d\n", len(s.Users()))
	if err := b.inSite(ctx, holder, "sh", "-c", script.String()); err != nil {
		return fmt.Errorf("add accounts to %s: %w", s.Name, err)
	}
	return os.WriteFile(done, nil, 0o644)
}

func (b *Bed) restURL(st state, s Site) string {
	return "http://" + netip.AddrPortFrom(siteLink(st.Subnet, s.Index).SiteAddr, restPort).String()
}
