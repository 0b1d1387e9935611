package config

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"fsub/federation/driver"
)

// Interactive says how users call the srun of a Slurm cluster. Their own command runs it, with their rights: the daemon has no part in it.
type Interactive struct {
	// Host where users log in for it: ssh runs there, as the user. Not set: the srun is on the daemon's machine, and users of other machines cannot call it.
	SSH string `yaml:"ssh,omitempty"`
	// Program there, with its first arguments, that does what srun does at the site. Not set: the srun that PATH has.
	Srun []string `yaml:"srun,omitempty"`
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._:-]*[A-Za-z0-9])?$`)

func (s *Site) checkInteractive() error {
	i := s.Interactive
	switch {
	case i == nil:
		return nil
	case s.Rented():
		return errors.New("interactive: it is for Slurm clusters; users get into jobs on rented machines and local pools without it")
	case i.SSH != "" && !hostName.MatchString(i.SSH):
		return fmt.Errorf("interactive: ssh: invalid host %q: want a name or an address; a user and a port are set in ssh_config", i.SSH)
	}
	if len(i.Srun) > 0 && i.SSH == "" && !path.IsAbs(i.Srun[0]) {
		return fmt.Errorf("interactive: srun: invalid program %q: want an absolute path, since PATH may have the federation's own srun first", i.Srun[0])
	}
	for _, word := range i.Srun {
		if word == "" || strings.ContainsAny(word, "\n\x00") {
			return fmt.Errorf("interactive: srun: invalid word %q: want a program, with its first arguments", word)
		}
	}
	return nil
}

// SiteSrun is how users call the site's srun; nil: they do not.
func (s *Site) SiteSrun() *driver.Srun {
	if s.Interactive == nil {
		return nil
	}
	return &driver.Srun{Host: s.Interactive.SSH, Command: s.Interactive.Srun}
}
