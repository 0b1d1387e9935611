package v1

import (
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"fsub/federation"
)

type everything struct {
	Word  string                `query:"word" doc:"a word"`
	Site  federation.SiteName   `query:"site"`
	Sites []federation.SiteName `query:"sites"`
	Since time.Time             `query:"since"`
	N     int                   `query:"n"`
	Most  int                   `query:"most" min:"1"`
	All   bool                  `query:"all"`
	Own   string                // not of the URL
}

// TestQueriesComeBack: what a client writes into a URL is what the server reads, and zero values are not written.
func TestQueriesComeBack(t *testing.T) {
	for _, q := range []everything{
		{},
		{Word: "a b&c=d", Site: "alpha", Sites: []federation.SiteName{"a", "b"}, Since: time.Unix(77, 0), N: 4, All: true},
	} {
		var got everything
		if err := ReadQuery(URLQuery(&q), &got); err != nil || !reflect.DeepEqual(got, q) {
			t.Errorf("%v: %+v, want %+v", err, got, q)
		}
	}
	if len(URLQuery(&everything{})) > 0 {
		t.Errorf("nothing is %v", URLQuery(&everything{}))
	}
	if got := QueryParams(&everything{}); len(got) != 7 || got[0].Name != "word" || got[0].Doc != "a word" {
		t.Errorf("%+v", got)
	}
}

func TestInvalidQueries(t *testing.T) {
	q := everything{N: 5}
	if err := ReadQuery(url.Values{"n": {""}, "other": {"x"}}, &q); err != nil || q.N != 5 {
		t.Errorf("%v, %+v", err, q)
	}
	if err := ReadQuery(url.Values{"most": {"0"}}, &q); err == nil || err.Error() != `invalid most "0": want a number from 1` {
		t.Errorf("most=0: %v", err)
	}
	for _, text := range []string{"x", "-1", "99999999999999999999", "1.5"} {
		for _, name := range []string{"n", "since"} {
			if err := ReadQuery(url.Values{name: {text}}, &q); err == nil || !strings.Contains(err.Error(), "invalid "+name) {
				t.Errorf("%s=%s: %v", name, text, err)
			}
		}
	}
}
