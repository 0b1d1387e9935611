package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/federation/journal"
	"fsub/federation/share"
	"fsub/federation/webhooks"
)

// hooks answers for webhooks.
type hooks struct {
	owned[webhooks.Endpoint, v1.Webhook]
	store Store
	hub   func() *webhooks.Hub // nil, or its answer: nothing is posted
}

func newHooks(c *Config) *hooks {
	h := &hooks{owned[webhooks.Endpoint, v1.Webhook]{Noun: &v1.Webhooks, Now: c.Now}, c.Store, c.Webhooks}
	if h.Make, h.Shown = h.made, h.shown; c.Store != nil && c.Webhooks != nil {
		h.Kept = webhooks.Kept(c.Store)
	}
	return h
}

func (h *hooks) routes(t *table) {
	n := h.Noun
	list(t, &n.Noun, h.list)
	post(t, n.Path, v1.ForAnybody, "Add a webhook, in place of one of the same name", h.changing(h.add))
	do(t, "DELETE", n.One("{name}"), v1.ForOwners, "Remove a webhook", func(r *http.Request, c identity.Caller) (v1.None, error) {
		none, err := h.remove(r, c)
		h.changed()
		return none, err
	}).Query = whose
	do(t, "POST", n.One("{name}/test"), v1.ForOwners, "Post a test event to a webhook now", h.test).Query = whose
	do(t, "GET", n.One("{name}/deliveries"), v1.ForOwners, "The last tries to deliver to a webhook, the newest first; those of the daemon that leads, since it does", h.deliveries).Query = whose
	do(t, "POST", n.One("{name}/replay"), v1.ForOwners, "Deliver to a webhook what was not delivered, and with since what has happened from then on, again; one that was off is on", h.replay).Query = append(words{{"since:integer", "seconds since 1970"}}.params(), whose...)
	do(t, "POST", n.One("{name}/rotate"), v1.ForOwners, "Give a webhook a new secret; the one before it signs beside it for a day", h.rotate).Query = whose
}

// on returns the hub, or why there is none.
func (h *hooks) on() (*webhooks.Hub, error) {
	if h.hub == nil || h.hub() == nil || !h.hub().Allow.Any() {
		return nil, refuseOwned(federation.ErrInvalid, "this daemon posts to no webhooks: an operator must allow hosts (webhooks: allow in its configuration)")
	}
	return h.hub(), nil
}

func (h *hooks) changed() {
	if h.hub != nil && h.hub() != nil {
		h.hub().Changed()
	}
}

func (h *hooks) changing(f func(*http.Request, identity.Caller, *v1.Webhook) (v1.Webhook, error)) func(*http.Request, identity.Caller, *v1.Webhook) (v1.Webhook, error) {
	return func(r *http.Request, c identity.Caller, in *v1.Webhook) (v1.Webhook, error) {
		out, err := f(r, c, in)
		h.changed()
		return out, err
	}
}

func (h *hooks) shown(one *webhooks.Endpoint) v1.Webhook {
	s := one.State
	if h.hub != nil && h.hub() != nil {
		s = h.hub().Owned(one)
	}
	return v1.Webhook{User: one.Owner, Name: one.Name, URL: one.URL, Where: one.Where, Added: one.Made, Mark: int64(max(s.Mark, 0)), Delivered: s.Delivered, Last: s.Last, Tries: s.Tries, Next: s.Next, Error: s.Error, Off: s.Off, Secret: one.Plain}
}

func (h *hooks) made(c identity.Caller, in *v1.Webhook, _ []webhooks.Endpoint) (one webhooks.Endpoint, err error) {
	hub, err := h.on()
	if err != nil {
		return one, err
	}
	if err := hub.Allow.CheckURL(in.URL); err != nil {
		return one, err
	}
	if _, err := readWheres(in.Where, eventKeys); err != nil {
		return one, err
	}
	log, err := h.store.Changes(context.Background(), 0, 0)
	if err != nil {
		return one, err
	}
	now := h.Now().UTC()
	one.Definition = webhooks.Definition{Owner: c.Name, Name: in.Name, UID: c.UID, URL: in.URL, Where: in.Where, Made: now}
	one.State.Mark = log.Mark
	one.Plain = hub.Box.Rotate(&one.Definition, now)
	return one, nil
}

// test is POST /fed/v1/webhook/{name}/test.
func (h *hooks) test(r *http.Request, c identity.Caller) (out v1.WebhookTry, err error) {
	hub, err := h.on()
	if err != nil {
		return out, err
	}
	one, err := h.find(r, c)
	if err != nil {
		return out, err
	}
	again := share.Idle(r.Context()) // the receiver may take its time
	try := hub.Test(r.Context(), &one)
	again()
	return tryOf(try), nil
}

func tryOf(t webhooks.Try) v1.WebhookTry {
	return v1.WebhookTry{Time: t.At, ID: t.ID, Type: t.Type, Try: t.Number, Took: t.Took.Seconds(), Good: t.Good, Result: t.Result}
}

// deliveries is GET /fed/v1/webhook/{name}/deliveries.
func (h *hooks) deliveries(r *http.Request, c identity.Caller) ([]v1.WebhookTry, error) {
	hub, err := h.on()
	if err != nil {
		return nil, err
	}
	one, err := h.find(r, c)
	if err != nil {
		return nil, err
	}
	out := []v1.WebhookTry{}
	for _, t := range hub.Deliveries(one.Owner, one.Name) {
		out = append(out, tryOf(t))
	}
	return out, nil
}

// replay is POST /fed/v1/webhook/{name}/replay.
func (h *hooks) replay(r *http.Request, c identity.Caller) (v1.Webhook, error) {
	_, since, err := eventsFrom("", r.URL.Query().Get("since"))
	if err != nil {
		return v1.Webhook{}, err
	}
	return h.change(r, c, "replay", func(_ *webhooks.Hub, e *webhooks.Endpoint) {
		e.Turn++
		e.State.Off, e.State.Error, e.State.Tries, e.State.Next = "", "", 0, time.Time{}
		if !since.IsZero() {
			e.State.Mark, e.State.Index, e.State.Since = journal.OldestMark, 0, since
		}
	})
}

// rotate is POST /fed/v1/webhook/{name}/rotate.
func (h *hooks) rotate(r *http.Request, c identity.Caller) (v1.Webhook, error) {
	return h.change(r, c, "rotate", func(hub *webhooks.Hub, e *webhooks.Endpoint) { e.Plain = hub.Box.Rotate(&e.Definition, h.Now().UTC()) })
}

// change changes a webhook, from where it has come by now.
func (h *hooks) change(r *http.Request, c identity.Caller, verb string, f func(*webhooks.Hub, *webhooks.Endpoint)) (out v1.Webhook, err error) {
	hub, err := h.on()
	if err != nil {
		return out, err
	}
	one, err := h.find(r, c)
	if err != nil {
		return out, err
	}
	err = h.Kept.Update(r.Context(), one.Owner, one.Name, func(e *webhooks.Endpoint) bool {
		e.State = hub.Owned(e)
		f(hub, e)
		one = *e
		return true
	})
	if err != nil {
		return out, answer.OfStore(err, answer.NoContact)
	}
	h.changed()
	return h.shown(&one), nil
}

// hookSource reads events for webhooks: it implements [webhooks.Source].
type hookSource struct {
	events *eventStream
	who    *identity.Identity
}

// WebhookSource returns what webhooks read events from.
func WebhookSource(s *Server) webhooks.Source { return &hookSource{&s.events, s.who} }

// hookPage is how many commits are read at a time for webhooks.
const hookPage = 64

// Events implements [webhooks.Source].
func (s *hookSource) Events(ctx context.Context, after journal.Mark) (page webhooks.Page, err error) {
	log, err := s.events.store.Changes(ctx, after, hookPage)
	if err != nil {
		return page, err
	}
	page.Mark, page.Full = log.Mark, len(log.Commits) == hookPage
	some, rest, err := s.events.eventsOf(ctx, log.Commits, time.Time{})
	if err != nil {
		return page, err
	}
	if len(rest) > 0 { // too many at once: they come with the next page
		page.Mark, page.Full = log.Commits[len(log.Commits)-len(rest)-1].Mark, true
	}
	for i := range some {
		page.Events = append(page.Events, hookEvent(&some[i]))
	}
	return page, nil
}

func hookEvent(e *loggedEvent) webhooks.Event {
	kind, about := "site", string(e.Site)
	switch {
	case e.Job != 0:
		kind, about = "job", e.Job.String()
	case e.Node != "":
		kind, about = "node", string(e.Site)+"/"+e.Node
	}
	out := webhooks.Event{Mark: e.mark, Index: e.index, At: e.Time, Type: "fsub." + kind + "." + strings.ReplaceAll(e.Event.Event, "+", "-"), About: about, Data: &e.Event}
	if e.job != nil {
		out.Of, out.UID, out.Account = true, e.job.UID, e.job.TreeAccount
	}
	return out
}

// Wide implements [webhooks.Source].
func (s *hookSource) Wide(d *webhooks.Definition) bool {
	c, err := s.who.User(d.UID)
	return err == nil && c.Name == d.Owner && (c.Role >= identity.RoleOperator || c.CoordinatesAny())
}

// Filter implements [webhooks.Source]: owners get what is about their jobs, coordinators what is about those of their accounts, and operators all.
func (s *hookSource) Filter(d *webhooks.Definition) (func() func(*webhooks.Event) bool, error) {
	conditions, err := readWheres(d.Where, eventKeys)
	if err != nil {
		return nil, err
	}
	return func() func(*webhooks.Event) bool {
		c, err := s.who.User(d.UID)
		known := err == nil && c.Name == d.Owner
		return func(e *webhooks.Event) bool {
			if own := e.Of && e.UID == d.UID; !own && !(known && (c.Role >= identity.RoleOperator || e.Of && c.MayActFor(e.UID, e.Account))) {
				return false
			}
			data, is := e.Data.(*v1.Event)
			return is && holdAll(conditions, data)
		}
	}, nil
}
