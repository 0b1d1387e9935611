package decision

import (
	"fmt"
	"time"

	"fsub/federation/ident"
)

// KeptOff is a switch or block that jobs of several nodes are kept off for a while, since failures of such jobs were laid to it.
type KeptOff struct {
	Site  ident.SiteName `json:"site"`
	Part  string         `json:"part"`  // the switch or block
	Nodes int            `json:"nodes"` // below it that the job could have otherwise
	// Needed: the job finds too few other nodes, and may have those.
	Needed bool      `json:"needed,omitempty"`
	Until  time.Time `json:"until,omitzero"` // when jobs try it again
	Why    string    `json:"why,omitempty"`  // what speaks against it
}

// Text says it in a line.
func (k *KeptOff) Text(zone *time.Location) string {
	nodes := fmt.Sprintf("%d nodes", k.Nodes)
	if k.Nodes == 1 {
		nodes = "1 node"
	}
	text := fmt.Sprintf("%s of %s (%s)", k.Part, k.Site, nodes)
	if !k.Until.IsZero() {
		text += " until " + k.Until.In(zone).Format(time.DateTime)
	}
	if k.Why != "" {
		text += ": " + k.Why
	}
	if k.Needed {
		text += "; it may run there all the same, as it finds too few other nodes"
	}
	return text
}
