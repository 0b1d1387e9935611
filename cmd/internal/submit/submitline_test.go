package submit

import (
	"strings"
	"testing"
)

func TestSubmitLine(t *testing.T) {
	long := strings.Repeat("x", 1022) + "é"
	for want, args := range map[string][]string{
		"sbatch": nil, "sbatch -N 2 a b.sh": {"-N", "2", "a b.sh"}, "sbatch \xc3\xa9": {"\xc3\xa9\xff"}, "sbatch --wrap  a  b": {"--wrap", "\na\r\nb"},
		"sbatch " + long[:1017]: {long, "more"},
	} {
		if got := submitLine("sbatch", args); got != want || len(got) > 1024 {
			t.Errorf("%q: %q", args, got)
		}
	}
}
