package health

import (
	"testing"
	"time"

	"fsub/federation"
)

// A site tells which parts gangs are kept off, since when, and no more once they are not.
func TestBadPartIsACondition(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := &federation.Site{Answering: true, Seen: &federation.Observation{Nodes: []federation.Node{
		{Name: "n1", BadPart: "leaf2"}, {Name: "n2", BadPart: "leaf2"}, {Name: "n3", BadPart: "leaf1"}, {Name: "n4"}}}}
	s.Conditions = SiteConditions(s, time.Time{}, nil, "", at)
	got := SiteConditions(s, time.Time{}, nil, "", at.Add(time.Hour))
	const want = "gangs are kept off leaf1 (nodes below it: 1), leaf2 (nodes below it: 2)"
	if len(got) != 1 || got[0].Name != federation.CondBadPart || !got[0].Since.Equal(at) || got[0].Detail != want || got[0].Name.Advice() == "" {
		t.Errorf("%+v", got)
	}
	for i := range s.Seen.Nodes {
		s.Seen.Nodes[i].BadPart = ""
	}
	if got := SiteConditions(s, time.Time{}, nil, "", at); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}
