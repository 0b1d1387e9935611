package submission

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/time/rate"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/slurm/wire"
)

// Config has the bounds; zero: none. Administrators are bound by what all have together only.
type Bounds struct {
	Jobs     int   // of one user that have not ended
	AllJobs  int   // of all users; beyond that only who has less than his share of it, by the number of users, may have more
	Payload  int64 // bytes of one job's script, arguments and environment
	Stored   int64 // bytes of all that one user's jobs keep in the store, ended ones too
	Queue    int64 // bytes of what one user's live jobs ask for, which is kept in memory
	AllQueue int64 // and those of all users
	Free     int64 // bytes of the store's file system that stay free: nobody submits below that
	Dir      string

	PerSecond float64 // submissions and --test-only of one user, in the long run
	Burst     int     // and at once
	Requests  int     // of one user that are not carried out yet: cancel, hold, update ...
	// Actions and ActionBurst are PerSecond and Burst of those requests.
	Actions     float64
	ActionBurst int
}

// Holdings knows what each user takes up.
type Holdings struct {
	bounds atomic.Pointer[Bounds]
	store  federation.Submitters
	now    func() time.Time

	mu    sync.Mutex
	byID  map[uint32]*user
	specs int64 // sum of held.Specs
}

// user is what is known of one.
type user struct {
	submissions, actions *rate.Limiter

	mu    sync.Mutex
	held  federation.Holding // when it was read, and what has come since: never less than there is
	read  time.Time          // zero: never
	fresh time.Time          // when it may be read again
}

// readAgain is how often at most the store is asked what a user at a bound holds.
const readAgain = time.Second

// NewHoldings returns Holdings; with store nil only rates and sizes are bounded.
func NewHoldings(cfg Bounds, store federation.Submitters, now func() time.Time) *Holdings {
	l := &Holdings{store: store, now: now, byID: map[uint32]*user{}}
	l.bounds.Store(&cfg)
	return l
}

// Set bounds everybody anew. What users have is not taken from them.
func (l *Holdings) Set(cfg Bounds) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bounds.Store(&cfg)
	for _, u := range l.byID {
		set(u.submissions, cfg.PerSecond, cfg.Burst)
		set(u.actions, cfg.Actions, cfg.ActionBurst)
	}
}

func (l *Holdings) cfg() *Bounds { return l.bounds.Load() }

func (l *Holdings) user(uid uint32) *user {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.byID[uid]
	if u == nil {
		u = &user{submissions: limiter(l.cfg().PerSecond, l.cfg().Burst), actions: limiter(l.cfg().Actions, l.cfg().ActionBurst)}
		l.byID[uid] = u
	}
	return u
}

func limiter(perSecond float64, burst int) *rate.Limiter {
	r := rate.NewLimiter(rate.Inf, 0)
	set(r, perSecond, burst)
	return r
}

func set(r *rate.Limiter, perSecond float64, burst int) {
	if perSecond <= 0 {
		r.SetLimit(rate.Inf)
		return
	}
	r.SetBurst(max(burst, 1))
	r.SetLimit(rate.Limit(perSecond))
}

// Begin counts a submission of c's, or the question when a job would start, before anything is done for it. What is too much is refused with the
// number on which sbatch waits a moment and tries again.
func (l *Holdings) Begin(c identity.Caller) error {
	if c.Role >= identity.RoleAdministrator || l.user(c.UID).submissions.AllowN(l.now(), 1) {
		return nil
	}
	return tryAgain(fmt.Sprintf("%s submits more than %g jobs a second (limits: submissions_per_second); try again in a moment", c.Name, l.cfg().PerSecond))
}

// perSubmission is how many jobs of a batch count as one submission: the work of a request and of a commit is shared among them.
const perSubmission = 10

// BeginMany counts a batch of n jobs of c's, before anything is done for it. What is too much is refused as by Begin; what always will be is refused for good.
func (l *Holdings) BeginMany(c identity.Caller, n int) error {
	n = (n + perSubmission - 1) / perSubmission
	switch rate := l.user(c.UID).submissions; {
	case c.Role >= identity.RoleAdministrator || rate.AllowN(l.now(), n):
		return nil
	case n > rate.Burst():
		return answer.Invalid(wire.ErrTooLong, fmt.Sprintf("a batch of %s has at most %d jobs (%d for each of limits: submission_burst); submit several", c.Name, rate.Burst()*perSubmission, perSubmission))
	}
	return tryAgain(fmt.Sprintf("%s submits more than %g jobs a second, or in batches %d times as many (limits: submissions_per_second); try again in a moment", c.Name, l.cfg().PerSecond, perSubmission))
}

// tryAgain is what sbatch answers by waiting and trying again.
func tryAgain(detail string) error {
	return &federation.SlurmError{Kind: federation.ErrConflict, Number: 11, Text: "Resource temporarily unavailable", Detail: detail}
}

// Size is what a job takes up.
type Size struct {
	Jobs    int   // records of it: its components
	Tasks   int   // of an array, each of which gets a record with a Spec of its own when it is bound; else 1
	Payload int64 // bytes of script, arguments and environment
	Spec    int64 // bytes of what it asks for
}

// Submit asks whether a user's new job may be stored. c is who submits it.
func (l *Holdings) Submit(ctx context.Context, c identity.Caller, uid uint32, size Size) error {
	if err := l.room(); err != nil {
		return err
	}
	if err := l.fits(c, size); err != nil {
		return err
	}
	return l.hold(ctx, c, uid, size)
}

// fits asks whether one job is too large by itself.
func (l *Holdings) fits(c identity.Caller, size Size) error {
	if most := l.cfg().Payload; most > 0 && size.Payload > most {
		return answer.Invalid(wire.ErrTooLong, fmt.Sprintf("the job's script, arguments and environment have %d bytes, at most %d are allowed (limits: payload_mib); "+
			"submit with --export=NAME,... or read large data from a file", size.Payload, most))
	}
	if stored := l.cfg().Stored; stored > 0 && c.Role < identity.RoleAdministrator && int64(size.Tasks)*size.Spec > stored { // no overflow: both are bounded
		return policy(fmt.Sprintf("each of the %d tasks keeps a copy of what the array asks for, %d bytes: that is more than %d MiB (limits: stored_mib_per_user); "+
			"shorten its dependency, its lists of nodes or its comment", size.Tasks, size.Spec, stored>>20))
	}
	return nil
}

// hold asks whether a user may hold so much more, and counts it.
func (l *Holdings) hold(ctx context.Context, c identity.Caller, uid uint32, size Size) error {
	if l.store == nil || l.cfg().Jobs <= 0 && l.cfg().AllJobs <= 0 && l.cfg().Stored <= 0 && l.cfg().Queue <= 0 && l.cfg().AllQueue <= 0 {
		return nil
	}
	u := l.user(uid)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.read.IsZero() || l.refused(c, u, size) != nil && !l.now().Before(u.fresh) {
		held, err := l.store.Holding(ctx, uid)
		if err != nil {
			return answer.OfStore(err, answer.NoContact)
		}
		l.holds(held.Specs - u.held.Specs)
		u.held, u.read, u.fresh = held, l.now(), l.now().Add(readAgain)
	}
	if err := l.refused(c, u, size); err != nil {
		return err
	}
	u.held.Jobs, u.held.All = u.held.Jobs+size.Jobs, u.held.All+size.Jobs
	u.held.Bytes, u.held.Specs = u.held.Bytes+size.Payload, u.held.Specs+size.Spec
	l.holds(size.Spec)
	return nil
}

// holds counts bytes that users' live jobs ask for, and returns how many there are, and how many users.
func (l *Holdings) holds(more int64) (specs int64, users int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.specs += more
	return l.specs, max(len(l.byID), 1)
}

// refused is why a user may not have more; nil: he may.
func (l *Holdings) refused(c identity.Caller, u *user, size Size) error {
	specs, users := l.holds(0)
	own := c.Role < identity.RoleAdministrator // he has a share of what all may have
	switch {
	case l.cfg().AllJobs > 0 && u.held.All+size.Jobs > l.cfg().AllJobs && !(own && u.held.Jobs+size.Jobs <= l.cfg().AllJobs/users):
		return tryAgain(fmt.Sprintf("%d jobs are in the queue, at most %d are allowed (limits: jobs)", u.held.All, l.cfg().AllJobs))
	case l.cfg().AllQueue > 0 && specs+size.Spec > l.cfg().AllQueue && !(own && u.held.Specs+size.Spec <= l.cfg().AllQueue/int64(users)):
		return tryAgain(fmt.Sprintf("what the jobs in the queue ask for takes %d MiB of memory, at most %d are allowed (limits: queue_mib)", specs>>20, l.cfg().AllQueue>>20))
	case !own:
		return nil
	case l.cfg().Jobs > 0 && u.held.Jobs+size.Jobs > l.cfg().Jobs:
		return policy(fmt.Sprintf("you have %d jobs that have not ended, at most %d are allowed (limits: jobs_per_user); an array of many tasks is one until they start",
			u.held.Jobs, l.cfg().Jobs))
	case l.cfg().Stored > 0 && u.held.Bytes+size.Payload > l.cfg().Stored:
		return policy(fmt.Sprintf("the scripts and environments of your jobs take %d MiB here, at most %d are allowed (limits: stored_mib_per_user); "+
			"they are deleted some time after the jobs' end (keep_ended)", u.held.Bytes>>20, l.cfg().Stored>>20))
	case l.cfg().Queue > 0 && u.held.Specs+size.Spec > l.cfg().Queue:
		return policy(fmt.Sprintf("what your jobs that have not ended ask for takes %d MiB of memory, at most %d are allowed (limits: queue_mib_per_user); "+
			"shorten their dependencies, lists of nodes and comments", u.held.Specs>>20, l.cfg().Queue>>20))
	}
	return nil
}

// policy is what slurmctld says at MaxSubmitJobs of an association.
func policy(detail string) error {
	return &federation.SlurmError{Kind: federation.ErrDenied, Number: wire.ErrAccountingPolicy, Text: wire.Strerror(wire.ErrAccountingPolicy),
		Said: "AssocMaxSubmitJobLimit", Detail: detail}
}

// room refuses everything once the disk is nearly full, while the daemon can still write what happens to the jobs that it has.
func (l *Holdings) room() error {
	if why := l.cfg().Short(); why != "" {
		return tryAgain(why)
	}
	return nil
}

// Short says that new jobs are refused since the disk is nearly full; "" if they are not.
func (c *Bounds) Short() string {
	if c.Dir == "" || c.Free <= 0 {
		return ""
	}
	if free, ok := FreeBytes(c.Dir); ok && free < c.Free { // else the store will say what is wrong
		return strconv.FormatInt(free>>20, 10) + " MiB are free where the daemon keeps its database, too few for new jobs (limits: min_free_mib)"
	}
	return ""
}

// FreeBytes is how much may be written to the file system of dir. It is false if that cannot be told.
func FreeBytes(dir string) (int64, bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * st.Bsize, true
}

// Ask counts n requests of c's to jobs, before any is stored.
func (l *Holdings) Ask(ctx context.Context, c identity.Caller, n int) error {
	if c.Role >= identity.RoleAdministrator || n == 0 {
		return nil
	}
	if !l.user(c.UID).actions.AllowN(l.now(), n) {
		return answer.Detailed(answer.TryLater, fmt.Sprintf("%s changes jobs more than %g times a second (limits: requests_per_second)", c.Name, l.cfg().Actions))
	}
	if l.store == nil || l.cfg().Requests <= 0 {
		return nil
	}
	open, err := l.store.OpenRequests(ctx, c.UID)
	if err != nil {
		return answer.OfStore(err, answer.NoContact)
	}
	if open+n > l.cfg().Requests {
		return answer.Detailed(answer.TryLater, fmt.Sprintf("%d requests of %s wait to be carried out, at most %d are allowed (limits: requests_per_user)",
			open, c.Name, l.cfg().Requests))
	}
	return nil
}
