package aws

import (
	_ "embed"
	"encoding/csv"
	"strconv"
	"strings"
	"sync"
	"time"

	"fsub/federation"
)

//go:embed prices.csv
var pricesCSV string

// quote is a price, and where it is from.
type quote struct {
	usd  federation.Dollars // per hour of one machine
	at   time.Time          // when it was learnt
	from string
}

// priceTable is what is known without asking.
type priceTable struct {
	onDemand map[[2]string]quote // by type and region
	spot     map[[2]string]quote // by type and zone ID
}

// table reads prices.csv. That it can be read a test has shown.
var table = sync.OnceValue(func() priceTable {
	t, err := readTable(pricesCSV)
	if err != nil {
		panic(err)
	}
	return t
})

func readTable(text string) (priceTable, error) {
	r := csv.NewReader(strings.NewReader(text))
	r.Comment = '#'
	rows, err := r.ReadAll()
	if err != nil {
		return priceTable{}, err
	}
	t := priceTable{onDemand: map[[2]string]quote{}, spot: map[[2]string]quote{}}
	for _, row := range rows[1:] {
		at, err := time.Parse("2006-01-02"[:len(row[4])], row[4])
		if err != nil {
			return t, err
		}
		into, text := t.onDemand, row[2]
		if text == "" {
			into, text = t.spot, row[3]
		}
		usd, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return t, err
		}
		into[[2]string{row[0], row[1]}] = quote{federation.Dollars(usd), at, "table of " + row[4]}
	}
	return t, nil
}

// baseRegion has the prices that are known of most types. Other regions are up to a third dearer.
const baseRegion = "us-east-1"

// listed is the on-demand price that the table has for a region, or else that of us-east-1.
func listed(typ, region string) (quote, bool) {
	if q, ok := table().onDemand[[2]string{typ, region}]; ok {
		return q, true
	}
	q, ok := table().onDemand[[2]string{typ, baseRegion}]
	q.from += " for " + baseRegion
	return q, ok
}
