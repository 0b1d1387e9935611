package api

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"fsub/federation"
	"fsub/federation/api/answer"
	v1 "fsub/federation/api/v1"
)

// eventCondition is KEY=VALUE[,VALUE...], of which one must be met, or KEY!=VALUE[,VALUE...], of which none. In a value * stands for anything.
type eventCondition struct {
	key    string
	not    bool
	values []string
}

var eventKeys = []string{"event", "job", "user", "who", "name", "site", "node", "state", "from", "reason", "request"}

func readEventConditions(texts []string) (out []eventCondition, err error) {
	if err := answer.FewWords("where", texts); err != nil {
		return nil, err
	}
	for _, text := range texts {
		key, value, _ := strings.Cut(text, "=")
		key, not := strings.CutSuffix(key, "!")
		c := eventCondition{key, not, strings.Split(strings.ToLower(value), ",")}
		_, bad := path.Match(value, "")
		if !slices.Contains(eventKeys, key) || value == "" || bad != nil {
			return nil, &federation.SlurmError{Kind: federation.ErrInvalid, Alone: true, Text: fmt.Sprintf(
				"invalid condition %q: want KEY=VALUE or KEY!=VALUE, with one of the keys %s", text, strings.Join(eventKeys, ", "))}
		}
		out = append(out, c)
	}
	return out, nil
}

func holdAll(all []eventCondition, e *v1.Event) bool {
	return !slices.ContainsFunc(all, func(c eventCondition) bool { return c.any(e) == c.not })
}

// any reports whether one of the values is met.
func (c *eventCondition) any(e *v1.Event) bool {
	var words []string
	switch c.key {
	case "event":
		words = []string{e.Event}
	case "job":
		if words = []string{e.Job.String()}; e.Task != nil {
			words = append(words, e.Array.String(), fmt.Sprintf("%d_%d", e.Array, *e.Task))
		}
	case "user":
		words = []string{e.User}
	case "who":
		words = []string{e.Who}
	case "name":
		words = []string{e.Name}
	case "site":
		words = []string{string(e.Site)}
	case "node":
		words = []string{e.Node, string(e.Site) + "/" + e.Node}
	case "state":
		words = []string{string(e.State)}
	case "from":
		words = []string{string(e.From)}
	case "reason":
		words = []string{string(e.Reason), e.Detail}
	case "request":
		words = []string{e.Request}
	}
	return slices.ContainsFunc(c.values, func(pattern string) bool {
		return slices.ContainsFunc(words, func(w string) bool { ok, _ := path.Match(pattern, strings.ToLower(w)); return ok })
	})
}
