package api

import (
	"fmt"
	"slices"

	v1 "fsub/federation/api/v1"
	"fsub/sbatch"
)

var eventKeys = []string{"event", "job", "user", "who", "name", "group", "site", "node", "state", "from", "reason", "request"}

func holdAll(all []where, e *v1.Event) bool {
	return !slices.ContainsFunc(all, func(w where) bool { return !w.met(eventWords(w.key, e)...) })
}

// eventWords are what a condition on a key looks at.
func eventWords(key string, e *v1.Event) []string {
	switch key {
	case "event":
		return []string{e.Event}
	case "job":
		if e.Task != nil {
			return []string{e.Job.String(), e.Array.String(), fmt.Sprintf("%d_%d", e.Array, *e.Task)}
		}
		return []string{e.Job.String()}
	case "user":
		return []string{e.User}
	case "who":
		return []string{e.Who}
	case "name":
		return []string{e.Name}
	case "group":
		return sbatch.Groups(e.Group)
	case "site":
		return []string{string(e.Site)}
	case "node":
		return []string{e.Node, string(e.Site) + "/" + e.Node}
	case "state":
		return []string{string(e.State)}
	case "from":
		return []string{string(e.From)}
	case "reason":
		return []string{string(e.Reason), e.Detail}
	}
	return []string{e.Request}
}
