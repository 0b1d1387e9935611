package wire

// DBJob is a job as slurmdbd recorded it. Times are Unix times, 0 for "not yet". After a controller
// forgot a job there may be several records of one ID, and one that stays PENDING or RUNNING forever.
type DBJob struct {
	Account         string     `json:"account"`
	Comment         DBComment  `json:"comment"`
	AllocationNodes int64      `json:"allocation_nodes"`
	Array           DBArray    `json:"array"`
	Association     AssocShort `json:"association"`
	Block           string     `json:"block"`
	Cluster         string     `json:"cluster"`
	Constraints     string     `json:"constraints"`
	Container       string     `json:"container"`
	DerivedExitCode ExitCode   `json:"derived_exit_code"`
	Time            DBTime     `json:"time"`
	ExitCode        ExitCode   `json:"exit_code"`
	Extra           string     `json:"extra"`
	FailedNode      string     `json:"failed_node"`
	Flags           Strings    `json:"flags"`
	Group           string     `json:"group"`
	Het             struct {
		JobID     int64  `json:"job_id"`
		JobOffset Number `json:"job_offset"`
	} `json:"het"`
	JobID    int64  `json:"job_id"`
	Name     string `json:"name"`
	Licenses string `json:"licenses"`
	MCS      struct {
		Label string `json:"label"`
	} `json:"mcs"`
	Nodes     string `json:"nodes"` // hostlist, or "None assigned"
	Partition string `json:"partition"`
	Hold      bool   `json:"hold"`
	Priority  Number `json:"priority"`
	QOS       string `json:"qos"`
	QOSReq    string `json:"qosreq"`
	Required  struct {
		CPUs          int64  `json:"CPUs"`
		MemoryPerCPU  Number `json:"memory_per_cpu"`
		MemoryPerNode Number `json:"memory_per_node"`
	} `json:"required"`
	KillRequestUser string `json:"kill_request_user"`
	RestartCnt      int64  `json:"restart_cnt"`
	Reservation     struct {
		ID   int64  `json:"id"`
		Name string `json:"name"`
	} `json:"reservation"`
	Script         string       `json:"script"`
	StdInExpanded  string       `json:"stdin_expanded"`
	StdOutExpanded string       `json:"stdout_expanded"`
	StdErrExpanded string       `json:"stderr_expanded"`
	StdOut         string       `json:"stdout"`
	StdErr         string       `json:"stderr"`
	StdIn          string       `json:"stdin"`
	SLUID          string       `json:"sluid,omitempty"` // from v0.0.45
	State          DBState      `json:"state"`
	Steps          List[DBStep] `json:"steps"`
	SubmitLine     string       `json:"submit_line"`
	TRES           struct {
		Allocated List[TRES] `json:"allocated"`
		Requested List[TRES] `json:"requested"`
	} `json:"tres"`
	UsedGRES string `json:"used_gres"`
	User     string `json:"user"`
	WCKey    struct {
		WCKey string  `json:"wckey"`
		Flags Strings `json:"flags"`
	} `json:"wckey"`
	WorkDir string `json:"working_directory"`
}

// DBComment are a job's comments. They are written when the job ends, not before.
type DBComment struct {
	Administrator string `json:"administrator"`
	Job           string `json:"job"`
	System        string `json:"system"`
}

// DBArray is a record's place in its array: JobID 0 for none, Task the tasks that have not started.
type DBArray struct {
	JobID  int64 `json:"job_id"`
	Limits struct {
		Max struct {
			Running struct {
				Tasks int64 `json:"tasks"`
			} `json:"running"`
		} `json:"max"`
	} `json:"limits"`
	TaskID Number `json:"task_id"`
	Task   string `json:"task"`
}

type DBState struct {
	Current Strings `json:"current"`
	Reason  string  `json:"reason"`
}

// DBTime are a job's times: Unix times, seconds, and Limit in minutes.
type DBTime struct {
	Elapsed    int64    `json:"elapsed"`
	Eligible   int64    `json:"eligible"`
	End        int64    `json:"end"`
	Planned    Number   `json:"planned"`
	Start      int64    `json:"start"`
	Submission int64    `json:"submission"`
	Suspended  int64    `json:"suspended"`
	System     Duration `json:"system"`
	Limit      Number   `json:"limit"`
	Total      Duration `json:"total"`
	User       Duration `json:"user"`
}

type Duration struct {
	Seconds      int64 `json:"seconds"`
	Microseconds int64 `json:"microseconds"`
}

// TRES is an amount of a trackable resource: {"gres","gpu:h100",1002,4}.
type TRES struct {
	Type  string `json:"type"`
	Name  string `json:"name"`
	ID    int64  `json:"id"`
	Count int64  `json:"count"`
}

// CountOf is how much there is of a kind of TRES that has no name, such as cpu.
func CountOf(list []TRES, kind string) int64 {
	for _, t := range list {
		if t.Type == kind && t.Name == "" {
			return t.Count
		}
	}
	return 0
}

// DBStep is one step of a job: the batch script, the external step, or an srun.
type DBStep struct {
	Time struct {
		Elapsed   int64    `json:"elapsed"`
		End       Number   `json:"end"`
		Start     Number   `json:"start"`
		Suspended int64    `json:"suspended"`
		System    Duration `json:"system"`
		Total     Duration `json:"total"`
		User      Duration `json:"user"`
	} `json:"time"`
	ExitCode ExitCode `json:"exit_code"`
	Nodes    struct {
		Count int64   `json:"count"`
		Range string  `json:"range"`
		List  Strings `json:"list"`
	} `json:"nodes"`
	Tasks struct {
		Count int64 `json:"count"`
	} `json:"tasks"`
	PID Text `json:"pid"`
	CPU struct {
		RequestedFrequency struct {
			Min Number `json:"min"`
			Max Number `json:"max"`
		} `json:"requested_frequency"`
		Governor string `json:"governor"`
	} `json:"CPU"`
	KillRequestUser string  `json:"kill_request_user"`
	State           Strings `json:"state"`
	Statistics      struct {
		CPU struct {
			ActualFrequency int64 `json:"actual_frequency"` // kHz
		} `json:"CPU"`
		Energy struct {
			Consumed Number `json:"consumed"`
		} `json:"energy"`
	} `json:"statistics"`
	Step struct {
		ID   Text   `json:"id"` // "17.batch", "17.0"
		Name string `json:"name"`
	} `json:"step"`
	Task struct {
		Distribution string `json:"distribution"`
	} `json:"task"`
	TRES struct {
		Requested StepUsage  `json:"requested"` // what went in: CPU time, memory, what was read
		Consumed  StepUsage  `json:"consumed"`  // what went out: what was written
		Allocated List[TRES] `json:"allocated"`
	} `json:"tres"`
}

// StepUsage is what was measured of a step's tasks, by TRES: CPU time in ms, mem and vmem in bytes, fs/disk in bytes.
type StepUsage struct {
	Max     List[TaskTRES] `json:"max"`
	Min     List[TaskTRES] `json:"min"`
	Average List[TRES]     `json:"average"`
	Total   List[TRES]     `json:"total"`
}

// TaskTRES is an amount of one task, and which task it was.
type TaskTRES struct {
	TRES
	Task int64  `json:"task"`
	Node string `json:"node"`
}

// DBJobsResponse answers GET /slurmdb/<version>/jobs/ and /job/{id}. An unknown job is an empty list.
type DBJobsResponse struct {
	Jobs List[DBJob] `json:"jobs"`
	Reply
}

// AssocShort names an association.
type AssocShort struct {
	Account   string `json:"account"`
	Cluster   string `json:"cluster"`
	Partition string `json:"partition"`
	User      string `json:"user"`
	ID        int64  `json:"id"`
}

// Association is a user's right to charge an account, without its limits. User "" is the account itself.
type Association struct {
	Account string `json:"account"`
	Cluster string `json:"cluster"`
	Comment string `json:"comment"`
	Default struct {
		QOS string `json:"qos"`
	} `json:"default"`
	Flags         Strings `json:"flags"`
	ID            Int     `json:"id"`
	IsDefault     bool    `json:"is_default"`
	Lineage       string  `json:"lineage"`
	ParentAccount string  `json:"parent_account"`
	Partition     string  `json:"partition"`
	Priority      Number  `json:"priority"`
	QOS           Strings `json:"qos"`
	SharesRaw     int64   `json:"shares_raw"`
	User          string  `json:"user"`
}

// AssociationsResponse answers GET /slurmdb/<version>/associations/.
type AssociationsResponse struct {
	Associations List[Association] `json:"associations"`
	Reply
}

// DBRecord is an association, an account or a QOS with all that slurmrestd tells of it, in JSON's own types: it is written back whole.
type DBRecord map[string]any

// DBRecordsResponse answers GET /slurmdb/<version>/associations/, /accounts/ and /qos/, and what is written there. Each fills one of the lists.
type DBRecordsResponse struct {
	Associations List[DBRecord] `json:"associations"`
	Accounts     List[DBRecord] `json:"accounts"`
	QOS          List[DBRecord] `json:"qos"`
	Reply
}

// QOS is one, with what a single job of it may have.
type QOS struct {
	Name   string  `json:"name"`
	Flags  Strings `json:"flags"`
	Limits struct {
		Max struct {
			WallClock struct {
				Per struct {
					Job Number `json:"job"` // minutes
				} `json:"per"`
			} `json:"wall_clock"`
		} `json:"max"`
	} `json:"limits"`
}

// QOSResponse answers GET /slurmdb/<version>/qos/.
type QOSResponse struct {
	QOS List[QOS] `json:"qos"`
	Reply
}

// WCKeysResponse answers GET /slurmdb/<version>/wckeys/. There are none where they are not tracked.
type WCKeysResponse struct {
	WCKeys List[WCKey] `json:"wckeys"`
	Reply
}

type WCKey struct {
	Name string `json:"name"`
	User string `json:"user"`
}

// ClustersResponse answers GET /slurmdb/<version>/clusters/.
type ClustersResponse struct {
	Clusters List[ClusterName] `json:"clusters"`
	Reply
}

type ClusterName struct {
	Name string `json:"name"`
}
