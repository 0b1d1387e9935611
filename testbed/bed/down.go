package bed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Down stops sites, or all of them when names is empty: daemons in order, then the namespaces with all that is left in them, then links and routes.
// With wipe it removes their state too, and of the whole bed when all are named. The cache of root filesystems stays.
func (b *Bed) Down(ctx context.Context, names []string, wipe bool, progress io.Writer) error {
	all := len(names) == 0
	if all {
		names = AllSites()
	}
	sites, err := b.pickSites(names)
	if err != nil {
		return err
	}
	unlock, err := b.lock()
	if err != nil {
		return err
	}
	defer unlock()
	say := newTeller(progress)
	if err := each(sites, func(s Site) error { return b.downSite(ctx, s, say) }); err != nil {
		return err
	}
	if err := b.dropRoute(ctx); err != nil {
		return err
	}
	if !wipe {
		return nil
	}
	if all {
		return b.wipe()
	}
	return each(sites, func(s Site) error { return os.RemoveAll(b.siteDir(s.Name)) })
}

// dropRoute removes the guard route when no site is left behind it.
func (b *Bed) dropRoute(ctx context.Context) error {
	st, err := b.loadState()
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, s := range Sites {
		if _, ok := b.holder(s.Name); ok {
			return nil
		}
	}
	return removeGuard(ctx, st.Subnet)
}

// downSite stops one site. A site that is down already is not an error.
func (b *Bed) downSite(ctx context.Context, s Site, say teller) error {
	holder, ok := b.holder(s.Name)
	if ok {
		b.stopServices(s, holder, say)
		if err := killHolder(holder); err != nil {
			return fmt.Errorf("stop %s: %w", s.Name, err)
		}
		say("%s is down", s.Name)
	}
	st, err := b.loadState()
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return b.clear(ctx, st, s)
}

// clear removes what may be left of a site that is down: its state file, a holder that its starter did not live to write down, its link.
func (b *Bed) clear(ctx context.Context, st state, s Site) error {
	os.Remove(filepath.Join(b.siteDir(s.Name), "site.json"))
	orphans, err := processes(func(p process) bool { return slices.Equal(p.argv, b.holderArgs(s)) })
	if err != nil {
		return err
	}
	for _, p := range orphans {
		id, err := identify(p.pid)
		if err != nil {
			continue
		}
		if err := killHolder(id); err != nil {
			return fmt.Errorf("clear %s: %w", s.Name, err)
		}
	}
	return b.disconnect(ctx, siteLink(st.Subnet, s.Index).Device)
}

// stopServices ends the daemons in the reverse of their order, so that state and accounting are saved. One that does not
// end in time ends with the namespace.
func (b *Bed) stopServices(s Site, holder procID, say teller) {
	var first, last []service
	for _, v := range b.services(s) {
		if v.atOnce() {
			last = append(last, v)
		} else {
			first = append(first, v)
		}
	}
	stop := func(v service) error {
		if err := end(holder, v, unix.SIGTERM, time.Minute); err != nil {
			say("%s: %v", s.Name, err)
		}
		return nil
	}
	each(last, stop)
	for _, v := range slices.Backward(first) {
		stop(v)
	}
}

// killHolder ends a site's first process, and with it the kernel ends all others, and waits until they are gone.
func killHolder(holder procID) error {
	ps, err := processesOf(holder)
	if err != nil {
		return nil // gone in between
	}
	var ids []procID
	for _, p := range ps {
		if id, err := identify(p.pid); err == nil {
			ids = append(ids, id)
		}
	}
	if err := signal(holder.PID, unix.SIGKILL); err != nil {
		return err
	}
	deadline := time.Now().Add(endLimit)
	for _, id := range append(ids, holder) {
		for id.alive() {
			if time.Now().After(deadline) {
				return fmt.Errorf("process %d does not end", id.PID)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	return nil
}

// wipe removes the bed's directory, but nothing that it did not make.
func (b *Bed) wipe() error {
	for _, name := range []string{"sites", "roots", "home", "fed", "bin", "login", "bed.json", "lock"} {
		if err := os.RemoveAll(filepath.Join(b.opts.Dir, name)); err != nil {
			return err
		}
	}
	os.Remove(b.opts.Dir) // stays when it holds something of somebody else
	return nil
}
