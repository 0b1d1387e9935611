package squeue

const usage = `Usage: squeue [-A account] [--clusters names] [-i seconds] [--job jobid]
              [-n name] [-o format] [--only-job-state] [-p partitions]
              [--qos qos] [--reservation reservation] [--sort fields] [--start]
              [--step step_id] [-t states] [-u user_name] [--usage]
              [-L licenses] [-w nodes] [--federation] [--local] [--sibling]
              [--expand-patterns] [--json=data_parser] [--yaml=data_parser]
              [-ahjlrsv]
`

const help = `Usage: squeue [OPTIONS]
Lists the jobs of the federation that have not ended.

  -A, --accounts=LIST       only jobs of these accounts
  -a, --all                 taken as in Slurm
  -h, --noheader            no line above the rows
  -i, --iterate=SECONDS     again and again
  -j, --jobs=LIST           only these jobs: 17, 17_3, 17+1
      --json[=VERSION]      all that is known of the jobs, for programs
  -L, --licenses=LIST       only jobs that ask for one of these licenses
  -l, --long                longer lines
  -M, --clusters=LIST|all   jobs site by site
      --me                  only your own jobs
  -n, --name=LIST           only jobs of these names
      --noconvert           memory in MiB
      --notme               only jobs of others
  -o, --format=FORMAT       columns by letter: "%.18i %j"; see --helpformat
  -O, --Format=FORMAT       columns by name: "JobID:10,State"; see --helpFormat
      --only-job-state      ID and state
  -p, --partitions=LIST     only jobs of these partitions
  -q, --qos=LIST            only jobs of these QOS
  -R, --reservation=NAME    only jobs of this reservation
  -r, --array               one row for each task of an array
  -S, --sort=FIELDS         order of the rows: letters of --format, - for descending
  -s, --steps[=LIST]        the steps of running jobs
      --start               when pending jobs are expected to start, at which site and for how much
  -t, --states=LIST         only jobs in these states, or all; see --helpstate
  -u, --user=LIST           only jobs of these users
  -w, --nodelist=LIST       only jobs on these nodes
      --yaml[=VERSION]      as --json, in YAML
  -V, --version             the version

Taken without effect, as all sites are one cluster here: --federation --hide --local --priority --sibling --verbose
`
