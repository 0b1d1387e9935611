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

// TestCloudsHaveNetsOfTheirOwn: gangs of two clouds on one machine, both with a rendez-vous at port 29500, must not meet.
func TestCloudsHaveNetsOfTheirOwn(t *testing.T) {
	seen := map[byte]bool{}
	for range 20 {
		c := New(Config{Process: true})
		defer c.Close()
		if seen[c.Net()] {
			t.Fatalf("two clouds have 127.%d", c.Net())
		}
		seen[c.Net()] = true
	}
}
