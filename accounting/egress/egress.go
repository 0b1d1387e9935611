// Package egress tells what it costs to bring a job's data to a site: what clouds charge for a GB that leaves them, by a dated table, and how long the copy takes. It is pure.
package egress

import (
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// GB is the unit that clouds charge for.
const GB = 1 << 30

// Clouds are those that the table has, as places begin: "aws:us-east-1".
func Clouds() (names []string) {
	for _, r := range table() {
		if !slices.Contains(names, r.cloud) {
			names = append(names, r.cloud)
		}
	}
	return names
}

// Site says where a site is, for data that comes and goes.
type Site struct {
	Name  string
	Place string   // "aws:us-east-1"; "": in no cloud. "gcp:" alone: in the region of the machine
	PerGB *float64 // dollars for a GB that leaves it; nil: what the table says of its place, if that is in a cloud
	Gbit  float64  // per second that come in; 0: not known
}

// What is reckoned with where nobody has said it.
const (
	assumedPerGB = 0.12 // the dearest usual price of the three clouds
	assumedGbit  = 1
)

// Move is what it takes to bring data to a site.
type Move struct {
	Dollars float64
	Took    time.Duration
	Detail  string // "500 GB from aws:us-east-1 at $0.09/GB, Skyplane's table of Amazon's prices of 2023-04-27"
	Speed   string // "1 Gbit/s, assumed"
	Assumed bool   // nobody has said what a GB costs
}

// Between is what it takes to bring bytes from one site to another. From may be a place alone. ok is false where they need not move.
func Between(from, to Site, bytes int64) (m Move, ok bool) {
	if from.Name != "" && from.Name == to.Name || from.Place != "" && from.Place == to.Place || bytes <= 0 {
		return Move{}, false
	}
	gb := float64(bytes) / GB
	perGB, source := priceOf(from, to)
	if m.Assumed = perGB < 0; m.Assumed {
		perGB, source = assumedPerGB, "assumed: no price set"
	}
	m.Dollars = gb * perGB
	m.Detail = fmt.Sprintf("%s from %s at $%s/GB, %s", Text(bytes), from.name(), strconv.FormatFloat(perGB, 'f', -1, 64), source)
	gbit := to.Gbit
	if m.Speed = strconv.FormatFloat(gbit, 'g', 4, 64) + " Gbit/s"; gbit <= 0 {
		gbit, m.Speed = assumedGbit, strconv.Itoa(assumedGbit)+" Gbit/s, assumed"
	}
	m.Took = time.Duration(min(float64(bytes)*8/(gbit*1e9), (365*24*time.Hour).Seconds()) * float64(time.Second)).Round(time.Second)
	return m, true
}

func (s *Site) name() string {
	if s.Name != "" {
		return s.Name
	}
	return s.Place
}

// priceOf is the price of a GB, negative if it is not known, and who says so.
func priceOf(from, to Site) (perGB float64, source string) {
	if from.PerGB != nil {
		return *from.PerGB, "as configured"
	}
	cloud, region, ok := strings.Cut(from.Place, ":")
	if !ok {
		return -1, ""
	}
	target := "internet"
	if c, r, ok := strings.Cut(to.Place, ":"); ok && c == cloud && r != "" {
		target = r
	}
	for _, r := range table() {
		if r.cloud == cloud && match(r.from, region) && (target == "internet") == (r.to == "internet") && match(r.to, target) {
			return r.perGB, r.source + " of " + r.of
		}
	}
	return -1, ""
}

func match(pattern, region string) bool {
	ok, err := path.Match(pattern, region)
	return ok && err == nil
}

type row struct {
	cloud, from, to string
	perGB           float64
	of, source      string
}

//go:embed egress.csv
var file string

var table = sync.OnceValue(func() []row {
	rows, err := read(file)
	if err != nil {
		panic(err)
	}
	return rows
})

func read(text string) ([]row, error) {
	in := csv.NewReader(strings.NewReader(text))
	in.Comment, in.FieldsPerRecord = '#', 6
	all, err := in.ReadAll()
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errors.New("no header")
	}
	var rows []row
	for _, f := range all[1:] {
		perGB, err := strconv.ParseFloat(f[3], 64)
		if err == nil {
			_, err = time.Parse(time.DateOnly, f[4])
		}
		if err != nil || !(perGB > 0) {
			return nil, fmt.Errorf("%v: %v", f, err)
		}
		rows = append(rows, row{f[0], f[1], f[2], perGB, f[4], f[5]})
	}
	return rows, nil
}

// Text writes a number of bytes for people: "500 GB", "1.5 TB".
func Text(bytes int64) string {
	units, v := []string{"B", "KB", "MB", "GB", "TB", "PB"}, float64(bytes)
	i := 0
	for v >= 1024 && i < len(units)-1 {
		v, i = v/1024, i+1
	}
	return strconv.FormatFloat(v, 'g', 4, 64) + " " + units[i]
}

// Place reports whether s is a region of a cloud.
func Place(s string) bool {
	cloud, region, ok := strings.Cut(s, ":")
	return ok && slices.Contains(Clouds(), cloud) && region != ""
}
