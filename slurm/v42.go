package slurm

import (
	"encoding/json"

	"fsub/federation"
	"fsub/slurm/wire"
)

// v42 is the translation of data_parser v0.0.42 and of those after it that keep its types, which is so up to v0.0.45.
func v42(version string, lacks ...string) *translation {
	return &translation{
		lacks:    lacks,
		version:  version,
		describe: describeV42,
		decode:   decodeV42,
	}
}

func describeV42(s *federation.Submission, h how) (any, error) {
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
	return wire.JobSubmitRequest{Job: d}, nil
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
