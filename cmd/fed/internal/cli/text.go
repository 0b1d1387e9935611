package cli

import (
	"strings"

	"fsub/accounting"
	"fsub/federation/decision"
	"fsub/slurm/hostlist"
)

// OneLine is text with its lines in a row.
func OneLine(text string) string { return strings.ReplaceAll(text, "\n", " ") }

// CompressNames writes names of the form SITE/NODE as one SITE/HOSTLIST for each site.
func CompressNames(names []string) (out []string) {
	bySite := map[string][]string{}
	var sites []string
	for _, n := range names {
		site, name, _ := strings.Cut(n, "/")
		if bySite[site] == nil {
			sites = append(sites, site)
		}
		bySite[site] = append(bySite[site], name)
	}
	for _, site := range sites {
		out = append(out, site+"/"+hostlist.Compress(bySite[site]))
	}
	return out
}

// Colon is a detail on one line behind a colon, or nothing.
func Colon(detail string) string {
	if detail == "" {
		return ""
	}
	return ": " + OneLine(detail)
}

// AllIfNone is a list of nodes in words.
func AllIfNone(nodes string) string {
	if nodes == "" {
		return "all nodes"
	}
	return nodes
}

// USD is an amount of dollars as people read it.
func USD(d decision.Dollars) string { return accounting.MoneyOf(float64(d)).USD() }
