package slurm

import (
	"strconv"
	"strings"

	"fsub/federation"
)

// nodeGRES joins what a node has ("gpu:h100:4(S:0-1),nvme:2") with what is used of it ("gpu:h100:1(IDX:0),nvme:0").
func nodeGRES(total, used string) []federation.GRES {
	var out []federation.GRES
	for _, g := range parseGRES(total) {
		i := indexGRES(out, g)
		if i < 0 {
			out = append(out, federation.GRES{Name: g.Name, Type: g.Type})
			i = len(out) - 1
		}
		out[i].Total += g.Total
	}
	for _, g := range parseGRES(used) {
		if i := indexGRES(out, g); i >= 0 {
			out[i].Used += g.Total
		}
	}
	return out
}

func indexGRES(list []federation.GRES, g federation.GRES) int {
	for i, x := range list {
		if x.Name == g.Name && x.Type == g.Type {
			return i
		}
	}
	return -1
}

// parseGRES reads a GRES list; the counts come as Total. What stands in parentheses (sockets, indices) is left out, and so is
// what is no GRES at all ("N/A", "(null)").
func parseGRES(list string) []federation.GRES {
	var out []federation.GRES
	for _, item := range splitGRES(list) {
		f := strings.Split(item, ":")
		n, ok := gresCount(f[len(f)-1])
		switch {
		case f[0] == "" || strings.EqualFold(item, "N/A"):
		case len(f) == 1:
			out = append(out, federation.GRES{Name: f[0], Total: 1})
		case !ok:
			out = append(out, federation.GRES{Name: f[0], Type: f[1], Total: 1})
		case len(f) == 2:
			out = append(out, federation.GRES{Name: f[0], Total: n})
		default:
			out = append(out, federation.GRES{Name: f[0], Type: f[1], Total: n})
		}
	}
	return out
}

// splitGRES splits at commas outside parentheses and drops the parentheses.
func splitGRES(list string) []string {
	var out []string
	var item strings.Builder
	depth := 0
	for _, c := range list {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case depth > 0:
		case c == ',':
			out = append(out, item.String())
			item.Reset()
		default:
			item.WriteRune(c)
		}
	}
	return append(out, item.String())
}

// gresCount reads a count, which may have a suffix: "4", "2K", "1G".
func gresCount(s string) (int, bool) {
	factor := 1
	if s != "" {
		switch s[len(s)-1] {
		case 'K':
			factor, s = 1<<10, s[:len(s)-1]
		case 'M':
			factor, s = 1<<20, s[:len(s)-1]
		case 'G':
			factor, s = 1<<30, s[:len(s)-1]
		}
	}
	n, err := strconv.Atoi(s)
	return n * factor, err == nil
}
