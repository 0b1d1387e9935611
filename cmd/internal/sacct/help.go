package sacct

const shortHelp = `Usage: sacct [options]
	Use --help for help
`

const help = `Usage: sacct [OPTIONS]
Shows what became of jobs of the federation.

  -A, --accounts=LIST       only jobs of these accounts
  -a, --allusers            jobs of all users
  -B, --batch-script        the scripts of --jobs; --env-vars: their environment
  -b, --brief               job, state and exit code
  -C, --constraints=LIST    only jobs that ask for these features
      --delimiter=TEXT      what stands between fields with --parsable
  -E, --endtime=TIME        jobs before this time
  -e, --helpformat          the names of all fields; --helpstate: of states; --helpreason: of reasons
      --expand-patterns     file names with their patterns replaced
  -F, --flags=LIST          only jobs with these flags: SchedMain, SchedBackfill, StartReceived ...
  -g, --gid=LIST            only jobs of these groups
  -I, --ncpus=N[-M]         only jobs with so many CPUs
  -i, --nnodes=N[-M]        only jobs with so many nodes
  -j, --jobs=LIST           only these jobs: 17, 17_3, 17+1, 17.batch
      --json, --yaml        all that is known of the jobs, for programs
  -K, --timelimit-max=TIME  with --timelimit-min: only jobs with a limit between the two
  -k, --timelimit-min=TIME  only jobs with this time limit
  -L, --allclusters         taken as in Slurm
  -l, --long                many fields
  -M, --clusters=LIST       only jobs of these sites
  -N, --nodelist=LIST       only jobs on these nodes
      --name=LIST           only jobs of these names
      --noconvert           memory as it was counted
  -n, --noheader            no lines above the rows
  -o, --format=LIST         fields, with %WIDTH: jobid,state%20; "all" is every field of Slurm's;
                            cost is ours: dollars, of what runs so far
  -P, --parsable2           fields with | between them
  -p, --parsable            fields with | after them
  -q, --qos=LIST            only jobs of these QOS
      --reason=LIST         only jobs with these reasons
  -r, --partition=LIST      only jobs of these partitions
  -S, --starttime=TIME      jobs after this time; today if not given
  -s, --state=LIST          only jobs in these states
  -T, --truncate            times outside of the window become its ends
      --units=UNIT          memory in this unit
  -u, --user=LIST           jobs of these users
  -V, --version             the version
  -W, --wckeys=LIST         only jobs with these keys
  -X, --allocations         jobs without their steps
  -x, --associations=LIST   only jobs of these associations, by number
      --whole-hetjob        all components of a job of which one is asked for
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
