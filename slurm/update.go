package slurm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"fsub/federation"
	"fsub/slurm/wire"
)

// Update asks for the fields in which the submissions of before and after would differ. So what follows from an option, as the
// number of CPUs from that of tasks, changes with it. A token of SlurmUser or root acts for as: slurmctld takes an update by SlurmUser for an
// administrator's, asks nobody's rights, and frees the job from the limits of its QOS and association.
func (ac *actor) Update(ctx context.Context, ref federation.JobRef, as string, before, after *federation.Job) error {
	ctx = ac.onBehalf(ctx, ref)
	st, err := ac.rights.standing(ctx)
	if err != nil {
		return err
	}
	tr, err := ac.c.negotiated(ctx)
	if err != nil {
		return err
	}
	if tr.old {
		return fmt.Errorf("update job %d at %s: %w: API version v0.0.38 changes hold and priority only", ref.ID, ac.cfg.Name, federation.ErrInvalid)
	}
	body, err := ac.difference(st, ref.Key, before, after)
	if err != nil || len(body) == 0 {
		return err
	}
	j, err := ac.queue.held(ctx, st, ref)
	if err != nil {
		return err
	}
	switch {
	case st.onlyUser != "", st.each:
		as = ""
	case as != "" && ac.c.tokens.describe() == noToken:
		return fmt.Errorf("update job %d at %s: %w: without a token nothing can be asked for in the name of %s", ref.ID, ac.cfg.Name, federation.ErrInvalid, as)
	}
	var a wire.JobUpdateResponse
	r := request{as: as, op: "update", method: http.MethodPost, path: wire.PathJob + strconv.FormatInt(int64(j.SiteJobID), 10), body: body}
	if err := ac.c.do(ctx, r, &a); err != nil {
		return err
	}
	for _, e := range a.Errors {
		return fmt.Errorf("update job %d at %s: %w", ref.ID, ac.cfg.Name, acted(e.Number, e.Text, ""))
	}
	for _, res := range a.Results {
		if res.Code != 0 {
			return fmt.Errorf("update job %d at %s: %w", ref.ID, ac.cfg.Name, acted(res.Code, res.Error, res.Why))
		}
	}
	return nil
}

// fixed are fields that a submission has and an update must not: they are the job's for good, or slurmctld's to work out.
var fixed = []string{"job_id", "user_id", "group_id", "admin_comment", "script", "environment", "argv", "flags", "hold", "dependency", "array"}

// difference returns the body of an update: the fields of after's submission that before's lacks,
// and, emptied, those that only before's has.
func (ac *actor) difference(st standing, key string, before, after *federation.Job) (map[string]json.RawMessage, error) {
	old, err := ac.fields(st, key, before)
	if err != nil {
		return nil, err
	}
	body, err := ac.fields(st, key, after)
	if err != nil {
		return nil, err
	}
	for name, was := range old {
		now, has := body[name]
		switch {
		case !has:
			body[name] = emptied(was)
		case bytes.Equal(was, now):
			delete(body, name)
		}
		if now, has := body[name]; has && now == nil {
			delete(body, name) // slurmrestd cannot express its absence
		}
	}
	for _, name := range fixed {
		delete(body, name)
	}
	return body, nil
}

// fields are what a submission of j would have, with the key where the site keeps it among the user's own words.
func (ac *actor) fields(st standing, key string, j *federation.Job) (map[string]json.RawMessage, error) {
	s := federation.Submission{Job: j, Partition: j.Partition, Key: key}
	if j.Part != nil {
		s = asPart(s, false)
	}
	if st.mapped {
		s = ac.keyed(st, withIDs(s))
	}
	desc, err := describe(&s)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(desc)
	if err != nil {
		return nil, err
	}
	out := map[string]json.RawMessage{}
	return out, json.Unmarshal(text, &out)
}

// emptied is what takes away a text or a choice; numbers and lists cannot be.
func emptied(was json.RawMessage) json.RawMessage {
	switch {
	case len(was) > 0 && was[0] == '"':
		return json.RawMessage(`""`)
	case string(was) == "true":
		return json.RawMessage("false")
	}
	return nil
}
