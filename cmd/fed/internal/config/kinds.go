package config

// kinds are the clouds: the kinds of site whose machines are rented. A new one is a package with
// its provider, a value here, and its section in Site.
func kinds() []*kind { return []*kind{&localKind, &awsKind, &gcpKind, &tpuKind, &azureKind} }

// kind is a kind of site whose machines are rented.
type kind struct {
	name string
	// section is the kind's own section of a site's configuration; nil: it is not set.
	section func(s *Site) section
	missing string // the error where it is not set; "": it need not be
	// here: the machines are processes of this one. They see its files, no call leaves it, and
	// while they are idle they cost nothing.
	here bool
}

// section is a kind's own section of a site's configuration.
type section interface {
	check() error
	paths() []*string // names of files, relative to the configuration's
}

// kindSlurm is the kind of a site that is a Slurm cluster, which need not be written.
const kindSlurm = "slurm"

// kindOf is what rents the site's machines; nil: it is a Slurm cluster, or of no kind that there is.
func (s *Site) kindOf() *kind {
	for _, k := range kinds() {
		if k.name == s.Kind {
			return k
		}
	}
	return nil
}

// Rented reports whether the site's machines are made when they are needed.
func (s *Site) Rented() bool { return s.kindOf() != nil }

// Here reports whether the site's machines are processes of this one.
func (s *Site) Here() bool {
	k := s.kindOf()
	return k != nil && k.here
}

// kindNames are the names of all clouds: "local, aws or gcp".
func kindNames(last string) (text string) {
	all := kinds()
	for i, k := range all {
		switch {
		case i == 0:
			text = k.name
		case i == len(all)-1:
			text += last + k.name
		default:
			text += ", " + k.name
		}
	}
	return text
}
