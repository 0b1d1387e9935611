// Package agentapi is what the daemon and the agents on rented machines (cmd/fed-agent) say to each other: the shapes, pure, and the paths
// of the door that the daemon keeps for agents. All of it is JSON over HTTP, on a unix socket for machines that see the daemon's own file system, else over
// TLS whose certificate is pinned.
//
// The life of a machine, as it is spoken of here:
//
//  1. [Hello] with the one-time token of the machine's boot data. It is good once, for one machine of its gang. The [Welcome] has the session
//     token, which all further requests carry as "Authorization: Bearer".
//  2. [Poll], a request that waits for [Orders]: what the machine is to run now. Orders are the whole truth, not a change: a run that they do not
//     name any more is ended by the agent. Every answer renews the machine's lease.
//  3. [Report], at once, whenever a run starts or ends, or the provider has announced the machine's end.
//  4. Output goes to PathLog, in order, each piece with its offset; what the daemon has already is not sent again.
//  5. When the lease lapses without an answer, the agent ends its runs and then its machine.
package agentapi

// The paths of the door. RUN is the ID of a run. The job's own commands reach the daemon's API below PathJob/RUN: the agent passes requests on that
// come from processes of the job's user, and the daemon answers as that user.
const (
	PathHello  = "/agent/v1/hello"
	PathPoll   = "/agent/v1/poll"
	PathReport = "/agent/v1/report"
	PathLog    = "/agent/v1/log/" // RUN/out or RUN/err; query offset=N, query end=1 with the last piece
	PathBinary = "/agent/v1/binary/"
	PathJob    = "/agent/v1/job/" // RUN/PATH-OF-THE-API
)
