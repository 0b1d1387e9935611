package golden

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// recordedBegan is when the jobs of the recording were submitted; each line was run some 100 to 120 seconds later.
const recordedBegan = 1795195874

// zone is where it is about noon now: a test that runs just after midnight is not to miss the jobs of a minute ago.
var zone = func() string {
	n := time.Now().UTC().Hour() - 12 // Etc's signs are the contrary of everybody else's
	if n == 0 {
		return "Etc/GMT"
	}
	return fmt.Sprintf("Etc/GMT%+d", n)
}()

var (
	dateText  = regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d`)
	epochText = regexp.MustCompile(`\b1[7-9]\d{8}\b`) // until 2033
	longDate  = regexp.MustCompile(`(Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d 20\d\d`)
	clockText = regexp.MustCompile(`\b(\d+:)?\d\d?:\d\d\b`)
)

// mask replaces what depends on when and where the line was run. Times become their distance from the submission of the jobs,
// so that they are compared none the less.
func (w *world) mask(a answer) answer {
	for _, s := range []*string{&a.stdout, &a.stderr} {
		*s = maskTimes(*s, w.began.Unix(), w.location)
		*s = strings.ReplaceAll(strings.ReplaceAll(*s, w.host, "<host>"), "chk-ctl", "<host>")
		if w.uid != recordedUID {
			*s = regexp.MustCompile(`\b`+strconv.Itoa(int(w.uid))+`\b`).ReplaceAllString(*s, strconv.Itoa(recordedUID))
		}
	}
	return a
}

func recordedMask(a answer) answer {
	for _, s := range []*string{&a.stdout, &a.stderr} {
		*s = strings.ReplaceAll(maskTimes(*s, recordedBegan, time.UTC), "chk-ctl", "<host>")
	}
	return a
}

func maskTimes(s string, began int64, loc *time.Location) string {
	s = longDate.ReplaceAllString(s, "<date>")
	s = dateText.ReplaceAllStringFunc(s, func(text string) string {
		at, err := time.ParseInLocation("2006-01-02T15:04:05", text, loc)
		if err != nil {
			return text
		}
		return distance(at.Unix() - began)
	})
	s = epochText.ReplaceAllStringFunc(s, func(text string) string {
		n, _ := strconv.ParseInt(text, 10, 64)
		return distance(n - began)
	})
	return clockText.ReplaceAllStringFunc(s, age)
}

// distance writes a time relative to the submission; one about now is only that.
func distance(seconds int64) string {
	if seconds > 60 && seconds < 240 {
		return "<now>"
	}
	return fmt.Sprintf("<%+d>", seconds)
}

// age masks an elapsed or remaining time that changes from second to second: how long the jobs have run, and what is left of
// their 15 and 30 minutes.
func age(text string) string {
	seconds := 0
	for part := range strings.SplitSeq(text, ":") {
		n, _ := strconv.Atoi(part)
		seconds = 60*seconds + n
	}
	for _, m := range []struct {
		from int
		name string
	}{{60, "<age>"}, {30*60 - 240, "<30m left>"}, {15*60 - 240, "<15m left>"}} {
		if seconds > m.from && seconds < m.from+180 {
			return m.name
		}
	}
	return text
}

// maskedNumber is a time that was a number before it was masked.
var maskedNumber = regexp.MustCompile(`: (<[^<>"]*>)`)

// compareJSON lists what differs between two documents, of which the recorded one may be cut short: as far as it goes, every key
// must be there, with a value of its type, and the value must be equal unless e excepts the key.
func compareJSON(got, want string, e *exception) []string {
	if got == want {
		return nil
	}
	got, want = maskedNumber.ReplaceAllString(got, `: "$1"`), maskedNumber.ReplaceAllString(want, `: "$1"`)
	var g any
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		return []string{"is none: " + err.Error()}
	}
	d := json.NewDecoder(strings.NewReader(want))
	d.UseNumber()
	var out []string
	diffJSON(d, "", g, e, &out)
	return out
}

// diffJSON compares the next value of d with got. It ends quietly where d does.
func diffJSON(d *json.Decoder, path string, got any, e *exception, out *[]string) bool {
	tok, err := d.Token()
	if err != nil {
		return false
	}
	skip := e != nil && e.skipsKey(path)
	complain := func(want any) {
		if !skip {
			*out = append(*out, fmt.Sprintf("%s: got %v, want %v", path, got, want))
		}
	}
	switch tok {
	case json.Delim('{'):
		m, ok := got.(map[string]any)
		if !ok {
			complain("an object")
		}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return false
			}
			sub, has := m[key.(string)]
			at := path + "." + key.(string)
			if ok && !has && !skip && (e == nil || !e.skipsKey(at)) {
				*out = append(*out, at+": missing")
			}
			if !has {
				var drop any
				if d.Decode(&drop) != nil {
					return false
				}
			} else if !diffJSON(d, at, sub, e, out) {
				return false
			}
		}
		_, err = d.Token()
		return err == nil
	case json.Delim('['):
		list, ok := got.([]any)
		if !ok {
			complain("a list")
		}
		n := 0
		for ; d.More(); n++ {
			if n >= len(list) {
				var drop any
				if d.Decode(&drop) != nil {
					return false
				}
			} else if !diffJSON(d, path+"[]", list[n], e, out) {
				return false
			}
		}
		if _, err = d.Token(); err != nil {
			return false
		}
		if ok && n != len(list) {
			complain(fmt.Sprintf("%d elements", n))
		}
		return true
	}
	if n, ok := tok.(json.Number); ok {
		f, _ := n.Float64()
		tok = f
	}
	if reflect.TypeOf(tok) != reflect.TypeOf(got) || tok != got {
		complain(tok)
	}
	return true
}

func hostName() string {
	h, _ := os.Hostname()
	return h
}
