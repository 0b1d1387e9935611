package decision

import "testing"

func TestPriorityText(t *testing.T) {
	for want, parts := range map[string][]PriorityPart{
		"100012 = fair-share 100000 + age 36 - expected work 24": {{PriorityFairShare, 100000}, {PriorityAge, 36}, {PriorityWork, -24}},
		"100000 = fair-share 100000":                             {{PriorityFairShare, 100000}, {PriorityAge, .2}},
		"-5 = -nice 5":                                           {{PriorityFairShare, 0}, {PriorityNice, -5}},
		"0 = age 0":                                              {{PriorityFairShare, 0}, {PriorityAge, .1}},
		"0 = ":                                                   nil,
	} {
		if got := PriorityText(parts); got != want {
			t.Errorf("%v: %q, want %q", parts, got, want)
		}
	}
}
