package accounts

import "testing"

// What accounts are guaranteed can be kept for all of them at once: those below an account come to no more than it has.
func TestGuaranteesHoldTogether(t *testing.T) {
	tree, _, err := example(t).Apply([]Edit{
		{Op: Modify, Key: AccountKey("science"), Set: map[string]string{"Guarantee": "gres/gpu=16,gres/gpu:h100=8"}},
		{Op: Modify, Key: AccountKey("physics"), Set: map[string]string{"Guarantee": "gres/gpu=10,cpu=500"}},
		{Op: Add, Key: AccountKey("optics"), Parent: "science"},
		{Op: Add, Key: AccountKey("lasers"), Parent: "optics", Set: map[string]string{"Guarantee": "gres/gpu=6"}},
	}, operator)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, option string
		ok           bool
	}{
		{"lasers", "gres/gpu=7", false},
		{"lasers", "gres/gpu=5", true},
		{"lasers", "gres/gpu:h100=9", false},
		{"lasers", "gres/gpu:h100=8", true},
		{"optics", "gres/gpu=5", false}, // less than below it
		{"optics", "gres/gpu=7", false}, // more than is left above it
		{"science", "gres/gpu=15", false},
		{"science", "-1", true},
		{"vision", "gres/gpu=1000", true},
	} {
		_, _, err := tree.Apply([]Edit{{Op: Modify, Key: AccountKey(c.name), Set: map[string]string{"Guarantee": c.option}}}, operator)
		if (err == nil) != c.ok {
			t.Errorf("%s Guarantee=%s: %v", c.name, c.option, err)
		}
	}
	if _, _, err := tree.Apply([]Edit{{Op: Modify, Key: UserKey("physics", "alice"), Set: map[string]string{"Guarantee": "cpu=1"}}}, operator); err == nil {
		t.Error("a user is guaranteed something")
	}
}
