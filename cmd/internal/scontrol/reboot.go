package scontrol

import (
	"errors"
	"fmt"
	"strings"

	"fsub/cmd/internal/show"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/wire"
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
	return c.orderReboot("scontrol_reboot_nodes error", "Permission denied", list[0], q)
}

// cancelReboot is "cancel_reboot LIST".
func (c *command) cancelReboot(words []string) int {
	switch {
	case len(words) > 1:
		return c.fail("too many arguments for keyword:cancel_reboot")
	case len(words) == 0:
		return c.fail("missing argument for keyword:cancel_reboot")
	}
	return c.orderReboot("slurm_update error", "Invalid user id", words[0], v1.RebootNodes{Cancel: true})
}

// orderReboot sends an order about the reboot of nodes. prefix is what errors begin with; denied is how others than administrators are refused.
func (c *command) orderReboot(prefix, denied, list string, q v1.RebootNodes) int {
	if c.clusters.some {
		q.Where = []string{"site=" + strings.Join(c.clusters.sites, ",")}
	}
	switch all := strings.EqualFold(list, "ALL"); {
	case !all && c.clusters.some && len(c.clusters.sites) == 1 && !strings.Contains(list, "/"):
		q.Nodes = []string{c.clusters.sites[0] + "/" + list}
	case !all:
		q.Nodes = []string{list}
	case !c.clusters.some:
		q.Where = []string{"site=*"}
	}
	var said v1.SetNodesResponse
	if err := show.Post(c.caller, "/fed/v1/nodes/reboot", q, &said); err != nil {
		if f, ok := errors.AsType[*show.Failure](err); ok && f.Number == wire.ErrAccess {
			return c.fail("%s: %s", prefix, denied)
		}
		return c.fail("%s: %s", prefix, nodeError(err))
	}
	exit := 0
	for _, n := range said.Nodes {
		if n.Left {
			exit = c.fail("%s", fmt.Sprintf("%s: %s/%s: %s", prefix, n.Site, n.Name, n.Note))
		}
	}
	return exit
}

// nodeError is a refusal to do something to nodes, in Slurm's words where it has any.
func nodeError(err error) string {
	if f, ok := errors.AsType[*show.Failure](err); ok && f.Number == wire.ErrNodeName {
		return "Invalid node name specified: " + f.Text
	}
	return err.Error()
}
