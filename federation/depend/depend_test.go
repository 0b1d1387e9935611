package depend

import (
	"errors"
	"slices"
	"testing"
	"time"

	"fsub/federation"
)

func TestParseDependency(t *testing.T) {
	for text, want := range map[string]Dependency{
		"afterok:12":                    {Terms: []Term{{AfterOK, 12, -1, 0}}},
		"AfterAny:12:13":                {Terms: []Term{{AfterAny, 12, -1, 0}, {AfterAny, 13, -1, 0}}},
		"12":                            {Terms: []Term{{AfterAny, 12, -1, 0}}},
		"after:12+5,afternotok:7_3":     {Terms: []Term{{After, 12, -1, 5 * time.Minute}, {AfterNotOK, 7, 3, 0}}},
		"afterok:1?afterok:2":           {Any: true, Terms: []Term{{AfterOK, 1, -1, 0}, {AfterOK, 2, -1, 0}}},
		"aftercorr:3":                   {Terms: []Term{{AfterCorr, 3, -1, 0}}},
		"singleton":                     {Terms: []Term{{Singleton, 0, -1, 0}}},
		"afterany:30000001_*,afterok:2": {Terms: []Term{{AfterAny, 30000001, -1, 0}, {AfterOK, 2, -1, 0}}},
	} {
		got, err := Parse(text)
		if err != nil || got.Any != want.Any || !slices.Equal(got.Terms, want.Terms) {
			t.Errorf("%s: %+v %v, want %+v", text, got, err, want)
		}
	}
	for _, bad := range []string{"", "afterok", "afterok:", "afterok:x", "afterok:0", "singleton:3", "aftercorr:", "never:3", "afterok:1,afterok:2?afterok:3", "afterok:1+5", "afterok:-1"} {
		if _, err := Parse(bad); !errors.Is(err, federation.ErrInvalid) {
			t.Errorf("%q: %v, want ErrInvalid", bad, err)
		}
	}
}

func TestAttemptMoves(t *testing.T) {
	all := []federation.AttemptState{federation.AttemptIntended, federation.AttemptSubmitted, federation.AttemptStarted, federation.AttemptEnded, federation.AttemptRefused, federation.AttemptWithdrawn, federation.AttemptForgotten}
	for _, from := range all {
		for _, to := range all {
			a := federation.Attempt{State: from}
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
