package federation

// Reason says in one word, without blanks, why a job is PENDING or why it ended. Slurm's spelling where Slurm has
// one; ours begin with Fed.
type Reason string

const (
	ReasonNone            Reason = "None"
	ReasonPriority        Reason = "Priority"  // others come first
	ReasonResources       Reason = "Resources" // waits for nodes to fall free
	ReasonDependency      Reason = "Dependency"
	ReasonDependencyNever Reason = "DependencyNeverSatisfied"
	ReasonBeginTime       Reason = "BeginTime"
	ReasonHeldUser        Reason = "JobHeldUser"
	ReasonHeldAdmin       Reason = "JobHeldAdmin"
	ReasonPartition       Reason = "InvalidPartition" // the site has no such partition, or it has none by default
	ReasonPartitionDown   Reason = "PartitionDown"
	ReasonPartitionTime   Reason = "PartitionTimeLimit"
	ReasonPartitionNodes  Reason = "PartitionNodeLimit"
	ReasonMaintenance     Reason = "FedMaintenance" // Slurm: ReqNodeNotAvail, Reserved for maintenance
	ReasonReqNodeNotAvail Reason = "ReqNodeNotAvail"
	ReasonBadConstraints  Reason = "BadConstraints"
	ReasonRootOnly        Reason = "FedRootOnly" // the partition is for root and SlurmUser
	ReasonAccount         Reason = "InvalidAccount"
	ReasonQOS             Reason = "InvalidQOS"
	ReasonQOSTime         Reason = "QOSMaxWallDurationPerJobLimit" // of a site's QOS
	ReasonReservation     Reason = "Reservation"
	ReasonNodeDown        Reason = "NodeDown"
	ReasonLaunchFailure   Reason = "JobLaunchFailure"
	ReasonLaunchHeld      Reason = "launch_failed_requeued_held" // a node could not start it: requeued, and held by its site
	ReasonTimeLimit       Reason = "TimeLimit"
	ReasonNonZeroExit     Reason = "NonZeroExitCode"
	ReasonDeadline        Reason = "DeadLine"
	ReasonSiteUnavailable Reason = "FedSiteUnavailable" // the site does not answer; it may well be able to run the job
	ReasonSiteDrain       Reason = "FedSiteDrain"       // FedState is not ACTIVE
	ReasonUnknownUser     Reason = "FedUnknownUser"     // the site has no such user or association
	ReasonUnsupported     Reason = "FedUnsupported"     // the site's Slurm cannot carry an option of the job
	ReasonGRES            Reason = "FedNoSuchGRES"      // no node of the pool has this GRES or type
	ReasonBacklog         Reason = "FedBacklog"         // enough is waiting at the site already
	ReasonSubmitLimit     Reason = "AssocMaxSubmitJobLimit"
	ReasonRefused         Reason = "FedRefused"       // the site has refused this job
	ReasonForgotten       Reason = "FedForgotten"     // the site's controller lost the job
	ReasonNotAsked        Reason = "FedSiteNotAsked"  // the job asks for other sites
	ReasonMaxCost         Reason = "FedMaxCost"       // dearer than the job may be
	ReasonMoved           Reason = "FedMoved"         // the job was moved elsewhere
	ReasonStockOut        Reason = "FedStockOut"      // the cloud has none of these machines left just now
	ReasonQuota           Reason = "FedQuota"         // the cloud's account may have no more of them
	ReasonAccountBudget   Reason = "FedAccountBudget" // the account has spent what it may
	ReasonBudget          Reason = "FedBudget"        // the pool has spent what it may
	ReasonPrice           Reason = "FedPrice"         // its machines cost more by now than was granted
	ReasonCloudQueue      Reason = "FedCloudQueue"    // the cloud has queued the request for its machines
	ReasonCloudDenied     Reason = "FedCloudDenied"   // the cloud does not take our credentials
	ReasonThrottled       Reason = "FedThrottled"     // the cloud wants fewer calls
	ReasonBoot            Reason = "FedBoot"          // its machines start
	ReasonFileSystem      Reason = "FedFileSystem"    // the job's working directory is not there, and nothing is copied
	ReasonRestored        Reason = "FedRestored"      // the store was restored from a copy, and not all sites have said yet whether it has run since
	ReasonFault           Reason = "FedFault"         // placement failed over it, which is a defect; it is tried again after a while
)
