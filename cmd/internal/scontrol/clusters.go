package scontrol

import (
	"io"
	"slices"
	"strings"

	"fsub/cmd/internal/show"
)

// clusters are what --clusters names: the federation, or some of its sites.
type clusters struct {
	named string   // as it was given
	sites []string // nil until they are known
	some  bool     // they are not all
}

// check makes sure that --clusters names the federation or some of its sites, and finds out which.
func (s *clusters) check(c *command) error {
	if s.named == "" || s.sites != nil {
		return nil
	}
	named, complaint, err := show.Clusters(c.caller, "scontrol", s.named)
	if err != nil {
		c.fail("%s", err)
		return err
	}
	io.WriteString(c.stderr, complaint)
	s.sites = []string{}
	for _, n := range named {
		if n.Site == "" {
			return nil // all of them
		}
		s.sites = append(s.sites, n.Site)
	}
	s.some = true
	return nil
}

// has reports whether to show what belongs to a site.
func (s *clusters) has(site string) bool { return !s.some || slices.Contains(s.sites, site) }

// query is the part of a path's query that picks sites.
func (s *clusters) query() string {
	var q show.Query
	q.Add("sparse", "1")
	if s.some {
		q.Add("cluster", strings.Join(s.sites, ","))
	}
	return q.String()
}
