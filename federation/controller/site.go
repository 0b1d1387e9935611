package controller

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	"fsub/accounting/power"
	"fsub/federation"
	"fsub/federation/driver"
	"fsub/federation/health"
	"fsub/federation/share"
)

// site is one member of the federation with what the controller alone knows of it.
type site struct {
	federation.Site
	driver   federation.Driver
	can      driver.Abilities // of it
	lifts    []health.Lift
	promises bool // see Site.Promises
	power    func(now time.Time) *power.Rates
	slots    chan struct{} // bounds the submissions that are under way at once
	acts     *share.Slots  // and what else is asked about jobs

	observing, polling      bool
	nextObserve, nextPoll   time.Time
	observeFails, pollFails int
	observeError, pollError error
	unread                  *federation.Observation // that placement failed over
	told                    *federation.Site        // to placement
	news                    news
	mark                    federation.Mark
	polled                  time.Time // when the last good poll began
	anew                    bool      // a poll that is under way does not count: all is to be told once more
	returned                time.Time // since when a lost site answers again
	silent                  time.Time // since when its nodes do not respond; zero: they do
	restored                restored
	numbers                 counter // of a mapped site
	breaker                 breaker
	jobs                    map[federation.JobID]*job // those with an attempt here that is not final
	limitedUntil            []time.Time               // of each of Limited
	pace                    pace
	followed                *federation.Observation // by the forecasts of waits
	outdated                bool                    // Outlook is older than that
	foreseen                time.Time               // when Outlook was made
}

// roster are the members of the federation.
type roster struct {
	all    []*site // by name
	byName map[federation.SiteName]*site
}

func newRoster() *roster { return &roster{byName: map[federation.SiteName]*site{}} }

func (r *roster) add(s *site) {
	r.byName[s.Name] = s
	i, _ := slices.BinarySearchFunc(r.all, s.Name, func(other *site, name federation.SiteName) int { return cmp.Compare(other.Name, name) })
	r.all = slices.Insert(r.all, i, s)
}

func (r *roster) remove(s *site) {
	delete(r.byName, s.Name)
	r.all = slices.DeleteFunc(slices.Clone(r.all), func(other *site) bool { return other == s })
}

// configure makes the site what is configured of it, at the start or later.
func (s *site) configure(sc *Site) {
	s.driver, s.can, s.power, s.lifts, s.promises = sc.Driver, driver.AbilitiesOf(sc.Driver), sc.Power, sc.Lifts, sc.Promises
	s.Prices, s.Speed, s.Data, s.Backlog, s.AccountBacklog = sc.Prices, sc.Speed, sc.Data, sc.Backlog, sc.AccountBacklog
	s.Preempt, s.Users, s.Accounts, s.FileSystems, s.Options = sc.Preempt, sc.Users, sc.Accounts, sc.FileSystems, sc.Options
}

// placedAlike reports whether placement would see no difference between two states of one site. What is configured of a site does not count: reconfigure forgets
// what placement was told. Nor does Seen, which may be kept from placement.
func placedAlike(a, b *federation.Site) bool {
	return a.State == b.State && a.StateWhy == b.StateWhy && a.Lost.Equal(b.Lost) && a.Answering == b.Answering && a.Denied == b.Denied &&
		a.Error == b.Error && a.Ahead == b.Ahead && a.Power == b.Power && a.Outlook == b.Outlook && a.Payers == b.Payers && slices.Equal(a.Limited, b.Limited)
}

// limit has no more jobs like some sent to the site until a time.
func (s *site) limit(l federation.Limited, until time.Time) {
	if i := slices.Index(s.Limited, l); i >= 0 {
		s.limitedUntil[i] = until
		return
	}
	s.Limited, s.limitedUntil = append(slices.Clip(s.Limited), l), append(s.limitedUntil, until)
}

// remembersIDs reports whether the site takes no job under an ID that it remembers the run before of.
func (s *site) remembersIDs() bool {
	return s.Seen != nil && s.Seen.Mode == federation.Pinned && !s.Seen.NoSlurm
}

// hasOthersOf reports whether the site has other jobs of j's user, or of the account that j names: so many may be the limit.
func (s *site) hasOthersOf(j *job) bool {
	for _, other := range s.jobs {
		if other != j && (other.User == j.User || j.Spec.Account != "" && other.Spec.Account == j.Spec.Account) {
			return true
		}
	}
	if s.Seen == nil {
		return false
	}
	user := s.user(&j.Job).Name
	of := func(who federation.Stake) bool {
		return who.User == user || j.Spec.Account != "" && who.Account == j.Spec.Account
	}
	return slices.ContainsFunc(s.Seen.Running, func(r federation.RunningJob) bool { return of(r.Stake) }) ||
		slices.ContainsFunc(s.Seen.Waiting, func(w federation.WaitingJob) bool { return of(w.Stake) })
}

// expire lifts the limits whose time has come.
func (s *site) expire(now time.Time) {
	var left []federation.Limited
	var until []time.Time
	for i, t := range s.limitedUntil {
		if now.Before(t) {
			left, until = append(left, s.Limited[i]), append(until, t)
		}
	}
	if len(left) != len(s.Limited) {
		s.Limited, s.limitedUntil = left, until
	}
}

// observeSoon has the site's nodes looked at before their time, because a job of ours has ended there. What it has left is not free if
// enough short jobs wait there to take it.
func (s *site) observeSoon(at time.Time) {
	if s.Ahead > 0 && s.waiting() >= s.Ahead/2 {
		return
	}
	if at.Before(s.nextObserve) {
		s.nextObserve = at
	}
}

// pollSoon makes sure that a job which was just handed over is looked for.
func (s *site) pollSoon(at time.Time) {
	if at.Before(s.nextPoll) {
		s.nextPoll = at
	}
}

// alive are the jobs with an attempt here that is not final.
func (s *site) alive() driver.Alive {
	all := driver.Alive{}
	for _, j := range s.jobs {
		all[j.ID], all[j.Number()] = true, true
	}
	return all
}

// waiting is how many jobs of ours wait at the site.
func (s *site) waiting() int {
	n := 0
	for _, j := range s.jobs {
		if j.State == federation.Pending {
			n++
		}
	}
	return n
}

const (
	submitSlots = 4
	// Of other calls about jobs so many are under way at once, and of one user's jobs; so many of one user's wait, and more fail at once.
	actSlots   = 32
	actsOfUser = 8
	actsWait   = 2000
)

// news is what a site's driver has said that there is to be seen, and the controller has not looked at yet.
type news struct{ jobs, nodes atomic.Bool }

// user is who the job's owner is at the site.
func (s *site) user(j *federation.Job) federation.SiteUser {
	if u, ok := s.Users[j.User]; ok {
		return u
	}
	return federation.SiteUser{Name: j.User, UID: j.UID, GID: j.GID}
}
