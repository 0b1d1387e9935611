package gce

import (
	"net/http"
	"regexp"
	"strings"
)

// The two forms of filters that Google has: comparisons with =, joined by AND, and one with eq and a regular expression that takes in the whole value.
var (
	comparison = regexp.MustCompile(`^\(?\s*([\w.-]+)\s*=\s*"?([^"()]*)"?\s*\)?$`)
	expression = regexp.MustCompile(`^([\w.-]+)\s+eq\s+"?([^"]*)"?$`)
)

// filter returns what a listing's filter takes; field gives a value by its path.
func filter(text string) (func(field func(path string) string) bool, error) {
	if text == "" {
		return func(func(string) string) bool { return true }, nil
	}
	bad := &refusal{http.StatusBadRequest, "invalid", "Invalid value for field 'filter': '" + text + "'. Invalid list filter expression."}
	if m := expression.FindStringSubmatch(text); m != nil {
		p, err := regexp.Compile("^(?:" + m[2] + ")$")
		if err != nil {
			return nil, bad
		}
		return func(field func(string) string) bool { return p.MatchString(field(m[1])) }, nil
	}
	var all [][2]string
	for part := range strings.SplitSeq(text, " AND ") {
		m := comparison.FindStringSubmatch(strings.TrimSpace(part))
		if m == nil {
			return nil, bad
		}
		all = append(all, [2]string{m[1], m[2]})
	}
	return func(field func(string) string) bool {
		for _, want := range all {
			if field(want[0]) != want[1] {
				return false
			}
		}
		return true
	}, nil
}

// fieldOf gives the values of a resource by their paths.
func fieldOf(d doc) func(string) string {
	return func(path string) string { return str(d, strings.Split(path, ".")...) }
}

// chosen are those of some resources that a request's filter takes.
func (r *request) chosen(all []doc) ([]any, error) {
	takes, err := filter(r.query.Get("filter"))
	if err != nil {
		return nil, err
	}
	list := []any{}
	for _, d := range all {
		if takes(fieldOf(d)) {
			list = append(list, d)
		}
	}
	return list, nil
}

// scoped is an aggregated list: resources by their zones, in pages.
func (c *Cloud) scoped(r *request, kind, name string, all []doc) (doc, error) {
	list, err := r.chosen(all)
	if err != nil {
		return nil, err
	}
	list, next, err := r.page(list)
	if err != nil {
		return nil, err
	}
	items := doc{}
	for _, z := range c.cfg.Zones {
		var here []any
		for _, d := range list {
			if base(str(d.(doc), "zone")) == z {
				here = append(here, d)
			}
		}
		if items["zones/"+z] = (doc{name: here}); len(here) == 0 {
			items["zones/"+z] = doc{"warning": doc{"code": "NO_RESULTS_ON_PAGE", "message": "There are no results for scope 'zones/" + z + "' on this page.", "data": []any{doc{"key": "scope", "value": "zones/" + z}}}}
		}
	}
	d := doc{"kind": kind, "id": "projects/" + c.cfg.Project + "/aggregated/" + name, "items": items, "selfLink": c.url("aggregated", name)}
	if next != "" {
		d["nextPageToken"] = next
	}
	return d, nil
}
