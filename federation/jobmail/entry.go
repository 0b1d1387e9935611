package jobmail

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/health"
	"fsub/federation/idle"
	"fsub/federation/journal"
	"fsub/federation/reasons"
	"fsub/federation/records"
)

// What is an event that mail tells of, in sbatch's words of --mail-type.
type What string

const (
	Begin         What = "BEGIN"
	End           What = "END"
	Fail          What = "FAIL"
	Requeue       What = "REQUEUE"
	InvalidDepend What = "INVALID_DEPEND"
	StageOut      What = "STAGE_OUT"
	TimeLimit     What = "TIME_LIMIT"
	TimeLimit50   What = "TIME_LIMIT_50"
	TimeLimit80   What = "TIME_LIMIT_80"
	TimeLimit90   What = "TIME_LIMIT_90"
	// What the rule idle-held says. Nobody asks for it: whoever has not said --mail-type=NONE gets it.
	Idle     What = "IDLE"
	IdleLead What = "IDLE_LEAD" // to the coordinators of the job's account
)

// parts are how much of the time limit those that are told before its end mean.
var parts = []struct {
	what    What
	percent int
}{{TimeLimit50, 50}, {TimeLimit80, 80}, {TimeLimit90, 90}}

func (w What) percent() int {
	for _, p := range parts {
		if p.what == w {
			return p.percent
		}
	}
	return 0
}

// Entry is a mail that is to be sent. It is stored as it stands here.
type Entry struct {
	Owner  string // the job's user
	Name   string // of the job, what and mark, so that what is read of the log again is the same entry
	Job    federation.JobID
	Task   int // of an array's task that is no job of its own; -1
	What   What
	Mark   journal.Mark     // of the commit that calls for it
	At     time.Time        // of that commit
	Due    time.Time        `json:",omitzero"` // not to be sent before
	Start  time.Time        `json:",omitzero"` // of the run whose time limit is meant
	State  federation.State // that it had then
	Reason reasons.Reason   `json:",omitempty"`
	Exit   int32            `json:",omitempty"`
	Site   federation.SiteName
	Why    string `json:",omitempty"` // what the rule says, of Idle and IdleLead

	done bool // its mail was sent, or never will be
}

// idleEntry is the mail that a finding of the rule idle-held calls for; false: none.
func idleEntry(j *federation.Job, c *journal.Commit, f *health.PastFinding) (Entry, bool) {
	e := Entry{Owner: j.User, Job: j.ID, Task: -1, What: Idle, Mark: c.Mark, At: c.At, State: j.State, Site: f.Node.Site, Why: f.Why}
	switch {
	case f.Act == string(idle.TellLead):
		e.What = IdleLead
	case f.Denied != "" || strings.EqualFold(strings.TrimSpace(j.Spec.MailType), "NONE"):
		return e, false
	}
	e.Name = fmt.Sprintf("%s.%s.%d", j.ID, e.What, c.Mark)
	return e, true
}

func entries(st records.Store) records.Set[Entry] {
	return records.Set[Entry]{Store: st, Kind: "job-mail", Key: func(e *Entry) (owner, name *string) { return &e.Owner, &e.Name }}
}

func newEntry(j *federation.Job, c *journal.Commit, m *journal.Move, what What) Entry {
	ref := j.ID.String()
	if m.Task >= 0 {
		ref += fmt.Sprintf("_%d", m.Task)
	}
	return Entry{Owner: j.User, Name: fmt.Sprintf("%s.%s.%d", ref, what, c.Mark), Job: j.ID, Task: m.Task, What: what, Mark: c.Mark, At: c.At, State: m.State, Reason: m.Reason, Exit: m.Exit, Site: m.Site}
}

// place is how far the log was read. It is stored as it stands here.
type place struct {
	Owner, Name string
	Mark        journal.Mark
	At          time.Time // when that was: what is older was read
}

func places(st records.Store) records.Set[place] {
	return records.Set[place]{Store: st, Kind: "job-mail-mark", Key: func(p *place) (owner, name *string) { return &p.Owner, &p.Name }}
}

// The place belongs to no user.
const nobody, theMark = "-", "mark"

// readPlace reads where to go on. Where nothing was read yet it is the end of the log, and is written down.
func readPlace(ctx context.Context, st Store) (place, error) {
	at, err := places(st).Find(ctx, nobody, theMark)
	if !errors.Is(err, federation.ErrNotFound) {
		return at, err
	}
	log, err := st.Changes(ctx, 0, 0)
	if err != nil {
		return at, err
	}
	at = place{nobody, theMark, log.Mark, time.Now()}
	return at, places(st).Put(ctx, &at)
}

// Forget has mail begin at the end of the log when there is some again: nobody wants to hear of what happened meanwhile.
func Forget(ctx context.Context, st records.Store) error {
	err := places(st).Remove(ctx, nobody, theMark)
	if errors.Is(err, federation.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	set := entries(st)
	all, err := set.List(ctx, "")
	for i := 0; i < len(all) && err == nil; i++ {
		err = set.Remove(ctx, all[i].Owner, all[i].Name)
	}
	return err
}
