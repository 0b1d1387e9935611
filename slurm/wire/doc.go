// Package wire holds the JSON shapes of slurmrestd, for everyone who speaks them: the client of package slurm, the
// daemon's own slurmrestd-shaped API, and the simulated site. They follow data_parser v0.0.42, the newest one that Slurm 24.11 and 26.05
// both speak; what newer versions added is there too and is left out of the JSON while it is empty.
//
// Reading is tolerant ([Number], [Strings], [List], [Int] take every form that some version writes); writing gives exactly what slurmrestd
// gives, so that its clients accept it: numbers as {set,infinite,number}, lists never null, every field present.
// Translation of a version that differs in more than that is in package slurm. The package is pure and small: it
// imports encoding/json and nothing of the network.
package wire

// Base is the API version that these shapes follow.
const Base = "v0.0.42"

// Headers that carry the caller's name and token.
const (
	HeaderUser  = "X-SLURM-USER-NAME"
	HeaderToken = "X-SLURM-USER-TOKEN"
)

// Paths of slurmrestd below /slurm/<version>. The final slash is part of the name where slurmrestd has one.
const (
	PathPing         = "/ping/"
	PathDiag         = "/diag/"
	PathJobSubmit    = "/job/submit"
	PathJob          = "/job/" // + id
	PathJobs         = "/jobs/"
	PathJobsState    = "/jobs/state/"
	PathNodes        = "/nodes/"
	PathNode         = "/node/" // + name
	PathPartitions   = "/partitions/"
	PathReservations = "/reservations/"
	PathReservation  = "/reservation" // POST; DELETE and GET with /name
)

// Paths below /slurmdb/<version>.
const (
	PathDBJob          = "/job/" // + id
	PathDBJobs         = "/jobs/"
	PathDBAssociations = "/associations/"
	PathDBAssociation  = "/association/"          // DELETE: those of one condition
	PathDBAddAccounts  = "/accounts_association/" // POST: accounts with their associations
	PathDBAccounts     = "/accounts/"
	PathDBUsers        = "/users/"
	PathDBQOS          = "/qos/"
	PathDBWCKeys       = "/wckeys/"
	PathDBClusters     = "/clusters/"
	PathDBTRES         = "/tres/"
)

// Slurm is the path of a slurmctld operation in an API version: Slurm("v0.0.42", PathJobs).
func Slurm(version, path string) string { return "/slurm/" + version + path }

// SlurmDB is the path of a slurmdbd operation in an API version.
func SlurmDB(version, path string) string { return "/slurmdb/" + version + path }
