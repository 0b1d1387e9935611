// Package power tells what the electricity of a job costs, and the carbon that comes with it. It is pure.
package power

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/accounting"
)

// watts are what accelerators draw at the most, by kind: NVIDIA's, AMD's and Intel's data sheets. A job that trains comes near it.
var watts = map[string]float64{
	"p100": 300, "v100": 300, "v100-32gb": 300, "t4": 70, "a10": 150, "a10g": 150, "a100": 400, "a100-40gb": 400, "a100-80gb": 400, "l4": 72, "l40s": 350, "h100": 700, "h100-nvl": 400, "h200": 700, "b200": 1000,
	"b300": 1400, "gb200": 1200, "gaudi": 350, "mi300x": 750, "rtx-pro-6000": 600,
}

const (
	unknownWatts = 700 // of an accelerator that is not in the table
	coreWatts    = 5   // of a core with its memory: 360 W of an EPYC 9654 with 96 cores, and DIMMs
)

// Hour is the electricity of one hour.
type Hour struct {
	PerKWh float64 // dollars
	Grams  float64 // of CO2 equivalent per kWh
}

// Rates are those of a site from one hour on.
type Rates struct {
	From   time.Time          // the first hour
	Hours  []Hour             // one after the other; the last one goes on
	Tonne  float64            // dollars that a tonne of CO2 is reckoned to cost
	PUE    float64            // all the power of the data centre for each watt of its machines, 1 or more
	Watts  map[string]float64 // what one unit of a TRES draws, where it is not as the table has it
	Source string             // "power.csv of 2026-11-22"
}

// Use is what a run takes.
type Use struct {
	KWh     float64
	Kg      float64 // of CO2 equivalent
	Dollars float64 // of both
}

// Of is what a job that holds t uses if it begins at some time and runs for so long.
func (r *Rates) Of(t accounting.TRES, begin time.Time, run time.Duration) (u Use) {
	kW := r.draws(t) / 1000
	for at, end := begin, begin.Add(run); at.Before(end) && len(r.Hours) > 0; {
		n := max(0, int(at.Sub(r.From)/time.Hour))
		until := r.From.Add(time.Duration(n+1) * time.Hour)
		if n >= len(r.Hours)-1 {
			n, until = len(r.Hours)-1, end
		}
		if until.After(end) {
			until = end
		}
		kWh := kW * until.Sub(at).Hours()
		u.KWh += kWh
		u.Kg += kWh * r.Hours[n].Grams / 1000
		u.Dollars += kWh * (r.Hours[n].PerKWh + r.Hours[n].Grams*r.Tonne/1e6)
		at = until
	}
	return u
}

// draws is the power of what is held, in watts.
func (r *Rates) draws(t accounting.TRES) float64 {
	sum := 0.0
	for _, name := range slices.Sorted(maps.Keys(t)) { // sums of floats depend on their order
		sum += float64(t[name]) * r.wattsOf(name)
	}
	return sum * max(r.PUE, 1)
}

// wattsOf is the power of one unit of a TRES.
func (r *Rates) wattsOf(name string) float64 {
	if w, ok := r.Watts[name]; ok {
		return w
	}
	if name == "cpu" {
		return coreWatts
	}
	base, kind, _ := strings.Cut(name, ":")
	if base != "gres/gpu" {
		return 0
	}
	if w, ok := watts[accounting.Kind(kind)]; ok {
		return w
	}
	return unknownWatts
}

// Equal reports whether two sites' rates come to the same.
func (r *Rates) Equal(o *Rates) bool {
	if r == nil || o == nil {
		return r == o
	}
	return r.From.Equal(o.From) && slices.Equal(r.Hours, o.Hours) && r.Tonne == o.Tonne && r.PUE == o.PUE && r.Source == o.Source
}

// Table is a file of rates: a line "site,hour,usd_per_kwh,g_per_kwh" for each hour of a site. An hour is a time (2026-11-22T14:00Z), one of each day in UTC (0 to
// 23), or * for all others. A site of * is any without its own line.
type Table map[string]map[string]Hour

var header = []string{"site", "hour", "usd_per_kwh", "g_per_kwh"}

// Read reads a table. An error names the line.
func Read(r io.Reader) (Table, error) {
	in := csv.NewReader(r)
	in.FieldsPerRecord, in.Comment, in.TrimLeadingSpace = len(header), '#', true
	t := Table{}
	for n := 0; ; n++ {
		f, err := in.Read()
		if errors.Is(err, io.EOF) {
			if n == 0 {
				return nil, errors.New(`the file is empty: want the header "site,hour,usd_per_kwh,g_per_kwh" and lines below it`)
			}
			return t, nil
		}
		if err != nil {
			return nil, err
		}
		if n == 0 {
			if !slices.Equal(f, header) {
				return nil, fmt.Errorf("line 1: %q: want the header %s", strings.Join(f, ","), strings.Join(header, ","))
			}
			continue
		}
		line, _ := in.FieldPos(0)
		key, err := hourKey(f[1])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		var h Hour
		for i, to := range []*float64{&h.PerKWh, &h.Grams} {
			// A price may be below zero: there are such hours.
			if *to, err = strconv.ParseFloat(f[2+i], 64); err != nil || math.IsNaN(*to) || math.Abs(*to) > 1e5 || i == 1 && *to < 0 {
				return nil, fmt.Errorf("line %d: invalid %s %q: want a number", line, header[2+i], f[2+i])
			}
		}
		if t[f[0]] == nil {
			t[f[0]] = map[string]Hour{}
		}
		if _, twice := t[f[0]][key]; twice {
			return nil, fmt.Errorf("line %d: site %s has hour %s twice", line, f[0], f[1])
		}
		t[f[0]][key] = h
	}
}

func hourKey(s string) (string, error) {
	if s == "*" {
		return s, nil
	}
	if n, err := strconv.Atoi(s); err == nil && n >= 0 && n <= 23 {
		return strconv.Itoa(n), nil
	}
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04Z07:00"} {
		if at, err := time.Parse(form, s); err == nil {
			return timeKey(at), nil
		}
	}
	return "", fmt.Errorf("invalid hour %q: want *, 0 to 23 (UTC), or a time such as 2026-11-22T14:00Z", s)
}

func timeKey(at time.Time) string { return at.UTC().Format("2006-01-02T15") }

// ahead is how far rates look ahead: runs that last longer go on at what the last hour of them costs.
const ahead = 48

// At are the hours of a site from now on, nil if the table does not know the site. An hour that has no line, not even *, costs what the one before it does.
func (t Table) At(site string, now time.Time) (from time.Time, hours []Hour) {
	lines := t[site]
	if lines == nil {
		lines = t["*"]
	}
	if len(lines) == 0 {
		return from, nil
	}
	from = now.UTC().Truncate(time.Hour)
	for n := range ahead {
		at := from.Add(time.Duration(n) * time.Hour)
		for _, key := range []string{timeKey(at), strconv.Itoa(at.Hour()), "*"} {
			if h, ok := lines[key]; ok {
				hours = append(hours, h)
				break
			}
		}
		switch {
		case len(hours) > n:
		case n == 0:
			return from, nil // nothing is known of now
		default:
			hours = append(hours, hours[n-1])
		}
	}
	return from, hours
}
