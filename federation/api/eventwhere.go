package api

import (
	"fmt"

	v1 "fsub/federation/api/v1"
	"fsub/sbatch"
)

var eventKeys = []string{"event", "job", "user", "who", "name", "group", "site", "node", "state", "from", "reason", "request"}

func holdAll(all []where, e *v1.Event) bool {
	var words [3]string
	for i := range all {
		if w := &all[i]; !w.met(eventWords(words[:0], w.key, e)...) {
			return false
		}
	}
	return true
}

// eventWords appends what a condition on a key looks at.
func eventWords(to []string, key string, e *v1.Event) []string {
	switch key {
	case "event":
		return append(to, e.Event)
	case "job":
		if to = append(to, e.Job.String()); e.Task != nil {
			return append(to, e.Array.String(), fmt.Sprintf("%d_%d", e.Array, *e.Task))
		}
		return to
	case "user":
		return append(to, e.User)
	case "who":
		return append(to, e.Who)
	case "name":
		return append(to, e.Name)
	case "group":
		return append(to, sbatch.Groups(e.Group)...)
	case "site":
		return append(to, string(e.Site))
	case "node":
		return append(to, e.Node, string(e.Site)+"/"+e.Node)
	case "state":
		return append(to, string(e.State))
	case "from":
		return append(to, string(e.From))
	case "reason":
		return append(to, string(e.Reason), e.Detail)
	}
	return append(to, e.Request)
}
