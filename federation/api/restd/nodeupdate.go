package restd

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/hostlist"
	"fsub/slurm/wire"
)

// updateNodes is POST /node/{name} and POST /nodes: it drains nodes and ends drains. As in Slurm that is for administrators; operators have
// fed node drain. A name may be SITE/NAME; a plain one is good where one site alone has it, or the query's cluster says which.
func (s *Server) updateNodes(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	if c.Role < identity.RoleAdministrator {
		return answer.Detailed(answer.NewError(federation.ErrDenied, wire.ErrUserID), "only an administrator may update nodes by Slurm's rules; operators have: fed node drain, fed node resume")
	}
	body, err := answer.ReadBody(r)
	if err != nil {
		return err
	}
	defer answer.PutBody(body)
	var q struct {
		Name        wire.Strings `json:"name"`
		State       wire.Strings `json:"state"`
		Reason      string       `json:"reason"`
		ResumeAfter wire.Number  `json:"resume_after"`
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body.Bytes(), &q); err != nil {
		return answer.BadBody(err.Error())
	}
	json.Unmarshal(body.Bytes(), &fields) // as above
	for name := range fields {
		if !slices.Contains([]string{"name", "state", "reason", "resume_after"}, name) {
			return notSupported(fmt.Sprintf("field %q of a node cannot be changed through the federation", name))
		}
	}
	if name := r.PathValue("name"); name != "" {
		q.Name = wire.Strings{name}
	}
	order := v1.SetNodes{Nodes: q.Name, Reason: q.Reason}
	if sites := r.URL.Query().Get("cluster"); sites != "" {
		order.Where = []string{"site=" + sites}
		order.Nodes = withSite(q.Name, sites)
	}
	switch state := strings.ToUpper(strings.Join(q.State, "+")); state {
	case "DRAIN":
		order.State = federation.WishDrain
		if q.ResumeAfter.Value() > 0 {
			order.Until = s.Now().Add(time.Duration(q.ResumeAfter.Value()) * time.Second)
		}
	case "RESUME", "UNDRAIN", "IDLE":
		order.State = federation.WishResume
	default:
		return notSupported(fmt.Sprintf("nodes can be set to DRAIN, UNDRAIN and RESUME through the federation, not to %q", state))
	}
	said, err := s.OrderNodes(r.Context(), c, &order)
	if err != nil {
		return err
	}
	var left []string
	for _, n := range said {
		switch {
		case n.Left && order.State == federation.WishResume:
			left = append(left, fmt.Sprintf("%s/%s stays %s", n.Site, n.Name, n.Note))
		case n.Nothing && strings.EqualFold(q.State[0], "RESUME"): // slurmctld lets that pass with UNDRAIN only
			left = append(left, fmt.Sprintf("%s/%s is up", n.Site, n.Name))
		}
	}
	if len(left) > 0 {
		return &federation.SlurmError{Kind: federation.ErrConflict, Number: wire.ErrNodeState, Text: wire.Strerror(wire.ErrNodeState), Detail: strings.Join(left, "; ")}
	}
	return write(w, r, s.Reply(r, c))
}

// withSite puts a site before names that have none, if there is but one.
func withSite(names []string, sites string) []string {
	if strings.Contains(sites, ",") {
		return names
	}
	var out []string
	for _, list := range names {
		for _, item := range hostlist.Split(list) {
			if !strings.Contains(item, "/") {
				item = sites + "/" + item
			}
			out = append(out, item)
		}
	}
	return out
}
