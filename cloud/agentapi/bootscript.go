package agentapi

import (
	_ "embed"
	"strings"
)

//go:embed boot.sh
var bootScript string

// Script is the boot data as user data of a cloud's machine: a script for sh, below EC2's 16 kB. It fetches the agent with what the
// machine has of curl, wget and python3, runs it only if its hash is right, and switches the machine off when the agent ends or cannot be had, if the machine
// is alone for its gang. FSUB_POWEROFF, if it is set, is the command for that.
//
// The certificate is not checked for the fetch: the hash is what tells the agent from any other, and nothing secret is sent. The agent itself knows the door by
// its pin.
func (b Boot) Script() string {
	return strings.NewReplacer("@BOOT@\n", string(b.Lines()), "@OFF@", b.powerOff()).Replace(bootScript)
}
