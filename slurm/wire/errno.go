package wire

// Slurm's error numbers that clients and servers act on. See [Strerror] for its sentences.
const (
	ErrAuth              = 1007
	ErrUnreachable       = 1800 // slurmctld does not answer slurmrestd
	ErrPartition         = 2000
	ErrNoPartition       = 2001
	ErrAccess            = 2002
	ErrNodesNotInPart    = 2004
	ErrTooManyCPUs       = 2005
	ErrNodeCount         = 2006
	ErrUserID            = 2010
	ErrDuplicateJob      = 2011
	ErrTooLong           = 2012
	ErrNodeConfig        = 2014
	ErrPartConfig        = 2015
	ErrNodesBusy         = 2016
	ErrJobID             = 2017
	ErrNodeName          = 2018
	ErrScriptIO          = 2019 // slurmrestd 24.11 says so for a missing environment too
	ErrAlreadyDone       = 2021
	ErrJobPending        = 2024
	ErrTaskCount         = 2025
	ErrNodeState         = 2028
	ErrFeature           = 2029
	ErrDependency        = 2038
	ErrJobHeld           = 2042
	ErrAccount           = 2045
	ErrLicenses          = 2048
	ErrAccountingPolicy  = 2050
	ErrTimeLimit         = 2051
	ErrReservationAccess = 2052
	ErrReservation       = 2053
	ErrTimeValue         = 2054
	ErrNoWorkDir         = 2063
	ErrQOS               = 2066
	ErrNodeNotAvail      = 2068
	ErrCircular          = 2071
	ErrGRES              = 2072
	ErrNotPending        = 2073
	ErrArray             = 2081
	ErrJobStarted        = 2083
	ErrJobFinished       = 2084
	ErrNotRunning        = 2085
	ErrNotSuspended      = 2087
	ErrPartitionDown     = 2101
	ErrTRES              = 2115
	ErrGRESType          = 2119
	ErrNice              = 2123
	ErrTimeMin           = 2124
	ErrEnvironment       = 2127
	ErrDBConnect         = 7000
	ErrParse             = 9001
	ErrConvert           = 9202
)

var sentences = map[int]string{
	ErrAuth:              "Protocol authentication error",
	ErrUnreachable:       "Unable to contact slurm controller (connect failure)",
	ErrPartition:         "Invalid partition name specified",
	ErrNoPartition:       "No partition specified or system default partition",
	ErrAccess:            "Access/permission denied",
	ErrNodesNotInPart:    "Requested nodes not in this partition",
	ErrTooManyCPUs:       "More processors requested than permitted",
	ErrNodeCount:         "Node count specification invalid",
	ErrUserID:            "Invalid user id",
	ErrDuplicateJob:      "Duplicate job id",
	ErrTooLong:           "Pathname of a file, directory or other parameter too long",
	ErrNodeConfig:        "Requested node configuration is not available",
	ErrPartConfig:        "Requested partition configuration not available now",
	ErrNodesBusy:         "Requested nodes are busy",
	ErrJobID:             "Invalid job id specified",
	ErrNodeName:          "Invalid node name specified",
	ErrScriptIO:          "I/O error writing script/environment to file",
	ErrAlreadyDone:       "Job/step already completing or completed",
	ErrJobPending:        "Job is pending execution",
	ErrTaskCount:         "Task count specification invalid",
	ErrNodeState:         "Invalid node state specified",
	ErrFeature:           "Invalid feature specification",
	ErrDependency:        "Job dependency problem",
	ErrJobHeld:           "Job is in held state, pending scheduler release",
	ErrAccount:           "Invalid account or account/partition combination specified",
	ErrLicenses:          "Invalid license specification",
	ErrAccountingPolicy:  "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)",
	ErrTimeLimit:         "Requested time limit is invalid (missing or exceeds some limit)",
	ErrReservationAccess: "Access denied to requested reservation",
	ErrReservation:       "Requested reservation is invalid",
	ErrTimeValue:         "Invalid time specified",
	ErrNoWorkDir:         "Job cannot be submitted without the current working directory specified.",
	ErrQOS:               "Invalid qos specification",
	ErrNodeNotAvail:      "Required node not available (down, drained or reserved)",
	ErrCircular:          "Circular job dependency",
	ErrGRES:              "Invalid generic resource (gres) specification",
	ErrNotPending:        "Job is no longer pending execution",
	ErrArray:             "Invalid job array specification",
	ErrJobStarted:        "Job has already started",
	ErrJobFinished:       "Job has already finished",
	ErrNotRunning:        "Job is not running",
	ErrNotSuspended:      "Job is not suspended",
	ErrPartitionDown:     "Partition in DOWN state",
	ErrTRES:              "Invalid Trackable RESource (TRES) specification",
	ErrGRESType:          "Invalid GRES specification (with and without type identification)",
	ErrNice:              "Invalid --nice value",
	ErrTimeMin:           "Invalid time-min specification (exceeds job's time or other limits)",
	ErrEnvironment:       "Environment is missing in job",
	ErrDBConnect:         "Unable to connect to database",
	ErrParse:             "Failure during parsing",
	ErrConvert:           "Unable to convert Data type",
}

// Strerror is Slurm's sentence for one of the numbers above, "" for any other.
func Strerror(number int) string { return sentences[number] }
