package ec2

import "testing"

// TestActionsHaveModels: what the table knows is answered, and nothing else is.
func TestActionsHaveModels(t *testing.T) {
	c := New(Config{})
	defer c.Close()
	for name := range c.ops {
		if actions[name] == nil {
			t.Errorf("%s is in the table and is not answered", name)
		}
	}
	for name := range actions {
		if c.ops[name] == nil {
			t.Errorf("%s is answered and not in the table", name)
		}
	}
}
