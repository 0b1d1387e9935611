package cloud

import "fsub/cloud/agentapi"

// Boot is what a machine is started with. It is agentapi's, so that the agent need not have the rest of this package.
type Boot = agentapi.Boot

// ParseBoot reads what Boot.Lines has written.
func ParseBoot(text []byte) (Boot, error) { return agentapi.ParseBoot(text) }
