package simsite

import "fsub/federation"

// Refusal is what a site's controller says instead of doing a thing: Slurm's error number and sentence.
type Refusal struct {
	Number int
	Text   string
	Kind   error // what it means to the federation
}

func (r *Refusal) Error() string { return r.Text }

func (r *Refusal) Unwrap() error { return r.Kind }

// Slurm's numbers, as seen on 24.11 and 26.05.
var (
	errAuth         = &Refusal{1007, "Protocol authentication error", federation.ErrDenied}
	errController   = &Refusal{1800, "Unable to contact slurm controller (connect failure)", federation.ErrNotSent}
	errPartition    = &Refusal{2000, "Invalid partition name specified", federation.ErrCapacity}
	errNoPartition  = &Refusal{2001, "No partition specified or system default partition", federation.ErrCapacity}
	errDenied       = &Refusal{2002, "Access/permission denied", federation.ErrDenied}
	errNotInPart    = &Refusal{2004, "Requested nodes not in this partition", federation.ErrCapacity}
	errNodeCount    = &Refusal{2006, "Node count specification invalid", federation.ErrCapacity}
	errNoScript     = &Refusal{2009, "Job script not specified", federation.ErrInvalid}
	errUserID       = &Refusal{2010, "Invalid user id", federation.ErrDenied}
	errDuplicate    = &Refusal{2011, "Duplicate job id", federation.ErrConflict}
	errTooLong      = &Refusal{2012, "Pathname of a file, directory or other parameter too long", federation.ErrInvalid}
	errNodeConfig   = &Refusal{2014, "Requested node configuration is not available", federation.ErrCapacity}
	errPartConfig   = &Refusal{2015, "Requested partition configuration not available now", federation.ErrCapacity}
	errJobID        = &Refusal{2017, "Invalid job id specified", federation.ErrNotFound}
	errNodeName     = &Refusal{2018, "Invalid node name specified", federation.ErrCapacity}
	errIO           = &Refusal{2019, "I/O error writing script/environment to file", federation.ErrUnavailable}
	errTransition   = &Refusal{2020, "Job can not be altered now, try again later", federation.ErrConflict}
	errAlreadyDone  = &Refusal{2021, "Job/step already completing or completed", federation.ErrConflict}
	errTaskCount    = &Refusal{2025, "Task count specification invalid", federation.ErrInvalid}
	errNodeState    = &Refusal{2028, "Invalid node state specified", federation.ErrInvalid}
	errFeature      = &Refusal{2029, "Invalid feature specification", federation.ErrCapacity}
	errAccount      = &Refusal{2045, "Invalid account or account/partition combination specified", federation.ErrDenied}
	errTimeLimit    = &Refusal{2051, "Requested time limit is invalid (missing or exceeds some limit)", federation.ErrCapacity}
	errRsvAccess    = &Refusal{2052, "Access denied to requested reservation", federation.ErrDenied}
	errReservation  = &Refusal{2053, "Requested reservation is invalid", federation.ErrCapacity}
	errTimeValue    = &Refusal{2054, "Invalid time specified", federation.ErrInvalid}
	errRsvBusy      = &Refusal{2055, "Requested reservation is in use", federation.ErrConflict}
	errRsvOverlap   = &Refusal{2058, "Requested reservation overlaps with another reservation", federation.ErrConflict}
	errRsvStarted   = &Refusal{2189, "Reservation already started", federation.ErrConflict}
	errNoWorkDir    = &Refusal{2063, "Job cannot be submitted without the current working directory specified.", federation.ErrInvalid}
	errArray        = &Refusal{2081, "Invalid job array specification", federation.ErrCapacity}
	errFinished     = &Refusal{2084, "Job has already finished", federation.ErrConflict}
	errNotPending   = &Refusal{2073, "Job is no longer pending execution", federation.ErrConflict}
	errPriority     = &Refusal{2095, "Changes to job priority are not persistent, change nice instead", federation.ErrDenied}
	errTRES         = &Refusal{2115, "Invalid Trackable RESource (TRES) specification", federation.ErrCapacity}
	errGRES         = &Refusal{2072, "Invalid generic resource (gres) specification", federation.ErrCapacity}
	errNoEnv        = &Refusal{2127, "Environment is missing in job", federation.ErrInvalid}
	errDBConnection = &Refusal{7000, "Unable to connect to database", federation.ErrUnavailable}
)
