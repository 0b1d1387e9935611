package controller

import (
	"time"

	"fsub/federation"
	"fsub/federation/health"
)

const (
	// silentAfter is how long half of a site's nodes do not respond before that is told.
	silentAfter = 30 * time.Second
	// resumedLately is how long a node that was resumed may be shown as not responding: until slurmctld's next ping, which comes every SlurmdTimeout/3.
	resumedLately = 5 * time.Minute
)

// resumed is when a node was resumed; zero: it is drained, or was never.
func (ns *nodes) resumed(site federation.SiteName, node string) time.Time {
	r := ns.of(site).wanted[node]
	switch {
	case r == nil || r.Wants(ns.now()) == federation.WishDrain:
		return time.Time{}
	case r.Wish == federation.WishDrain: // it has ended by itself
		return r.Until
	}
	return r.Since
}

// silentFor says that nodes of a site have not responded for some time, "" if they have.
func (w *watch) silentFor(s *site) string {
	now := w.now()
	text := ""
	if s.Answering && s.Seen != nil {
		text = health.Silent(s.Seen, func(node string) bool { return now.Sub(w.nodes.resumed(s.Name, node)) < resumedLately })
	}
	switch {
	case text == "":
		s.silent = time.Time{}
	case s.silent.IsZero():
		s.silent = now
	}
	if now.Sub(s.silent) < silentAfter {
		return ""
	}
	return text
}
