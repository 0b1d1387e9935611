package scontrol

import (
	"strconv"
	"strings"

	"fsub/cmd/internal/show"
	"fsub/slurm/wire"
)

// nodeStates are those that scontrol knows, in the order in which it lists them; the last two it takes too.
var nodeStates = []string{"NoResp", "DRAIN", "FAIL", "FUTURE", "RESUME", "POWER_DOWN", "POWER_UP", "UNDRAIN", "DOWN", "IDLE"}

// updateNode is "update NodeName=LIST State=STATE Reason=TEXT". The daemon says which states can be set over sites.
func (c *command) updateNode(words []string) int {
	body := map[string]any{}
	state, reason := "", ""
	for i, w := range words {
		key, value, has := strings.Cut(w, "=")
		switch {
		case !has:
			return c.fail("scontrol: error: Invalid input: %s  Request aborted", w)
		case i == 0:
			body["name"] = []string{value}
		case is(key, "State", 1):
			for _, s := range nodeStates {
				if is(value, s, 4) {
					state = strings.ToUpper(s)
				}
			}
			if state == "" {
				return c.fail("Invalid input: %s\nRequest aborted\nValid states are: %s\nNot all states are valid given a node's prior state", w, strings.Join(nodeStates[:8], " "))
			}
			body["state"] = []string{state}
		case is(key, "Reason", 1):
			reason = strings.Trim(value, `"'`)
			body["reason"] = reason
		case is(key, "ResumeAfter", 7):
			n, err := strconv.ParseInt(value, 10, 32)
			if err != nil || n <= 0 {
				return c.fail("Invalid input: %s\nRequest aborted", w)
			}
			body["resume_after"] = n
		default:
			return c.fail("Update of this parameter is not supported: %s\nRequest aborted", w)
		}
	}
	switch {
	case len(body) == 1:
		return c.fail("No changes specified")
	case (state == "DRAIN" || state == "DOWN") && reason == "":
		return c.fail("You must specify a reason when DOWNING or DRAINING a node. Request denied")
	case body["resume_after"] != nil && state != "DRAIN" && state != "DOWN":
		return c.fail("You can only specify a resume time when DOWNING or DRAINING a node. Request denied")
	}
	var resp wire.NodesResponse
	if err := show.Post(c.caller, wire.Slurm(restVersion, wire.PathNodes)+c.clusters.query(), body, &resp); err != nil {
		return c.fail("slurm_update error: %s", nodeError(err))
	}
	return 0
}
