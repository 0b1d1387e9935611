package agentapi

import (
	_ "embed"
	"strings"
)

//go:embed boot.sh
var bootScript string

// Script returns the boot data as user data of a cloud machine: a script for sh, below EC2's 16 kB.
// It fetches the agent with curl, wget or python3, whichever the machine has, and runs it only if
// its hash is right. If the machine is the gang's alone, it is switched off when the agent ends or
// cannot be fetched; FSUB_POWEROFF, if set, is the command for that.
//
// The certificate is not checked for the fetch: the hash identifies the agent, and nothing secret
// is sent. The agent itself knows the server by its pin.
func (b Boot) Script() string {
	return strings.NewReplacer("@BOOT@\n", string(b.Lines()), "@OFF@", b.powerOff()).Replace(bootScript)
}
