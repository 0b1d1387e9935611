package scontrol

import (
	"fmt"
	"strings"

	"fsub/cmd/internal/show"
	v1 "fsub/federation/api/v1"
)

// reboot is "reboot [ASAP] [nextstate=RESUME|DOWN] [reason=TEXT] ALL|LIST". ALL are the nodes of all sites, or of those that --clusters names.
func (c *command) reboot(words []string) int {
	var q v1.RebootNodes
	var list []string
	for i, w := range words {
		key, value, has := strings.Cut(w, "=")
		switch {
		case i < 3 && strings.EqualFold(w, "ASAP"):
			q.ASAP = true
		case i < 3 && has && strings.EqualFold(key, "reason"):
			if q.Reason = value; value == "" {
				return c.fail("missing reason")
			}
		case i < 3 && has && strings.EqualFold(key, "nextstate"):
			switch {
			case value == "":
				return c.fail("missing state")
			case is(value, "DOWN", 1):
				q.NextState = "DOWN"
			case is(value, "RESUME", 1):
				q.NextState = "RESUME"
			default:
				return c.fail("Invalid state: %s\nValid states: DOWN, RESUME", value)
			}
		default:
			list = append(list, w)
		}
	}
	switch {
	case len(list) > 1:
		return c.fail("too many arguments for keyword:reboot")
	case len(list) == 0:
		return c.fail("Missing node list. Specify ALL|<NodeList>")
	}
	if c.some {
		q.Where = []string{"site=" + strings.Join(c.sites, ",")}
	}
	switch all := strings.EqualFold(list[0], "ALL"); {
	case !all && c.some && len(c.sites) == 1 && !strings.Contains(list[0], "/"):
		q.Nodes = []string{c.sites[0] + "/" + list[0]}
	case !all:
		q.Nodes = list
	case !c.some:
		q.Where = []string{"site=*"}
	}
	var said v1.SetNodesResponse
	if err := show.Post(c.caller, "/fed/v1/nodes/reboot", q, &said); err != nil {
		return c.fail("scontrol_reboot_nodes error: %s", err)
	}
	exit := 0
	for _, n := range said.Nodes {
		if n.Left {
			exit = c.fail("%s", fmt.Sprintf("scontrol_reboot_nodes error: %s/%s: %s", n.Site, n.Name, n.Note))
		}
	}
	return exit
}
