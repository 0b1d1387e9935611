package cloud_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"fsub/cloud/agentapi"
	"fsub/cloud/records"
	"fsub/federation"
)

// TestMapped: who is mapped need not be a user of the site's system; who is not keeps the own identity, and never becomes one with a mapped one by name or number.
func TestMapped(t *testing.T) {
	for what, c := range map[string]struct {
		mapped map[string]agentapi.User
		user   string
		denied string
	}{
		"mapped":                  {map[string]agentapi.User{"zoe": {Name: "z", UID: 9, GID: 9}}, "zoe", ""},
		"unknown":                 {nil, "zoe", "has no user zoe"},
		"another is mapped":       {map[string]agentapi.User{"zoe": {Name: "z", UID: 9, GID: 9}}, "alice", ""},
		"another has the name":    {map[string]agentapi.User{"zoe": {Name: "alice", UID: 9, GID: 9}}, "alice", "alice (uid 2001) cannot be told from alice (uid 9)"},
		"another has the number":  {map[string]agentapi.User{"zoe": {Name: "z", UID: 2001, GID: 9}}, "alice", "alice (uid 2001) cannot be told from z (uid 2001)"},
		"another is the very one": {map[string]agentapi.User{"zoe": {Name: "alice", UID: 2001, GID: 2001}}, "alice", ""},
	} {
		bubble(t, func(w *world) {
			w.cfg.Mapped = c.mapped
			w.ready()
			s := w.job("sleep 1", func(s *federation.Submission) { s.Job.User, s.User.Name = c.user, c.user })
			_, err := w.driver.Submit(context.Background(), s)
			if (err == nil) != (c.denied == "") || err != nil && (!errors.Is(err, federation.ErrDenied) || !strings.Contains(err.Error(), c.denied)) {
				t.Errorf("%s: error %v, want %q", what, err, c.denied)
			}
			if u, ok := c.mapped[c.user]; ok {
				records := w.records(records.PoolJob)
				if len(records) != 1 || !strings.Contains(string(records[0].Data), `"name":"`+u.Name+`","uid":9,"gid":9`) {
					t.Errorf("%s: records %s", what, records)
				}
			}
		})
	}
}
