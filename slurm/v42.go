package slurm

import (
	"encoding/json"
	"fmt"

	"fsub/federation"
	"fsub/slurm/wire"
)

// v42 is the translation of data_parser v0.0.42 and of those after it that keep its types, which is so up to v0.0.45.
func v42(version string, lacks ...string) *translation {
	return &translation{
		lacks:    append(lacks, "core-spec=0", "resv-ports", "gres-flags=SHARING"),
		version:  version,
		describe: describeV42,
		decode:   decodeV42,
	}
}

func describeV42(s *federation.Submission, h how) (any, error) {
	if len(s.Job.Spec.Het) > 0 {
		return describeComponents(s, h)
	}
	d, err := describeOne(s, h)
	return wire.JobSubmitRequest{Job: d}, err
}

func describeOne(s *federation.Submission, h how) (*wire.JobDesc, error) {
	d, err := describe(s)
	if err != nil {
		return nil, err
	}
	if !h.pinned {
		d.JobID = 0
	}
	if !h.others {
		d.UserID, d.GroupID, d.AdminComment = "", "", ""
	}
	return d, nil
}

// describeComponents describes a heterogeneous job: its components with the numbers that follow its own. The script is the first
// one's.
func describeComponents(s *federation.Submission, h how) (any, error) {
	r := wire.JobSubmitRequest{Script: s.Payload.Script}
	for i := range len(s.Job.Spec.Het) + 1 {
		job, spec, one := *s.Job, *s.Job.Spec, *s
		if i > 0 {
			spec = s.Job.Spec.Het[i-1]
			job.ID += federation.JobID(i)
			one.Partition = spec.Partition
		}
		if i < len(s.Offer.Parts) {
			one.Partition = s.Offer.Parts[i].Partition
		}
		spec.Het = nil
		job.SetSpec(spec)
		one.Job = &job
		d, err := describeOne(&one, h)
		if err != nil {
			return nil, fmt.Errorf("component %d: %w", i, err)
		}
		d.Script = ""
		r.Jobs = append(r.Jobs, *d)
	}
	return r, nil
}

// decodeV42 reads an answer. From v0.0.43 on standard_output holds the pattern; wire wants what v0.0.42 has there, the
// name of the file.
func decodeV42(body []byte, into any) error {
	if err := json.Unmarshal(body, into); err != nil {
		return err
	}
	if r, ok := into.(*wire.JobsResponse); ok {
		for i := range r.Jobs {
			j := &r.Jobs[i]
			if j.StdOutExpanded != "" {
				j.StdOut = j.StdOutExpanded
			}
			if j.StdErrExpanded != "" {
				j.StdErr = j.StdErrExpanded
			}
			if j.StdInExpanded != "" {
				j.StdIn = j.StdInExpanded
			}
		}
	}
	return nil
}
