package web

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"fsub/federation"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	. "fsub/federation/web/html"
)

// mostFailed of a group's jobs are listed.
const mostFailed = 20

// group is the page of the jobs of a group: how many are in which state, and those that failed last.
func (s *server) group(r *http.Request) (*page, error) {
	name := r.URL.Query().Get("name")
	if name == "" {
		return nil, federation.ErrNotFound
	}
	where := []string{"group=" + name}
	live, err := client.List(r.Context(), s.api, &v1.Summary, v1.SummaryQuery{By: "state", Where: where})
	if err != nil {
		return nil, err
	}
	waiting, err := client.List(r.Context(), s.api, &v1.Summary, v1.SummaryQuery{By: "site,reason", Where: append([]string{"state=pending"}, where...)})
	if err != nil {
		return nil, err
	}
	failed, err := client.ListPage(r.Context(), s.api, &v1.Jobs, v1.JobQuery{Where: append([]string{whereOf("failed")}, where...), Sort: "-id"}, v1.PageQuery{Limit: mostFailed})
	if err != nil {
		return nil, err
	}
	n := map[federation.State]int{}
	for _, x := range live {
		n[x.State] += int(x.Tasks)
	}
	ul := E("ul", Class("counts"), A("aria-label", "Jobs that have not ended, by state"))
	for _, st := range slices.Sorted(maps.Keys(n)) {
		ul.Children = append(ul.Children, E("li", cell("group/"+string(st), "number", strconv.Itoa(n[st])), " ", strings.ToLower(string(st))))
	}
	if len(n) == 0 {
		ul = E("p", Class("empty"), "All of its jobs have ended, or there are none.")
	}
	list := s.at(r) + "/jobs?" + url.Values{"user": {""}, "group": {name}}.Encode()
	why, _ := nounTable("Why they wait", &v1.Summary, waiting, "STATE", "USER", "ACCOUNT", "GROUP")
	p := &page{title: "Group " + name, command: "fed job list --where " + quoted(where[0]), data: map[string]any{"live": live, "waiting": waiting, "failed": failed.Items}, table: jobRows(failed.Items)}
	p.parts = []Node{
		ul, E("p", Class("links"), E("a", A("href", list), "Jobs that have not ended"), E("a", A("href", list+"&state=ended"), "Those that have"), E("a", A("href", list+"&state=failed"), "Those that failed")),
		section("What they wait for", why),
		section("Failed last", s.jobTable(r, failed.Items)),
	}
	return p, nil
}

// whereOf is what a choice of the filter means.
func whereOf(state string) string {
	for _, s := range states {
		if s.name == state {
			return s.where
		}
	}
	return ""
}

// groupLink leads from a job to its group.
func (s *server) groupLink(r *http.Request, name string) Node {
	if name == "" {
		return nil
	}
	return E("span", ", group ", E("a", A("href", s.at(r)+"/group?"+url.Values{"name": {name}}.Encode()), name))
}
