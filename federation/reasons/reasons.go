// Package reasons has the words that say why a job is PENDING or why it ended: Slurm's where Slurm has one, and ours, which begin with Fed.
package reasons

// Reason says in one word, without blanks, why a job is PENDING or why it ended. Slurm's spelling where Slurm has
// one; ours begin with Fed.
type Reason string

const (
	None            Reason = "None"
	Priority        Reason = "Priority"  // others come first
	Resources       Reason = "Resources" // waits for nodes to fall free
	Dependency      Reason = "Dependency"
	DependencyNever Reason = "DependencyNeverSatisfied"
	BeginTime       Reason = "BeginTime"
	HeldUser        Reason = "JobHeldUser"
	HeldAdmin       Reason = "JobHeldAdmin"
	Partition       Reason = "InvalidPartition" // the site has no such partition, or it has none by default
	PartitionDown   Reason = "PartitionDown"
	PartitionTime   Reason = "PartitionTimeLimit"
	PartitionNodes  Reason = "PartitionNodeLimit"
	Maintenance     Reason = "FedMaintenance" // Slurm: ReqNodeNotAvail, Reserved for maintenance
	ReqNodeNotAvail Reason = "ReqNodeNotAvail"
	BadConstraints  Reason = "BadConstraints"
	RootOnly        Reason = "FedRootOnly" // the partition is for root and SlurmUser
	Account         Reason = "InvalidAccount"
	QOS             Reason = "InvalidQOS"
	QOSTime         Reason = "QOSMaxWallDurationPerJobLimit" // of a site's QOS
	Reservation     Reason = "Reservation"
	NodeDown        Reason = "NodeDown"
	LaunchFailure   Reason = "JobLaunchFailure"
	LaunchHeld      Reason = "launch_failed_requeued_held" // a node could not start it: requeued, and held by its site
	TimeLimit       Reason = "TimeLimit"
	NonZeroExit     Reason = "NonZeroExitCode"
	Deadline        Reason = "DeadLine"
	SiteUnavailable Reason = "FedSiteUnavailable" // the site does not answer; it may well be able to run the job
	SiteDrain       Reason = "FedSiteDrain"       // FedState is not ACTIVE
	UnknownUser     Reason = "FedUnknownUser"     // the site has no such user or association
	Unsupported     Reason = "FedUnsupported"     // the site's Slurm cannot carry an option of the job
	GRES            Reason = "FedNoSuchGRES"      // no node of the pool has this GRES or type
	Backlog         Reason = "FedBacklog"         // enough is waiting at the site already
	SubmitLimit     Reason = "AssocMaxSubmitJobLimit"
	Refused         Reason = "FedRefused"       // the site has refused this job
	Forgotten       Reason = "FedForgotten"     // the site's controller lost the job
	NotAsked        Reason = "FedSiteNotAsked"  // the job asks for other sites
	MaxCost         Reason = "FedMaxCost"       // dearer than the job may be
	Moved           Reason = "FedMoved"         // the job was moved elsewhere
	StockOut        Reason = "FedStockOut"      // the cloud has none of these machines left just now
	Quota           Reason = "FedQuota"         // the cloud's account may have no more of them
	AccountBudget   Reason = "FedAccountBudget" // the account has spent what it may
	Budget          Reason = "FedBudget"        // the pool has spent what it may
	Price           Reason = "FedPrice"         // its machines cost more by now than was granted
	CloudQueue      Reason = "FedCloudQueue"    // the cloud has queued the request for its machines
	CloudDenied     Reason = "FedCloudDenied"   // the cloud does not take our credentials
	Throttled       Reason = "FedThrottled"     // the cloud wants fewer calls
	Boot            Reason = "FedBoot"          // its machines start
	FileSystem      Reason = "FedFileSystem"    // the job's working directory is not there, and nothing is copied
	Restored        Reason = "FedRestored"      // the store was restored from a copy, and not all sites have said yet whether it has run since
	Fault           Reason = "FedFault"         // placement failed over it, which is a defect; it is tried again after a while
)
