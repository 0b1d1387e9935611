package api

import (
	"fsub/federation/webhooks"

	"reflect"
	"strings"
)

// Bodies are the types of the bodies that the routes of /fed/v1 take, by method and path.
func (s *Server) Bodies() map[string]reflect.Type {
	all := map[string]reflect.Type{}
	for _, r := range s.fedRoutes() {
		if r.Method != "GET" {
			all[r.Method+" "+r.Path] = nil
		}
		if r.In != nil {
			all[r.Method+" "+r.Path] = reflect.TypeOf(r.In)
		}
	}
	return all
}

// MayCall says who may call the routes of /fed/v1, by method and path.
func (s *Server) MayCall() map[string]string {
	all := map[string]string{}
	for _, r := range s.fedRoutes() {
		all[r.Method+" "+r.Path] = r.Who
	}
	return all
}

// Undecided are the routes of s of which nobody has said who answers them, and those that somebody has spoken of and that are not there.
func (s *Server) Undecided() (undecided, gone []string) {
	known := map[string]bool{}
	for _, r := range s.router.Routes() {
		known[r] = true
		if _, said := answeredBy[r]; !said && strings.HasPrefix(r, "GET ") {
			undecided = append(undecided, r)
		}
	}
	for r := range answeredBy {
		if !known[r] {
			gone = append(gone, r)
		}
	}
	return undecided, gone
}

// MostEvents is how many changes are held at once for one who follows them, but for those of one commit.
const MostEvents = mostEvents

// HookPages reads the events of a store for webhooks.
func HookPages(st Store) webhooks.Source { return &hookSource{events: &eventStream{store: st}} }
