package cloud

import "time"

// Boot is what a machine is started with: enough to fetch its agent and to say hello, and no credential. The one-time token is good once for each machine
// of its gang, and for a limited time; it opens nothing but [fsub/cloud/agentapi.Hello].
//
// It is made of the gang's record and the daemon's key alone, so that a gang that is asked for again is asked for with the same words.
type Boot struct {
	URL     string    // where the door is: "https://HOST:PORT", or "unix:/PATH" for machines that see the daemon's file system
	Pin     string    // base64 of the SHA-256 of the door's public key (as curl's --pinnedpubkey has it); "" for a unix socket
	Token   string    // the one-time token
	Expires time.Time // of the token
	Agent   string    // hex SHA-256 of the agent's binary, which is fetched below URL; "" where the machine has it
	Path    string    // of the agent's binary where the machine has it
	Lease   time.Duration
	// Metadata is where the machine learns its own ID and its announced end: "ec2", or "" where the provider passes them otherwise.
	Metadata string
	// Instance is the machine's ID where the provider knows it before the machine starts.
	Instance string
	// PowerOff: the machine is alone for the gang: it is switched off when the agent ends. Its host name, users and /etc/hosts are the agent's to set.
	PowerOff bool
}
