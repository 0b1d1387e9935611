package sbatch

import "strings"

// mailTypes in the order in which sbatch writes them.
var mailTypes = [...]string{"ARRAY_TASKS", "INVALID_DEPEND", "BEGIN", "END", "FAIL", "REQUEUE", "STAGE_OUT",
	"TIME_LIMIT_50", "TIME_LIMIT_80", "TIME_LIMIT_90", "TIME_LIMIT"}

const mailAll = ",INVALID_DEPEND,BEGIN,END,FAIL,REQUEUE,STAGE_OUT,"

// setMailType takes a list of words in any case. Unknown ones are dropped if one is known, and NONE
// makes the list empty. What an earlier --mail-type asked for stays.
func setMailType(p *parser, o *option, v string) error {
	var asked [len(mailTypes)]bool
	some, none := false, false
	for _, word := range strings.Split(v, ",") {
		word = strings.ToUpper(word)
		switch word {
		case "":
			continue
		case "NONE":
			none = true
		}
		for i, name := range mailTypes {
			if word == name || word == "ALL" && strings.Contains(mailAll, ","+name+",") {
				asked[i], some = true, true
			}
		}
	}
	if !some && !none {
		return o.invalid()
	}
	if none {
		return nil
	}
	before := "," + p.req.Spec.MailType + ","
	var list []string
	for i, name := range mailTypes {
		if asked[i] || strings.Contains(before, ","+name+",") {
			list = append(list, name)
		}
	}
	p.req.Spec.MailType = strings.Join(list, ",")
	return nil
}
