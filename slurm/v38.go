package slurm

import (
	"encoding/json"
	"strings"
	"time"

	"fsub/slurm/wire"
	"fsub/slurm/words"
)

// v38 is the translation of v0.0.38, which Slurm 22.05 to 23.11 speak. It is not made by a data_parser: a job is described in sbatch's
// options, answers have shapes of their own, and much is missing. A job ID cannot be chosen: sites that speak nothing newer are mapped.
//
// One option is not told to the site, and the job is run all the same: the distribution of tasks, which is srun's business and which srun
// finds in the environment.
func v38() *translation {
	return &translation{
		version:  "v0.0.38",
		old:      true,
		describe: describeV38,
		decode:   decodeV38,
		lacks: append(words.Lacking38(), "switches", "tres-per-task", "tres-bind", "oom-kill-step", "exclusive=topo", "distribution=arbitrary",
			"nodes=LIST", "signal=B:", "wckey", "resv-ports", "gres-flags=SHARING"),
	}
}

// decodeV38 reads an answer into the shapes of package wire.
func decodeV38(body []byte, into any) error {
	switch r := into.(type) {
	case *wire.JobsResponse:
		return read38(body, into, &r.Reply, func(a *struct{ Jobs []job38 }) {
			for i := range a.Jobs {
				r.Jobs = append(r.Jobs, a.Jobs[i].wire(time.Now()))
			}
		})
	case *wire.NodesResponse:
		return read38(body, into, &r.Reply, func(a *struct{ Nodes []node38 }) {
			for i := range a.Nodes {
				r.Nodes = append(r.Nodes, a.Nodes[i].wire())
			}
		})
	case *wire.PartitionsResponse:
		return read38(body, into, &r.Reply, func(a *struct{ Partitions []partition38 }) {
			for i := range a.Partitions {
				r.Partitions = append(r.Partitions, a.Partitions[i].wire())
			}
		})
	case *wire.ReservationsResponse:
		return read38(body, into, &r.Reply, func(a *struct{ Reservations []reservation38 }) {
			for i := range a.Reservations {
				r.Reservations = append(r.Reservations, a.Reservations[i].Reservation)
			}
		})
	case *wire.DBJobsResponse:
		return read38(body, into, &r.Reply, func(a *struct{ Jobs []dbJob38 }) {
			for i := range a.Jobs {
				r.Jobs = append(r.Jobs, a.Jobs[i].wire())
			}
		})
	case *wire.AssociationsResponse:
		return read38(body, into, &r.Reply, func(a *struct{ Associations []association38 }) {
			for i := range a.Associations {
				x := a.Associations[i].Association
				x.IsDefault = a.Associations[i].IsDefault != 0
				r.Associations = append(r.Associations, x)
			}
		})
	case *wire.DiagResponse:
		return read38(body, into, &r.Reply, func(a *struct{ Statistics wire.Diag }) { r.Statistics = a.Statistics })
	case *wire.JobSubmitResponse:
		return read38(body, into, &r.Reply, func(a *submitted38) { r.JobID, r.StepID, r.Message = a.JobID, string(a.StepID), a.Message })
	case *wire.QOSResponse:
		return read38(body, into, &r.Reply, func(a *struct{ QOS wire.List[wire.QOS] }) { r.QOS = a.QOS })
	case *wire.WCKeysResponse:
		return read38(body, into, &r.Reply, func(a *struct{ WCKeys wire.List[wire.WCKey] }) { r.WCKeys = a.WCKeys })
	case *wire.ClustersResponse:
		return read38(body, into, &r.Reply, func(a *struct{ Clusters wire.List[wire.ClusterName] }) { r.Clusters = a.Clusters })
	case answer: // of no other is more than the head of interest
		return read38(body, into, r.Head(), func(*struct{}) {})
	}
	return json.Unmarshal(body, into)
}

// read38 reads the head of an answer, and its rest into the shape that take wants.
func read38[T any](body []byte, into any, head *wire.Reply, take func(*T)) error {
	var h struct {
		Meta   wire.Meta
		Errors []error38
	}
	if err := json.Unmarshal(body, &h); err != nil {
		return err
	}
	rest := new(T)
	if err := json.Unmarshal(body, rest); err != nil {
		return err
	}
	take(rest)
	head.Meta, head.Errors = h.Meta, errors38(h.Errors, into)
	return nil
}

// error38 is an entry of errors[]. The number has three spellings.
type error38 struct {
	Description string    `json:"description"`
	Error       wire.Text `json:"error"`
	Source      string    `json:"source"`
	Number      int       `json:"error_number"`
	Code        int       `json:"error_code"`
	Errno       int       `json:"errno"`
}

const (
	// unspecified38 comes when slurmctld hangs up on a bad token, and also, after 9 s, when it cannot be reached.
	unspecified38 = -1
	nothing38     = 9003 // slurmdbd found nothing: of jobs that is an answer like any other
)

// errors38 turns the entries into those of later versions. An entry with the number 0 says that something went well.
func errors38(list []error38, into any) wire.List[wire.Error] {
	var out wire.List[wire.Error]
	for _, e := range list {
		x := wire.Error{Description: e.Description, Number: e.Number + e.Code + e.Errno, Text: string(e.Error), Source: e.Source}
		_, jobs := into.(*wire.DBJobsResponse)
		if x.Number == 0 || x.Number == nothing38 && jobs {
			continue
		}
		out = append(out, x)
	}
	if _, submission := into.(*wire.JobSubmitResponse); submission {
		return parseError38(out)
	}
	return out
}

// parseError38 puts the entries of a request that slurmrestd did not understand into one: the reason has no number of its own.
func parseError38(list wire.List[wire.Error]) wire.List[wire.Error] {
	var texts []string
	parse := false
	for _, e := range list {
		parse = parse || e.Number == wire.ErrParse
		if e.Number != wire.ErrParse {
			texts = append(texts, strings.TrimSpace(e.Text+" "+e.Description))
		}
	}
	if !parse {
		return list
	}
	return wire.List[wire.Error]{{Number: wire.ErrParse, Text: "v0.0.38 cannot read the job: " + strings.Join(texts, "; ")}}
}

type submitted38 struct {
	JobID   int64     `json:"job_id"`
	StepID  wire.Text `json:"step_id"`
	Message string    `json:"job_submit_user_msg"`
}

// limitsOfV38 are the promises of a driver that a site of v0.0.38 cannot keep.
var limitsOfV38 = map[string]string{
	"SignalBatch":                  "v0.0.38 signals the batch shell and the steps together, or nothing",
	"LookupForgottenTellsExitCode": "slurmdbd's exit codes come through v0.0.38 as 0; of a job that failed it is said that the code was 1",
	"ArrayPendingTasksAreWhole":    "v0.0.38 cuts the list of tasks that wait off after 64 characters",
}
