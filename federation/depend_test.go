package federation

import (
	"errors"
	"slices"
	"testing"
	"time"
)

func TestParseDependency(t *testing.T) {
	for text, want := range map[string]Dependency{
		"afterok:12":                    {Terms: []DependTerm{{DependAfterOK, 12, -1, 0}}},
		"AfterAny:12:13":                {Terms: []DependTerm{{DependAfterAny, 12, -1, 0}, {DependAfterAny, 13, -1, 0}}},
		"12":                            {Terms: []DependTerm{{DependAfterAny, 12, -1, 0}}},
		"after:12+5,afternotok:7_3":     {Terms: []DependTerm{{DependAfter, 12, -1, 5 * time.Minute}, {DependAfterNotOK, 7, 3, 0}}},
		"afterok:1?afterok:2":           {Any: true, Terms: []DependTerm{{DependAfterOK, 1, -1, 0}, {DependAfterOK, 2, -1, 0}}},
		"aftercorr:3":                   {Terms: []DependTerm{{DependAfterCorr, 3, -1, 0}}},
		"singleton":                     {Terms: []DependTerm{{DependSingleton, 0, -1, 0}}},
		"afterany:30000001_*,afterok:2": {Terms: []DependTerm{{DependAfterAny, 30000001, -1, 0}, {DependAfterOK, 2, -1, 0}}},
	} {
		got, err := ParseDependency(text)
		if err != nil || got.Any != want.Any || !slices.Equal(got.Terms, want.Terms) {
			t.Errorf("%s: %+v %v, want %+v", text, got, err, want)
		}
	}
	for _, bad := range []string{"", "afterok", "afterok:", "afterok:x", "afterok:0", "singleton:3", "aftercorr:", "never:3", "afterok:1,afterok:2?afterok:3", "afterok:1+5", "afterok:-1"} {
		if _, err := ParseDependency(bad); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %v, want ErrInvalid", bad, err)
		}
	}
}

func TestAttemptMoves(t *testing.T) {
	all := []AttemptState{AttemptIntended, AttemptSubmitted, AttemptStarted, AttemptEnded, AttemptRefused, AttemptWithdrawn, AttemptForgotten}
	for _, from := range all {
		for _, to := range all {
			a := Attempt{State: from}
			err := a.Move(to)
			if from.Final() && from != to && err == nil {
				t.Errorf("%s to %s: a final state was left", from, to)
			}
			if err == nil && a.State != to || err != nil && a.State != from {
				t.Errorf("%s to %s: %v, state %s", from, to, err, a.State)
			}
		}
	}
}
