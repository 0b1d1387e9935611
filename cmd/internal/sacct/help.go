package sacct

import "fsub/cmd/internal/option"

const shortHelp = `Usage: sacct [options]
	Use --help for help
`

// reasons is --helpreason: those that a job of the federation may have.
const reasons = `None
Priority
Resources
Dependency
DependencyNeverSatisfied
BeginTime
JobHeldUser
JobHeldAdmin
JobArrayTaskLimit
PartitionDown
PartitionTimeLimit
PartitionNodeLimit
ReqNodeNotAvail
Reservation
Licenses
NodeDown
BadConstraints
NonZeroExitCode
TimeLimit
InvalidAccount
InvalidQOS
JobLaunchFailure
RaisedSignal
`

var about = option.About{
	Name:  "sacct",
	Does:  "show what became of jobs of the federation",
	Usage: []string{"sacct [OPTIONS]"},
	Text: "Shows jobs that run or have ended at any site, and their steps. Without options it is your own jobs of today; " +
		"--jobs shows jobs of any day.",
	Notes: "TIME is as in Slurm: HH:MM, MMDD, YYYY-MM-DD, YYYY-MM-DDTHH:MM, now-2hours, today, midnight.",
}

// About describes sacct.
func About() option.About { return optionSet.About() }
