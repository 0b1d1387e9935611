package health

import (
	"fmt"

	"fsub/federation"
	"fsub/federation/driver"
)

// Todo is what an order comes to, by a fresh look at the site's nodes: the names for each action, and those that are left alone, with the
// reason. Nodes that are as they should be are in neither.
func Todo(nodes []federation.Node, o driver.NodeOrder) (do map[Action][]string, left map[string]error) {
	byName := make(map[string]*federation.Node, len(nodes))
	for i := range nodes {
		byName[nodes[i].Name] = &nodes[i]
	}
	do, left = map[Action][]string{}, map[string]error{}
	for _, name := range o.Nodes {
		n := byName[name]
		if n == nil {
			left[name] = fmt.Errorf("%w: the site lists no node %s", federation.ErrNotFound, name)
			continue
		}
		is := ConditionOf(n)
		switch a := Decide(o.Wish, is, AuthorOf(n, o.Text, o.Mark)); a {
		case Nothing:
		case Leave:
			left[name] = fmt.Errorf("%w: %s is %s: %s", federation.ErrConflict, name, is, n.Reason)
		case Wait:
			left[name] = fmt.Errorf("%w: %s is %s", federation.ErrConflict, name, is)
		default:
			do[a] = append(do[a], name)
		}
	}
	return do, left
}
