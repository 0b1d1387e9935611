package federation

import (
	"strconv"
	"strings"
	"time"

	"fsub/sbatch"
)

// ChangedSpec is j's Spec with what a user has changed of it. Priority is no part of a Spec: see [PriorityOf].
// Any error is a *sbatch.ChangeError. Now is in UTC.
func ChangedSpec(j *Job, changes []sbatch.Change, now time.Time) (sbatch.Spec, error) {
	spec := *j.Spec
	for _, c := range changes {
		switch {
		case c.Option == "priority" || strings.HasPrefix(c.Option, "-"):
			continue
		case c.Option == "array-limit":
			limit, err := strconv.Atoi(c.Value)
			if err == nil && limit >= 0 && spec.Array == "" && j.Whole != nil { // all tasks are jobs of their own
				continue
			}
			indices, arrayErr := ArrayIndices(spec.Array)
			if err != nil || limit < 0 || arrayErr != nil {
				return *j.Spec, &sbatch.ChangeError{Text: "scontrol: error: Invalid ArrayTaskThrottle value: " + c.Value}
			}
			spec.Array = FormatArray(indices, limit)
			continue
		}
		var err error
		if spec, err = spec.Changed([]sbatch.Change{c}, now); err != nil {
			return *j.Spec, err
		}
	}
	return spec, nil
}

// PriorityOf reads a priority as scontrol takes it: 0 holds a job, which an operator's release or the user's own lets go again.
func PriorityOf(text string) (n int64, hold Hold) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err == nil && n == 0 {
		return 0, HeldUser
	}
	return n, NotHeld
}
