package daemon

import (
	"context"
	"os"
	"reflect"
	"slices"
	"strings"

	"fsub/cmd/fed/internal/config"
	"fsub/cmd/fed/internal/logging"
	"fsub/cmd/fed/internal/systemd"
	"fsub/federation/controller"
)

// reloader reads the configuration again when the daemon gets SIGHUP, and changes what can be changed while it runs.
type reloader struct {
	*parts
	read func() (config.Config, error)
	hup  <-chan os.Signal
	now  config.Config // what is in force

	systemd *systemd.Manager

	logs  *logging.Log
	fixed bool // --log says what is logged
}

// run waits for signals until ctx is done.
func (r *reloader) run(ctx context.Context) error {
	for {
		select {
		case <-r.hup:
			r.systemd.Reload(r.reload)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// reload takes up a new configuration. One that cannot be read or is wrong changes nothing.
func (r *reloader) reload() {
	next, err := r.read()
	if err != nil {
		r.log.Error("the configuration was not read again: nothing is changed", "err", err)
		return
	}
	var done, restart []string
	was, is := reflect.ValueOf(r.now), reflect.ValueOf(next)
	for i := range was.NumField() {
		key, _, _ := strings.Cut(was.Type().Field(i).Tag.Get("yaml"), ",")
		switch {
		case key == "sites" || reflect.DeepEqual(was.Field(i).Interface(), is.Field(i).Interface()):
		case slices.Contains(reloaded, key):
			done = append(done, key)
		default:
			restart = append(restart, key)
		}
	}
	sites, needing := r.reloadSites(next.Sites)
	done, restart = append(done, sites...), append(restart, needing...)
	r.now.Operators, r.now.Limits, r.now.Policy, r.now.MaxRequeue = next.Operators, next.Limits, next.Policy, next.MaxRequeue
	r.now.Moves = next.Moves
	r.now.Health, r.now.LogLevel, r.now.KillInvalidDepend = next.Health, next.LogLevel, next.KillInvalidDepend
	r.notices.use(&r.now.Health)
	if i := slices.Index(done, "log_level"); i >= 0 && r.fixed {
		done, restart = slices.Delete(done, i, i+1), append(restart, "log_level (--log is given)")
	}
	if slices.ContainsFunc(done, func(key string) bool { return key == "operators" || key == "limits" }) {
		bounds := r.now.Limits.ForAPI(&r.now)
		r.bounds.Store(&bounds)
		r.api.Tune(r.now.Operators, bounds)
	}
	if slices.ContainsFunc(done, func(key string) bool { return slices.Contains(tuned, key) }) {
		r.ctl.Tune(controller.Tuning{Policy: r.now.PlacementPolicy(), Rules: r.now.Health.Effective(), Idle: r.now.Health.IdleRule(), Moves: r.now.Moves.Rule(), RerunEarly: r.now.Health.RerunEarly, MaxRequeue: r.now.RequeueLimit(),
			KillInvalidDepend: r.now.KillInvalidDepend})
	}
	r.log.Info("the configuration was read again", "changed", namesOrNothing(done), "needs a restart", namesOrNothing(restart))
	if !r.fixed {
		r.logs.Levels().Set(next.Level()) // after the line that says so
	}
}

// reloaded are the keys of the configuration that can change while the daemon runs. Keys, tokens and certificates of sites are read again without a signal.
var reloaded = append([]string{"operators", "limits", "log_level"}, tuned...)

// tuned are those of them that the controller goes by.
var tuned = []string{"policy", "moves", "health", "max_requeue", "kill_invalid_depend"}

// reloadSites takes up what can change of the sites. It returns the keys that have changed, and those that take a restart.
func (r *reloader) reloadSites(next []config.Site) (done, restart []string) {
	for i := range next {
		s := &next[i]
		k := slices.IndexFunc(r.now.Sites, func(old config.Site) bool { return old.Name == s.Name })
		if k < 0 {
			restart = append(restart, "site "+string(s.Name)+" is new")
			continue
		}
		changed := changedKeys(&r.now.Sites[k], s)
		rest := slices.DeleteFunc(slices.Clone(changed), func(key string) bool { return slices.Contains(reloadedOfSites, key) })
		for _, key := range changed {
			if name := "sites." + string(s.Name) + "." + key; slices.Contains(rest, key) {
				restart = append(restart, name)
			} else {
				done = append(done, name)
			}
		}
		if member := r.members.site(s.Name); len(rest) < len(changed) && member != nil {
			old := &r.now.Sites[k]
			old.Prices, old.Speed, old.Backlog, old.AccountBacklog, old.Preempt, old.Promises, old.Users = s.Prices, s.Speed, s.Backlog, s.AccountBacklog, s.Preempt, s.Promises, s.Users
			r.parts.join(old, member.Driver)
		}
	}
	for _, old := range r.now.Sites {
		if !old.Added && !slices.ContainsFunc(next, func(s config.Site) bool { return s.Name == old.Name }) {
			restart = append(restart, "site "+string(old.Name)+" is gone")
		}
	}
	return done, restart
}

// reloadedOfSites are the keys of Slurm sites that can change while the daemon runs.
var reloadedOfSites = []string{"prices", "speed", "backlog", "account_backlog", "preempt", "promises", "users"}

// changedKeys are the keys in which two descriptions of a site differ.
func changedKeys(a, b *config.Site) (keys []string) {
	was, is := reflect.ValueOf(*a), reflect.ValueOf(*b)
	for _, f := range reflect.VisibleFields(was.Type()) {
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if !f.Anonymous && key != "-" && !reflect.DeepEqual(was.FieldByIndex(f.Index).Interface(), is.FieldByIndex(f.Index).Interface()) {
			keys = append(keys, key)
		}
	}
	return keys
}

func namesOrNothing(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}
