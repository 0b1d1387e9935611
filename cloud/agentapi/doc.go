// Package agentapi defines the messages between the daemon and the agents on rented machines
// (cmd/fed-agent), and the paths of the daemon's server for agents. Messages are JSON over HTTP, on a
// unix socket for machines that see the daemon's own file system, else over TLS with a pinned
// certificate. The package does no I/O.
//
// The life of a machine:
//
//  1. [Hello] with the one-time token of the machine's boot data. The token works once for each machine of
//     its gang. The [Welcome] has the session token, which all further requests carry as
//     "Authorization: Bearer".
//  2. [Poll], a request that waits for [Orders]: what the machine is to run now. Orders are complete, not a
//     change: the agent ends a run that they no longer name. Every response renews the machine's lease.
//  3. [Report], at once, whenever a run starts or ends, or the provider has announced the machine's end.
//  4. Output goes to PathLog, in order, each piece with its offset; what the daemon has is not sent again.
//  5. When the lease lapses without a response, the agent ends its runs and then its machine.
package agentapi

// HeaderEpoch is the newest epoch of [Orders] that the agent has seen, in each of its requests. A daemon of an older one leads no longer: it answers 503.
const HeaderEpoch = "X-Fed-Epoch"

// Protocol is the version of these messages that daemon and agents speak, as the paths have it. Agents live as long as their machine, longer than a daemon: within
// a version fields are only added, and either side takes the absence of one for what was true before it was there.
const Protocol = 1

// The paths of the server. RUN is the ID of a run. The job's own commands reach the daemon's API
// below PathJob/RUN: the agent passes on requests of processes of the job's user, and the daemon
// answers as that user.
const (
	PathHello  = "/agent/v1/hello"
	PathPoll   = "/agent/v1/poll"
	PathReport = "/agent/v1/report"
	PathLog    = "/agent/v1/log/"    // RUN/out or RUN/err; query offset=N, query end=1 with the last piece
	PathStream = "/agent/v1/stream/" // ID of a [Stream]; the connection is upgraded: fsub/federation/tunnel
	PathBinary = "/agent/v1/binary/"
	PathJob    = "/agent/v1/job/" // RUN/PATH-OF-THE-API
)
