package config

import (
	"fmt"
	"strings"

	"fsub/accounting/egress"
)

// Data is where a site is, for data that jobs read.
type Data struct {
	// Region of a cloud in which the site's data lies: aws:us-east-1, gcp:us-central1, azure:eastus. Not set: where its machines are rented, else no cloud.
	Place string `yaml:"place,omitempty"`
	// Dollars for each GB that leaves the site. Not set: as the table of the place's cloud has it, and for a site in no cloud an assumed price, so that it is never taken for 0.
	EgressGB *float64 `yaml:"egress_gb,omitempty"`
	// Gbit per second in which a job's data comes in. Not set: 1, and fed explain says that this is assumed.
	Gbit float64 `yaml:"gbit,omitempty"`
}

func (d *Data) check() error {
	switch {
	case d.Place != "" && !egress.Place(d.Place):
		return fmt.Errorf("data: invalid place %q: want CLOUD:REGION with a cloud of %s", d.Place, strings.Join(egress.Clouds(), ", "))
	case d.EgressGB != nil && !number(*d.EgressGB):
		return fmt.Errorf("data: egress_gb is %v: it must be a number and not negative", *d.EgressGB)
	case !number(d.Gbit):
		return fmt.Errorf("data: gbit is %v: it must be a number and not negative", d.Gbit)
	}
	return nil
}

// DataPlace is where the site is.
func (s *Site) DataPlace() egress.Site {
	d := egress.Site{Name: string(s.Name), Place: s.Data.Place, PerGB: s.Data.EgressGB, Gbit: s.Data.Gbit}
	if d.Place == "" {
		d.Place = s.Facts().Place
	}
	return d
}
