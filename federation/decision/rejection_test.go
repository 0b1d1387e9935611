package decision

import (
	"encoding/json"
	"reflect"
	"testing"

	"fsub/federation/codes"

	"fsub/federation/reasons"
)

func TestWhyText(t *testing.T) {
	for want, r := range map[string]Rejection{
		"not asked for":                                      {Why: codes.Because(codes.NotAsked)},
		"2 nodes, pool has 1":                                {Why: codes.Because(codes.PoolTooSmall, "2 nodes", "1")},
		"does not answer: timeout":                           {Why: codes.Because(codes.NoAnswer, "timeout")},
		"no partition %s":                                    {Why: codes.Because(codes.NoPartition, "%s")},
		"nodes have no gpu (as a100) (component 1)":          {Why: codes.Because(codes.NodesWithout, "gpu").With(codes.NoteAs, "a100").With(codes.NoteComponent, "1")},
		"no machines left in us-east-2a (on up to 4 nodes)":  {Detail: "no machines left in us-east-2a", Why: codes.Because(codes.NodesToBeHad, "4", "0", "4").With(codes.NoteOnUpTo, "4 nodes")},
		"Invalid license specification":                      {Detail: "Invalid license specification"},
		"of_tomorrow: x: y":                                  {Why: codes.Because("of_tomorrow", "x", "y")},
		"Requested nodes are busy (its components together)": {Detail: "Requested nodes are busy", Why: (*codes.Why)(nil).With(codes.NoteTogether)},
	} {
		if got := r.Text(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		d := Decision{Rejections: []Rejection{r}}.Worded()
		if got := d.Rejections[0].Text(); got != want || d.Rejections[0].Detail != want {
			t.Errorf("worded: %q, want %q", got, want)
		}
	}
}

// TestStoredRejections: what is stored says the same when it is read, and so does what versions stored that kept the words only.
func TestStoredRejections(t *testing.T) {
	r := Rejection{Site: "a", Reason: reasons.GRES, Why: codes.Because(codes.NoSuchGRES, `"foo"`).With(codes.NoteAs, "h100"), Never: true}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back Rejection
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, r) {
		t.Errorf("%s: %+v, %v", text, back, err)
	}
	var old Rejection
	if err := json.Unmarshal([]byte(`{"site":"a","reason":"InvalidPartition","detail":"not asked for","never":true}`), &old); err != nil {
		t.Fatal(err)
	}
	if old.Text() != "not asked for" || !old.Is(codes.NotAsked) || old.Is(codes.NoPartition) {
		t.Errorf("%+v", old)
	}
}
