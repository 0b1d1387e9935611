package srun

import "fsub/cloud/container"

// setContainer takes over an option of pyxis.
func setContainer(name string) func(*call, string) error {
	return func(c *call, v string) error {
		if err := c.box.Set(name, v); err != nil {
			return bad("pyxis: %s", err)
		}
		return nil
	}
}

// givenContainer adds what the environment says: the job's own options, as sbatch leaves them for
// steps, and variables of pyxis. Options without a container are left alone, with a word.
func (c *call) givenContainer() error {
	given, err := container.Given(func(name string) (string, bool) { return lookup(c.vars, name) }, container.StepVariable)
	if err != nil {
		return bad("pyxis: %s", err)
	}
	c.box = *c.box.Or(given)
	for _, name := range c.box.Ignored() {
		c.inform("error: pyxis: ignoring --" + name + " because neither --container-image nor --container-name is set")
	}
	return nil
}
