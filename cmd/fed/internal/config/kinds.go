package config

import (
	"strings"

	"fsub/cloud/clouds"
	"fsub/cloud/kind"
)

// kindSlurm is the kind of a site that is a Slurm cluster, which need not be written.
const kindSlurm = "slurm"

// Settings are what the site's machines are rented by; nil: it is a Slurm cluster, or its kind is unknown.
func (s *Site) Settings() kind.Settings { return s.Of(s.Kind) }

// Facts are what the site's kind is like.
func (s *Site) Facts() kind.Facts {
	if own := s.Settings(); own != nil {
		return own.Facts()
	}
	return kind.Facts{}
}

// Rented reports whether the site's machines are made when they are needed.
func (s *Site) Rented() bool { return s.Settings() != nil }

// Here reports whether the site's machines are processes of this one.
func (s *Site) Here() bool { return s.Facts().Here }

// kindNames are the names of all kinds whose machines are rented: "local, aws or gcp".
func kindNames(last string) string {
	all := clouds.Names()
	if len(all) == 1 {
		return all[0]
	}
	return strings.Join(all[:len(all)-1], ", ") + last + all[len(all)-1]
}
