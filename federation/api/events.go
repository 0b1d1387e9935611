package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/federation/journal"
	"fsub/federation/reasons"
	"fsub/federation/share"
)

const (
	// eventsGap is the time between two looks at the store's log for one who follows it.
	eventsGap = 200 * time.Millisecond
	// eventsPage and mostEvents are how many commits, and how many changes of them, are held at once: there may be many who follow, and some do not read.
	eventsPage = 16
	mostEvents = 128
)

var errTrimmed = &federation.SlurmError{Kind: federation.ErrTrimmed, Text: "the log of changes no longer goes back so far", Alone: true,
	Detail: "begin again, without a mark"}

// eventStream tells what happens, as the store's log has it.
type eventStream struct {
	store    Store
	users    identity.Users
	stopping <-chan struct{}
}

// get is GET /fed/v1/events.
func (s *eventStream) get(w http.ResponseWriter, r *http.Request, _ identity.Caller, q v1.EventQuery) error {
	mark, since := journal.Mark(q.After), q.Since
	if mark != 0 {
		since = time.Time{}
	} else if !since.IsZero() {
		mark = journal.OldestMark
	}
	conditions, err := readWheres(q.Where, eventKeys)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := http.NewResponseController(w)
	var page bytes.Buffer
	lines := json.NewEncoder(&page)
	for begun := false; ; begun = true {
		log, err := s.store.Changes(r.Context(), mark, eventsPage)
		if err != nil && !begun { // later there is nobody to tell: the answer ends in the middle, and who reads it asks again
			if errors.Is(err, federation.ErrTrimmed) {
				return errTrimmed
			}
			return answer.OfStore(err, answer.NoContact)
		}
		if err != nil {
			return nil
		}
		told, full := false, len(log.Commits) == eventsPage
		for rest := log.Commits; len(rest) > 0; {
			var events []loggedEvent
			if events, rest, err = s.eventsOf(r.Context(), rest, since); err != nil {
				return nil
			}
			told = told || len(events) > 0
			for i := range events {
				if !holdAll(conditions, &events[i].Event) {
					continue
				}
				if err := lines.Encode(&events[i].Event); err != nil {
					return nil
				}
			}
			if len(rest) > 0 && !send(w, &page) {
				return nil
			}
		}
		if told || !begun || !q.Follow {
			lines.Encode(v1.EventsMark{Mark: int64(log.Mark)}) // a number can be written
		}
		if !send(w, &page) {
			return nil
		}
		mark = log.Mark
		if full {
			continue
		}
		if !q.Follow {
			return nil
		}
		if !s.pause(r.Context(), out) {
			return nil
		}
	}
}

// send sends a page and empties it. It reports whether the client is still there.
func send(w http.ResponseWriter, page *bytes.Buffer) bool {
	if page.Len() == 0 {
		return true
	}
	_, err := w.Write(page.Bytes())
	page.Reset()
	return err == nil
}

// pause sends what there is and waits until it is time to look again. It reports whether there is anybody to tell.
func (s *eventStream) pause(ctx context.Context, out *http.ResponseController) bool {
	defer share.Idle(ctx)()
	out.Flush()
	select {
	case <-time.After(eventsGap):
		return true
	case <-s.stopping:
	case <-ctx.Done():
	}
	return false
}

// eventsFrom reads where to begin.
func eventsFrom(after, since string) (mark journal.Mark, from time.Time, err error) {
	switch {
	case after != "":
		n, err := strconv.ParseInt(after, 10, 64)
		if err != nil || n <= 0 {
			return 0, from, answer.BadBody("after: " + after + " is not a mark")
		}
		return journal.Mark(n), from, nil
	case since != "":
		n, err := strconv.ParseInt(since, 10, 64)
		if err != nil {
			return 0, from, answer.BadBody("since: " + since + " is not a number of seconds")
		}
		return journal.OldestMark, time.Unix(n, 0), nil
	}
	return 0, from, nil
}

// loggedEvent is an event with its place in the log, and the job that it is about; nil: it is about none, or one that has been deleted since.
type loggedEvent struct {
	v1.Event
	mark  journal.Mark
	index int
	job   *federation.Job
}

// eventsOf are what the first commits tell if they are not older than since. rest are those that would be too many at once.
func (s *eventStream) eventsOf(ctx context.Context, commits []journal.Commit, since time.Time) (events []loggedEvent, rest []journal.Commit, err error) {
	var ids []federation.JobID
	for rest = commits; len(rest) > 0 && len(events) < mostEvents; rest = rest[1:] {
		if rest[0].At.Before(since) {
			continue
		}
		for k := range rest[0].Changes {
			if e, ok := eventOf(&rest[0], &rest[0].Changes[k]); ok {
				events = append(events, loggedEvent{e, rest[0].Mark, k, nil})
				if e.Job != 0 {
					ids = append(ids, e.Job)
				}
			}
		}
		if slices.ContainsFunc(rest[0].Changes, neverStarts) { // what follows of groups, once their names are known
			events = append(events, loggedEvent{mark: rest[0].Mark, index: len(rest[0].Changes)})
		}
	}
	if len(ids) == 0 {
		return events, rest, nil
	}
	jobs, err := s.store.Jobs(ctx, federation.JobQuery{IDs: ids, Alone: true})
	if err != nil {
		return nil, nil, err
	}
	byID := make(map[federation.JobID]*federation.Job, len(jobs))
	for i := range jobs {
		byID[jobs[i].ID] = &jobs[i]
	}
	told, groups := make([]loggedEvent, 0, len(events)), groupsStuck{}
	for _, e := range events {
		if e.Event.Event == "" {
			told = append(told, groups.events(&e)...)
			groups = groupsStuck{}
			continue
		}
		if j := byID[e.Job]; j != nil {
			if e.Event.Event == "submit" && (j.Part != nil || j.Component != nil) { // submitted with its array, or its leader
				continue
			}
			e.job = j
			e.User, e.Name, e.Group = j.User, j.Spec.Name, j.Spec.GroupName()
			if j.Part != nil {
				e.Array, e.Task = j.Part.Array, &j.Part.Index
			}
			groups.add(&e)
		}
		if uid, err := strconv.ParseUint(e.Who, 10, 32); err == nil && e.Request != "" {
			if name, err := s.users.UserName(uint32(uid)); err == nil {
				e.Who = name
			}
		}
		told = append(told, e)
	}
	return told, rest, nil
}

func eventOf(commit *journal.Commit, c *journal.Change) (e v1.Event, ok bool) {
	e = v1.Event{Time: commit.At, Job: c.Job, Site: c.Site}
	switch {
	case c.Kind == journal.ChangeJob && c.How == journal.Created:
		e.Event, e.State = "submit", federation.State(c.State)
	case c.Kind == journal.ChangeRequest && c.How == journal.Created:
		e.Event, e.Request, e.Who = "request", c.State, c.Who
	case c.Kind == journal.ChangeSite:
		e.Event, e.Who, e.Detail = strings.ToLower(c.State), c.Who, c.Why
	case c.Kind == journal.ChangeMaintenance:
		if e.Event = "maintenance"; c.How == journal.Gone {
			e.Event = "maintenance-removed"
		}
	case c.Kind == journal.ChangeSiteEvent && c.Of != nil:
		e.Event, e.Site, e.User, e.State, e.Detail = "site", c.Of.Site, c.Of.Who, federation.State(c.Of.To), c.Of.Why
		e.Who, e.From = c.Of.Who, federation.State(c.Of.From)
	case c.Kind == journal.ChangeNodeEvent && c.Node != nil:
		n := c.Node
		e.Event, e.Site, e.Node, e.User, e.State, e.Detail = "node", n.Node.Site, n.Node.Name, n.Who, federation.State(n.To), n.Why
		e.Who, e.From = n.Who, federation.State(n.From)
		if n.Wanted {
			e.Event = "node-" + strings.ToLower(n.To)
		}
	case c.Kind == journal.ChangeFinding && c.Finding != nil:
		f := c.Finding
		e.Event, e.Site, e.Node, e.Detail = "health", f.Node.Site, f.Node.Name, f.Act+" by "+f.Rule+": "+f.Why
		if f.Denied != "" {
			e.Detail += " (not done: " + f.Denied + ")"
		}
	case c.Kind == journal.ChangeMove:
		m := c.Move
		e.Event, e.Site, e.State, e.Reason = string(m.What), m.Site, m.State, m.Reason
		e.From = m.From
		if e.Reason == reasons.None {
			e.Reason = ""
		}
		if m.What == journal.MoveEnd {
			e.Exit = &m.Exit
		}
		switch {
		case m.Task >= 0:
			e.Array, e.Task = c.Job, &m.Task
		case m.Tasks.Len() > 0:
			e.Array, e.Tasks = c.Job, m.Tasks.Format(0)
		}
	default:
		return e, false
	}
	return e, true
}
