package scontrol

import (
	"fmt"

	"fsub/slurm/wire"
)

// showLicenses is "show licenses [NAME]": those of all sites; sites that have one of the same name
// have one each.
func (c *command) showLicenses(name string, given bool) int {
	var resp wire.LicensesResponse
	if c.load("slurm_load_licenses", wire.Slurm(restVersion, wire.PathLicenses)+c.clusters.query(), &resp) != nil {
		return 1
	}
	sep := "\n    "
	if c.printer.oneLine {
		sep = " "
	}
	for _, l := range resp.Licenses {
		if !given || l.Name == name {
			fmt.Fprintf(c.stdout, "LicenseName=%s%sTotal=%d Used=%d Free=%d Reserved=%d Remote=no\n", l.Name, sep, l.Total, l.Used, l.Free, l.Reserved)
		}
	}
	if len(resp.Licenses) == 0 {
		fmt.Fprintln(c.stdout, "No licenses configured in Slurm.")
	}
	return 0
}
