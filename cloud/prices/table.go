package prices

import (
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"fsub/cloud/provider"
	"fsub/federation/decision"
)

//go:embed aws.csv
var amazonCSV string

//go:embed gcp.csv
var googleCSV string

//go:embed azure.csv
var azureCSV string

//go:embed shapes.csv
var shapesCSV string

// table is what is known without asking.
type table map[Key]Price

// embedded reads the tables. That they can be read a test has shown.
var embedded = sync.OnceValue(func() table {
	t := table{}
	for cloud, text := range map[string]string{AWS: amazonCSV, Google: googleCSV, Azure: azureCSV} {
		if err := t.read(cloud, text); err != nil {
			panic(err)
		}
	}
	return t
})

// zoneID is a place that is a zone, as Amazon's spot prices have it: names of zones differ between accounts.
var zoneID = regexp.MustCompile(`^[a-z0-9]+-az\d+$`)

// read adds the rows of one cloud: type, place, ondemand, spot, source, as_of.
func (t table) read(cloud, text string) error {
	rows, err := readCSV(text, 6)
	if err != nil {
		return fmt.Errorf("table of %s: %w", cloud, err)
	}
	for _, row := range rows {
		at, err := time.Parse(time.DateOnly[:min(len(row[5]), len(time.DateOnly))], row[5])
		if err != nil {
			return fmt.Errorf("table of %s: %s in %s: %w", cloud, row[0], row[1], err)
		}
		for market, text := range map[provider.Market]string{provider.OnDemand: row[2], provider.Spot: row[3]} {
			if text == "" {
				continue
			}
			usd, err := strconv.ParseFloat(text, 64)
			if err != nil || !(usd > 0) {
				return errors.Join(fmt.Errorf("table of %s: %s in %s costs %q", cloud, row[0], row[1], text), err)
			}
			k := Key{Cloud: cloud, Type: row[0], Region: row[1], Market: market}
			if cloud == AWS && zoneID.MatchString(row[1]) {
				k.Region, k.Zone = "", row[1]
			}
			t[k] = Price{Key: k, PerHour: decision.Dollars(usd), At: at, From: "table of " + row[5] + " (" + row[4] + ")"}
		}
	}
	return nil
}

func readCSV(text string, fields int) ([][]string, error) {
	r := csv.NewReader(strings.NewReader(text))
	r.Comment, r.FieldsPerRecord = '#', fields
	rows, err := r.ReadAll()
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows[1:], nil
}

// Shape is what a machine type with accelerators holds; of a TPU one chip.
type Shape struct {
	Accelerator string  // "h100", "a100-80gb", "tpu-v5p"
	Count       float64 // a third, where a machine has a part of a GPU
	AccelGiB    float64 // memory of one; 0: not known
	CPUs        int
	MemGiB      float64
}

// shapes are the types with accelerators, by cloud and type.
var shapes = sync.OnceValue(func() map[[2]string]Shape {
	rows, err := readCSV(shapesCSV, 7)
	if err != nil {
		panic(err)
	}
	all := make(map[[2]string]Shape, len(rows))
	for _, row := range rows {
		number := func(i int) float64 {
			f, err := strconv.ParseFloat(row[i], 64)
			if err != nil && row[i] != "" {
				panic(err)
			}
			return f
		}
		all[[2]string{row[0], row[1]}] = Shape{Accelerator: row[2], Count: number(3), AccelGiB: number(4), CPUs: int(number(5)), MemGiB: number(6)}
	}
	return all
})

// ShapeOf is what a type holds; false: it is not known, or has no accelerator.
func ShapeOf(cloud, typ string) (Shape, bool) {
	s, ok := shapes()[[2]string{cloud, typ}]
	return s, ok
}

// Clouds are those that there are prices of, sorted.
func Clouds() (all []string) {
	for key := range shapes() {
		if !slices.Contains(all, key[0]) {
			all = append(all, key[0])
		}
	}
	slices.Sort(all)
	return all
}

// Types are a cloud's types with accelerators, in order.
func Types(cloud string) (types []string) {
	for key := range shapes() {
		if key[0] == cloud {
			types = append(types, key[1])
		}
	}
	slices.Sort(types)
	return types
}
