// Package config is the configuration of the daemon: the types of its one file, how it is read and checked, and the files of sites that
// are added while the daemon runs. docs/configuration.md is made from the comments of these types. [Config] is the whole file, [Site] one
// site, [Flag] the --config of a command. Opening what the configuration describes is left to the daemon.
package config

import (
	"path/filepath"
	"time"

	"fsub/accounting"
	"fsub/cloud/clouds"
	"fsub/cloud/container"
	"fsub/cloud/prices/lists"
	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/health"
)

// DefaultFile is where the configuration is looked for if no --config says otherwise.
const DefaultFile = "/etc/fsub/fed.yaml"

// Config is the one configuration file. Every key has a default that works on one machine; an
// unknown key is an error. docs/configuration.md is made from the comments of these types.
type Config struct {
	// Name of the federation: the cluster's name to squeue, sinfo and slurmrestd's clients, and the
	// tag of rented machines. Two federations that use one site need names that differ in more than capital letters.
	Federation string `yaml:"federation"`
	// Path of the socket that users and operators reach the daemon through.
	Socket string `yaml:"socket"`
	// Directory of the database, certificates and what else the daemon keeps.
	StateDir string `yaml:"state_dir"`
	// PostgreSQL that keeps the state instead of a SQLite file in state_dir: postgres://USER@HOST1,HOST2/DATABASE?sslmode=verify-full&sslrootcert=FILE.
	// See docs/daemons.md.
	Store string `yaml:"store,omitempty"`
	// File with the password of store's user, and nothing else.
	StorePasswordFile string `yaml:"store_password_file,omitempty"`
	// Use store's PostgreSQL even if its settings may lose jobs that users were told are submitted, such as fsync = off.
	StoreUnsafe bool `yaml:"store_unsafe,omitempty"`
	// HOST:PORT that serves /metrics over TCP. Not set: they are served on the socket only.
	Metrics string `yaml:"metrics,omitempty"`
	// Of how many accounts /metrics shows budgets and spending at most: of those with the largest.
	MetricsAccounts int `yaml:"metrics_accounts"`
	// Least level that is logged: debug, info (the default), warn or error. --log of fed serve takes its place.
	LogLevel string `yaml:"log_level,omitempty"`
	// Users who may do what root may: drain sites, act on the jobs of others. %NAME is all users of a group.
	Operators []string `yaml:"operators,omitempty"`
	// Range of the federated job IDs. Sites keep their own counters below it (MaxJobId in slurm.conf).
	JobIDs IDRange `yaml:"job_ids"`
	// How long squeue -t all and scontrol show job list a job that has ended.
	MinJobAge time.Duration `yaml:"min_job_age"`
	// How often a job is requeued after failures of nodes and sites. Preemptions do not count.
	MaxRequeue int `yaml:"max_requeue"`
	// true: a job whose dependency can never be met is cancelled, like kill_invalid_depend of DependencyParameters in slurm.conf; sbatch --kill-on-invalid-dep=yes or no says otherwise of
	// one job. false: it waits, with reason DependencyNeverSatisfied.
	KillInvalidDepend bool `yaml:"kill_invalid_depend"`
	// One more than the highest array index, like MaxArraySize in slurm.conf.
	MaxArray int `yaml:"max_array_size"`
	// How long jobs that have ended stay in the database. 0: forever.
	KeepEnded time.Duration `yaml:"keep_ended"`
	// How long the history of nodes and sites stays, and what the rules of health have said. 0: as long as keep_ended.
	KeepHistory time.Duration `yaml:"keep_history,omitempty"`
	// fed job asks before it does something to more jobs than that.
	AskAbove int `yaml:"ask_above"`
	// How long fed events goes back, within the last million changes. 0: a week.
	KeepEvents time.Duration `yaml:"keep_events,omitempty"`
	// How long the audit log is kept. 0: forever.
	KeepAudit time.Duration `yaml:"keep_audit,omitempty"`
	// What one user may take up. docs/limits.md has all bounds, those too that cannot be set.
	Limits Limits `yaml:"limits"`
	// What the rules of health do by themselves with nodes and jobs: see fed health rules.
	Health Health `yaml:"health,omitempty"`
	// How placement weighs money against time.
	Policy Policy `yaml:"policy"`
	// When running jobs that have said --keep are moved.
	Moves Moves `yaml:"moves"`
	// The ledger of what jobs used and cost.
	Books Books `yaml:"books,omitempty"`
	// Mail server for the mail that jobs ask for (--mail-type), and for reports where reports names no other. See docs/notices.md.
	Mail Mail `yaml:"mail,omitempty"`
	// Where events may be posted to (fed webhook). See docs/notices.md.
	Webhooks Webhooks `yaml:"webhooks,omitempty"`
	// Reports that are saved with a schedule.
	Reports Reports `yaml:"reports,omitempty"`
	// How the queue is ordered: Slurm's multifactor priority, over all sites.
	Priority Priority `yaml:"priority"`
	// Store that carries files to sites without the user's file system.
	Blobs Blobs `yaml:"blobs,omitempty"`
	// TLS listener for the commands inside jobs and for other machines without the socket.
	Remote Remote `yaml:"remote,omitempty"`
	// Sockets of the munged that have the munge keys of sites, on the daemon's machine, by site: {alpha: /run/munge-alpha/munge.socket.2}. Users of machines with
	// such a key call the daemon without a token. Needs remote. See docs/login.md.
	Munge map[federation.SiteName]string `yaml:"munge,omitempty"`
	// Files with the keys by which tokens of sites are checked, by site: the jwt_key, which may be that of key_file, or the JWKS. What scontrol token prints there is
	// taken for a call of that site's user. Needs remote. See docs/login.md.
	SiteTokens map[federation.SiteName]string `yaml:"site_tokens,omitempty"`
	// OpenID provider whose ID tokens are taken for calls from other machines, and by which users sign in at the page.
	OIDC OIDC `yaml:"oidc,omitempty"`
	// Listener for browsers.
	Web Web `yaml:"web,omitempty"`
	// Collector of OpenTelemetry that gets a trace of each job that ends.
	Traces Traces `yaml:"traces,omitempty"`
	// Several daemons that share one PostgreSQL.
	Daemons Daemons `yaml:"daemons,omitempty"`
	// TLS listener for the agents on rented machines.
	Agents Agents `yaml:"agents,omitempty"`
	// Price lists of clouds that are asked.
	PriceLists lists.Config `yaml:"price_lists,omitempty"`
	// Electricity of the sites and its carbon.
	Power Power `yaml:"power,omitempty"`
	// Slurm clusters and clouds that jobs may run at.
	Sites []Site `yaml:"sites"`
}

// IDRange is the range that federated job IDs come from. Sites keep their own counters below it (MaxJobId).
type IDRange struct {
	// First ID.
	First federation.JobID `yaml:"first"`
	// Last ID.
	Last federation.JobID `yaml:"last"`
}

// Policy is how placement weighs money against time.
type Policy struct {
	// Share of its time limit, more than 0, that a job is expected to run where few jobs like it have run yet: users ask for about twice what they need.
	RunFraction float64 `yaml:"run_fraction"`
	// Dollars that an hour of waiting costs, per job.
	WaitJobHour float64 `yaml:"wait_job_hour"`
	// Dollars that an hour of waiting costs, per GPU of the job.
	WaitGPUHour float64 `yaml:"wait_gpu_hour"`
	// How many times as much an hour of waiting costs for jobs of a QOS: {urgent: 3, standby: 0.2}. 1 for the others.
	WaitQOS map[string]float64 `yaml:"wait_qos,omitempty"`
	// Jobs that may wait at one site beyond what it can start now. Where jobs end within seconds, as many as end in four seconds may; where jobs of others wait
	// too, eight for each of those, and 500 at most.
	Backlog int `yaml:"backlog"`
	// A job is bound to a site that can start it within this time; otherwise it waits in the
	// federation's queue. Where jobs of others wait too, it is bound at once and waits in the site's own queue.
	BindAhead time.Duration `yaml:"bind_ahead"`
	// Dollars that it must save for a job that waits at a site to be moved to another one that starts it sooner. -1: no job is moved for that.
	MoveMargin float64 `yaml:"move_margin"`
	// How long a job stays at a site where others wait too before it may be moved; twice as long after each further move.
	MoveAfter time.Duration `yaml:"move_after"`
	// The most work that a job loses when a spot machine is taken back: the time between two checkpoints.
	LostWork time.Duration `yaml:"lost_work"`
}

// Site is one site: a Slurm cluster, or pools of rented machines.
type Site struct {
	// Name of the site: letters, digits, ".", "_" and "-".
	Name federation.SiteName `yaml:"name"`
	// slurm (the default), or a kind whose machines are rented: the name of the section that says what to rent.
	Kind string `yaml:"kind,omitempty"`
	// Address of slurmrestd: https://HOST:PORT of a TLS proxy before it, or unix:/PATH. http://HOST:PORT sends tokens and scripts in clear text.
	URL string `yaml:"url,omitempty"`
	// File with the authority that has signed the certificate behind an https url, in PEM, if that is none of the machine's.
	CAFile string `yaml:"ca_file,omitempty"`
	// Files with a certificate and its key in PEM, for a proxy that asks for one. They are read again for each connection.
	ClientCert string `yaml:"client_cert,omitempty"`
	// The key of that certificate.
	ClientKey string `yaml:"client_key,omitempty"`
	// User whose token is used. SlurmUser (slurm, the default) can submit for all users under federated IDs.
	User string `yaml:"user,omitempty"`
	// pinned: jobs run under their federated IDs; mapped: the site numbers them. Not set: what the
	// token is found to allow.
	Mode federation.Mode `yaml:"mode,omitempty"`
	// File with the jwt_hs256 key of the cluster, mode 0600; tokens are made from it. This or token_file.
	KeyFile string `yaml:"key_file,omitempty"`
	// File with a token, as "scontrol token" prints it. It is read again when it changes.
	TokenFile string `yaml:"token_file,omitempty"`
	// Program, with its arguments, that prints a token as "scontrol token" does. It is run again when half of the token's life is over, and when the site
	// refuses the token: so tokens may be short-lived, and their key stays at the site. Instead of the two files. Where its arguments have %u it is run for each user,
	// whose name stands there then: jobs are submitted and changed with their users' own tokens, and user reads for all.
	TokenCommand []string `yaml:"token_command,omitempty"`
	// Dollars per hour of one unit, by TRES: gres/gpu:h100, gres/gpu, cpu, mem (GiB), node.
	Prices accounting.Prices `yaml:"prices,omitempty"`
	// Relative speed by GPU type, 1 if not set: a job runs half as long on GPUs with 2.
	Speed map[string]float64 `yaml:"speed,omitempty"`
	// Jobs that may wait at the site beyond what it can start now, however short they are and however many others wait there. That of policy if not set.
	Backlog int `yaml:"backlog,omitempty"`
	// How many of those may be of an account, by its name at the site: {physics: 20, guests: 0}. It does not raise backlog.
	AccountBacklog map[string]int `yaml:"account_backlog,omitempty"`
	// Who ends jobs there for others, as the QOS of the account tree allow it: federation, off, or site, whose slurmctld preempts by itself
	// (PreemptType=preempt/qos).
	Preempt decision.PreemptBy `yaml:"preempt,omitempty"`
	// reservation: where a place is kept for a gang (a job of several nodes), a reservation of Slurm's holds it against jobs that are submitted there directly, from when the gang is
	// planned to start, for 15 minutes or its time limit. Made by slurmrestd from Slurm 25.05 on, else by reservation_command. Not set, or off: the federation alone knows of it.
	Promises Promises `yaml:"promises,omitempty"`
	// Partition of jobs that name none. slurmrestd of Slurm 24.11 does not say which it is.
	Partition string `yaml:"default_partition,omitempty"`
	// File that says how the nodes are wired: topology.conf, topology.yaml, or what "scontrol show topology" prints. Without it node_command is asked, and then the records of the nodes.
	Topology string `yaml:"topology_file,omitempty"`
	// Program, with its first arguments, that does what scontrol does at the site: "update NodeName=LIST
	// State=DRAIN Reason=TEXT" is added, "reboot [ASAP] [nextstate=STATE] [reason=TEXT] LIST", or "show topology". For sites
	// whose slurmrestd cannot drain nodes (Slurm 22.05), those where the user's token may not, and for
	// reboots, for which slurmrestd has no call. Set, it is used in any case.
	NodeCommand []string `yaml:"node_command,omitempty"`
	// Program, with its first arguments, that does what scontrol does with reservations at the site: "create reservation
	// ReservationName=NAME StartTime=utsSECONDS EndTime=utsSECONDS Nodes=LIST Users=USER Flags=LIST" is added, "update" with all but users and flags,
	// or "delete ReservationName=NAME". For Slurm before 25.05, and tokens of no operator. Set, it is used in any case.
	ReservationCommand []string `yaml:"reservation_command,omitempty"`
	// How users get inside their running jobs: fed attach JOB and srun --jobid call the site's own srun, as the user. Not set: they do not.
	Interactive *Interactive `yaml:"interactive,omitempty"`
	// Program, with its first arguments, that does what sacctmgr does at the site, as an administrator: the words of
	// sacctmgr are added. "fed account sync" and "fed account import" use it; without it, they use slurmrestd, which can
	// change nothing at 22.05.
	AccountCommand []string `yaml:"account_command,omitempty"`
	// How it is learnt how busy the site's jobs keep what they hold while they run, for the rule idle-held. Not set: it is not known there.
	Use *Use `yaml:"use,omitempty"`
	// Kinds of drains that the site's slurmctld sets by itself and never ends, which the daemon ends once it
	// is proven that their cause is gone: registration, duplicate, reboot, silence. [registration, duplicate]
	// if not set; [none]: none. docs/nodes.md says what proves what.
	Lift []health.Lift `yaml:"lift,omitempty"`
	// Program, with its first arguments, that does what sreport does at the site: "fed books check" compares the ledger with it.
	ReportCommand []string `yaml:"report_command,omitempty"`
	// The site does not enforce accounts.
	NoAssociations bool `yaml:"no_associations,omitempty"`
	// Most calls of slurmrestd per second. 200 if not set.
	CallsPerSecond float64 `yaml:"calls_per_second,omitempty"`
	// Time limit of one call of slurmrestd. 10s if not set.
	Timeout time.Duration `yaml:"timeout,omitempty"`
	// Users who are somebody else at the site, by their names here.
	Users map[string]User `yaml:"users,omitempty"`
	// Accounts of the federation that have another name at the site. A job runs there under the account that pays for it,
	// if its user has it there, else under what stands here, else under the user's default account there. The account that
	// pays is the same everywhere: docs/accounts.md.
	Accounts map[string]string `yaml:"accounts,omitempty"`
	// Directories of the submit hosts that the site's nodes have too. Not set: all of them. none,
	// or an empty list: none.
	FileSystems Directories `yaml:"filesystems,omitempty"`
	// Directory of the site's nodes in which jobs work whose files are carried there. Jobs of
	// several nodes find their files on all of them only if it is shared. /tmp if not set.
	Scratch string `yaml:"scratch,omitempty"`
	// Directory of the site's nodes with our commands, under the names of Slurm's: fsub-remote, or
	// fsub where the nodes see the daemon's socket. Jobs find it first in PATH. Not set: jobs have
	// the site's own commands.
	Commands string `yaml:"commands,omitempty"`
	// Where those commands reach the daemon: HOST:PORT of its remote listener, or several with commas between them, or the path of its
	// socket. Not set: the address of remote, of each daemon, else the socket.
	Daemon string `yaml:"daemon,omitempty"`
	// Options that the site's plugins add to sbatch.
	PluginOptions []PluginOption `yaml:"plugin_options,omitempty"`

	// Added: it was added while a daemon ran, and does not stand in the configuration.
	Added bool `yaml:"-"`

	// Where the site is, for data that jobs read (#FSUB --input).
	Data Data `yaml:"data,omitempty"`

	// Partitions of a site of rented machines. Not set: one named main, with all that the site offers.
	Pools           []Pool `yaml:"pools,omitempty"`
	clouds.Sections `yaml:",inline"`

	// What a contract makes of the cloud's list prices.
	Terms *Terms `yaml:"terms,omitempty"`
	// Container runtime of its machines, for jobs that ask for one as with pyxis: enroot, podman
	// (with crun), any, none. Not set: what this machine has for kind local, none for others.
	Containers container.Engine `yaml:"containers,omitempty"`
	// Intervals and limits for tests and odd clouds.
	Timing *Timing `yaml:"timing,omitempty"`
}

// Promises says what holds the places of gangs at a site.
type Promises string

// PromisesReservation: reservations of Slurm's do.
const PromisesReservation Promises = "reservation"

// StorePath is the SQLite file of the state, where Store does not say that it is elsewhere.
func (c *Config) StorePath() string { return filepath.Join(c.StateDir, "fed.db") }
