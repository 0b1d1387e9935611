package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/federation/audit"
	"fsub/federation/records"
)

// owned answers for things that users add themselves: T is such a thing on the wire, S what is kept of it. Users list and remove their own; operators list
// all, and remove those of others.
type owned[S, T any] struct {
	Noun *v1.Owned[T]
	Kept records.Set[S]
	Now  func() time.Time
	// Make returns what is to be kept of what a caller has asked for, who has others already; the error says what is wrong with it.
	Make func(c identity.Caller, in *T, others []S) (S, error)
	// Itself reports whether a thing of that name is what a caller on another machine calls with, who may remove it; nil: nothing is.
	Itself func(c identity.Caller, name string) bool
	// Shown is what callers see of what is kept.
	Shown func(*S) T
}

// routes adds the noun's list, and how users add and remove things.
func (o *owned[S, T]) routes(t *table) {
	n := o.Noun
	list(t, &n.Noun, o.list)
	post(t, n.Path, v1.ForAnybody, fmt.Sprintf("Add a %s, in place of one of the same name", n.Word), o.add)
	do(t, "DELETE", n.One("{name}"), v1.ForOwners, fmt.Sprintf("Remove a %s", n.Word), o.remove).Query = whose
}

// whose says of whom a thing is that has an owner: see [ownerOf].
var whose = v1.QueryParams(new(v1.OwnerQuery))

// ownerOf is the user whose thing a request is about: the caller, unless it names another.
func ownerOf(r *http.Request, c identity.Caller) string {
	var q v1.OwnerQuery
	_ = v1.ReadQuery(r.URL.Query(), &q) // any text will do
	return cmp.Or(q.User, c.Name)
}

func refuseOwned(kind error, format string, args ...any) error {
	return &federation.SlurmError{Kind: kind, Text: fmt.Sprintf(format, args...), Alone: true}
}

// able refuses where nothing is kept. Callers with a token, as from inside a job, may look only: what is added may act with all rights of its owner.
func (o *owned[S, T]) able(c identity.Caller, change bool) error {
	switch {
	case o.Kept.Store == nil:
		return refuseOwned(federation.ErrNotFound, "this daemon keeps no %ss", o.Noun.Word)
	case change && c.From != "socket":
		return refuseOwned(federation.ErrDenied, "a %s is added, changed and removed on the daemon's machine only", o.Noun.Word)
	}
	return nil
}

// kept lists what a user has; "": all users.
func (o *owned[S, T]) kept(ctx context.Context, user string) ([]S, error) {
	all, err := o.Kept.List(ctx, user)
	return all, answer.OfStore(err, answer.NoContact)
}

func (o *owned[S, T]) list(ctx context.Context, c identity.Caller, _ v1.None) ([]T, error) {
	if err := o.able(c, false); err != nil {
		return nil, err
	}
	user := c.Name
	if c.Role >= identity.RoleOperator {
		user = ""
	}
	all, err := o.kept(ctx, user)
	out := make([]T, len(all))
	for i := range all {
		out[i] = o.Shown(&all[i])
	}
	return out, err
}

func (o *owned[S, T]) add(r *http.Request, c identity.Caller, in *T) (out T, err error) {
	if err := o.able(c, true); err != nil {
		return out, err
	}
	return o.put(r.Context(), c, in, o.Make)
}

// put keeps what of makes of what a caller has asked for.
func (o *owned[S, T]) put(ctx context.Context, c identity.Caller, in *T, of func(c identity.Caller, in *T, others []S) (S, error)) (out T, err error) {
	user, name := o.Noun.Key(in)
	*user = c.Name
	if err := records.CheckName(*name); err != nil {
		return out, refuseOwned(federation.ErrInvalid, "%v", err)
	}
	all, err := o.kept(ctx, c.Name)
	if err != nil {
		return out, err
	}
	var others []S
	for i := range all {
		if _, has := o.Kept.Key(&all[i]); *has != *name {
			others = append(others, all[i])
		}
	}
	if n := o.Noun; len(others) >= n.Most {
		return out, refuseOwned(federation.ErrInvalid, "%s has %d %ss: a user may have %d; to %s one: fed %s %[5]s NAME", c.Name, len(others), n.Word, n.Most, n.Removes(), n.Word)
	}
	one, err := of(c, in, others)
	if err != nil {
		return out, refuseOwned(federation.ErrInvalid, "%v", err)
	}
	if err := o.Kept.Put(ctx, &one, o.entry(c, o.Noun.Add, *user, *name, o.Noun.About(in))); err != nil {
		return out, answer.OfStore(err, answer.NoContact)
	}
	return o.Shown(&one), nil
}

func (o *owned[S, T]) entry(c identity.Caller, verb, owner, name, after string) audit.Entry {
	word := o.Noun.Word
	return audit.Entry{At: o.Now(), Who: answer.By(c), Verb: verb + "-" + word, Kind: audit.Object(word), Object: owner + "/" + name, After: after}
}

// find reads the thing that a request names: of the caller, or of the user that an operator names.
func (o *owned[S, T]) find(r *http.Request, c identity.Caller) (one S, err error) {
	owner, name := ownerOf(r, c), r.PathValue("name")
	itself := o.Itself != nil && owner == c.Name && o.Itself(c, name)
	if err := o.able(c, !itself); err != nil {
		return one, err
	}
	if owner != c.Name && c.Role < identity.RoleOperator {
		return one, refuseOwned(federation.ErrDenied, "%ss of others are for operators", o.Noun.Word)
	}
	one, err = o.Kept.Find(r.Context(), owner, name)
	if errors.Is(err, federation.ErrNotFound) {
		return one, refuseOwned(federation.ErrNotFound, "%s has no %s %q; see: fed %s list", owner, o.Noun.Word, name, o.Noun.Word)
	}
	return one, answer.OfStore(err, answer.NoContact)
}

func (o *owned[S, T]) remove(r *http.Request, c identity.Caller) (none v1.None, err error) {
	one, err := o.find(r, c)
	if err != nil {
		return none, err
	}
	owner, name := o.Kept.Key(&one)
	err = o.Kept.Remove(r.Context(), *owner, *name, o.entry(c, o.Noun.Removes(), *owner, *name, ""))
	if errors.Is(err, federation.ErrNotFound) { // somebody else was faster
		return none, nil
	}
	return none, answer.OfStore(err, answer.NoContact)
}
