package federation

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestWhyText(t *testing.T) {
	for want, r := range map[string]Rejection{
		"not asked for":                                      {Why: Because(WhyNotAsked)},
		"2 nodes, pool has 1":                                {Why: Because(WhyPoolTooSmall, "2 nodes", "1")},
		"does not answer: timeout":                           {Why: Because(WhyNoAnswer, "timeout")},
		"no partition %s":                                    {Why: Because(WhyNoPartition, "%s")},
		"nodes have no gpu (as a100) (component 1)":          {Why: Because(WhyNodesWithout, "gpu").With(NoteAs, "a100").With(NoteComponent, "1")},
		"no machines left in us-east-2a (on up to 4 nodes)":  {Detail: "no machines left in us-east-2a", Why: Because(WhyNodesToBeHad, "4", "0", "4").With(NoteOnUpTo, "4 nodes")},
		"Invalid license specification":                      {Detail: "Invalid license specification"},
		"of_tomorrow: x: y":                                  {Why: Because("of_tomorrow", "x", "y")},
		"Requested nodes are busy (its components together)": {Detail: "Requested nodes are busy", Why: (*Why)(nil).With(NoteTogether)},
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
	r := Rejection{Site: "a", Reason: ReasonGRES, Why: Because(WhyNoSuchGRES, `"foo"`).With(NoteAs, "h100"), Never: true}
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
	if old.Text() != "not asked for" || !old.Is(WhyNotAsked) || old.Is(WhyNoPartition) {
		t.Errorf("%+v", old)
	}
}
