package prices

import (
	"maps"
	"strings"
)

// Describe says what a cloud's machine types hold that the table does not have. A source that puts prices together from parts (see [Catalogue.Shapes]) is asked again for those that were
// not known. On a nil catalogue it does nothing.
func (c *Catalogue) Describe(cloud string, types map[string]Shape) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for typ, s := range types {
		key := [2]string{cloud, typ}
		if _, listed := ShapeOf(cloud, typ); listed || c.shapes[key] == s {
			continue
		}
		c.shapes[key], c.unasked[cloud] = s, true
	}
	if c.unasked[cloud] {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
}

// Shapes are what was said of a cloud's types.
func (c *Catalogue) Shapes(cloud string) map[string]Shape {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := map[string]Shape{}
	for key, s := range maps.All(c.shapes) {
		if key[0] == cloud {
			found[key[1]] = s
		}
	}
	return found
}

// described reports whether a source puts prices together, and types were described since it was asked. It is asked now.
func (c *Catalogue) described(s Source) bool {
	of, ok := s.(interface{ Cloud() string })
	if !ok {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	unasked := c.unasked[of.Cloud()]
	delete(c.unasked, of.Cloud())
	return unasked
}

// Accelerators are the kinds that some type of a cloud has, by what is known of its machines, in lower case.
func (c *Catalogue) Accelerators() map[string]bool {
	kinds, described := map[string]bool{}, map[[2]string]Shape(nil)
	if c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		described = c.shapes
	}
	for _, all := range []map[[2]string]Shape{shapes(), described} {
		for _, s := range all {
			if s.Accelerator != "" {
				kinds[strings.ToLower(s.Accelerator)] = true
			}
		}
	}
	return kinds
}
