package v1

import (
	"fmt"
	"strconv"

	"fsub/accounting"
)

import "time"

// Offer is what a cloud asks for machines with accelerators: GET /fed/v1/offers, the cheapest first.
type Offer struct {
	Cloud       string    `json:"cloud"` // name of the cloud, which is also that of its kind of site
	Type        string    `json:"type"`  // of a TPU "tpu-v5p": one chip
	Region      string    `json:"region"`
	Zone        string    `json:"zone,omitempty"`
	Market      string    `json:"market"` // on-demand, spot or flex
	Accelerator string    `json:"accelerator"`
	Count       float64   `json:"count"` // of one machine
	CPUs        int       `json:"cpus,omitempty"`
	MemGiB      float64   `json:"mem_gib,omitempty"`
	Machines    int       `json:"machines"`     // that are needed; of TPUs how many chips
	USD         float64   `json:"usd_per_hour"` // of one machine
	Total       float64   `json:"total_usd_per_hour"`
	PricedAt    time.Time `json:"priced_at"`
	From        string    `json:"from"` // where the price is from
	// Interrupts is how often per hour such a machine is expected to be taken back, Taken how often that was seen, in TakenIn machine-hours; both 0: it is what the
	// configuration says. All are missing where no site rents such machines, or nobody takes them back.
	Interrupts float64 `json:"interrupts_per_hour,omitempty"`
	Taken      float64 `json:"taken,omitempty"`
	TakenIn    float64 `json:"taken_in_hours,omitempty"`
	Stale      bool    `json:"stale,omitempty"` // it is so old that it may have changed
	Age        string  `json:"age"`             // in words
}

// PriceList is how a price list has answered: POST /fed/v1/offers/refresh, for operators.
type PriceList struct {
	Name    string         `json:"name"`
	At      *time.Time     `json:"at,omitempty"` // of the last answer
	Prices  int            `json:"prices"`       // good ones of it
	Refused []RefusedPrice `json:"refused,omitempty"`
	Error   string         `json:"error,omitempty"` // why it does not answer
}

// RefusedPrice is one that cannot be true: the last good one stays.
type RefusedPrice struct {
	Cloud  string  `json:"cloud"`
	Type   string  `json:"type"`
	Region string  `json:"region"`
	Zone   string  `json:"zone,omitempty"`
	Market string  `json:"market"`
	USD    float64 `json:"usd_per_hour"`
	Why    string  `json:"why"`
}

// OfferQuery is what offers are asked for.
type OfferQuery struct {
	GPU    string `query:"gpu" doc:"h100, or h100:8 for 8 in all" flag:"gpu" usage:"kind of GPU, and how many in all: h100, h100:8"`
	TPU    string `query:"tpu" doc:"v5p, or v5p:128 for 128 chips" flag:"tpu" usage:"generation of TPU, and how many chips: v5p, v5p:128"`
	Cloud  string `query:"cloud" doc:"a cloud, by the name that offers have" flag:"cloud" usage:"only this cloud"`
	Region string `query:"region" doc:"may have *; or a zone" flag:"region" usage:"only this region or zone; may have *"`
	Market string `query:"market" doc:"on-demand, spot or flex" flag:"market" usage:"only this market: on-demand, spot or flex"`
	Limit  int    `query:"limit" doc:"maximum number of offers in a page" flag:"limit,n" usage:"maximum number of lines; 0: all" default:"20"` // 0: all
	Sort   string `query:"sort" enum:"total,-total,price,-price,type,-type" doc:"the order of a page; without it total, what all machines cost that are needed"`
}

// Offers are what clouds ask for machines.
var Offers = Noun[Offer, OfferQuery]{
	Key: func(x *Offer) string { return key(x.Cloud, x.Type, x.Region, x.Zone, x.Market) },
	Orders: map[string]func(*Offer) string{
		"total": func(x *Offer) string { return key(dollarsKey(x.Total), numberKey(int64(x.Machines))) },
		"price": func(x *Offer) string { return dollarsKey(x.USD) },
		"type":  func(x *Offer) string { return x.Type },
	},
	Usual: "total",
	Path:  "/fed/v1/offers", Who: ForAnybody, Doc: "What clouds ask for machines with accelerators, the cheapest first",
	Columns: []Column[Offer]{
		{"CLOUD", func(x *Offer) string { return x.Cloud }},
		{"TYPE", func(x *Offer) string { return x.Type }},
		{"REGION", func(x *Offer) string { return x.Region }},
		{"ZONE", func(x *Offer) string { return x.Zone }},
		{"MARKET", func(x *Offer) string { return x.Market }},
		{"ACCELERATOR", func(x *Offer) string { return fmt.Sprintf("%s:%.3g", x.Accelerator, x.Count) }},
		{"MACHINES", func(x *Offer) string { return strconv.Itoa(x.Machines) }},
		{"$/H", func(x *Offer) string { return accounting.Bare(accounting.MoneyOf(x.USD).Rate()) }},
		{"TOTAL", func(x *Offer) string { return accounting.Bare(accounting.MoneyOf(x.Total).Rate()) }},
		{"TAKEN", func(x *Offer) string { return x.shownTaken() }},
		{"AGE", func(x *Offer) string { return x.shownAge() }},
		{"FROM", func(x *Offer) string { return x.From }},
	},
	Empty: "no price is known of that; see: fed offers refresh",
}

// shownTaken is the risk of a machine that may be taken back, with what was seen.
func (o *Offer) shownTaken() string {
	if o.Interrupts == 0 {
		return "-"
	}
	number := func(f float64) string { return strconv.FormatFloat(f, 'g', 3, 64) }
	if o.Taken == 0 && o.TakenIn == 0 {
		return number(o.Interrupts) + "/h"
	}
	hours := number(o.TakenIn)
	if o.TakenIn == 0 { // it is in whole hours
		hours = "<1"
	}
	return fmt.Sprintf("%s/h (%s in %s h)", number(o.Interrupts), number(o.Taken), hours)
}

// shownAge marks a price that may have changed.
func (o *Offer) shownAge() string {
	if o.Stale {
		return o.Age + " old?"
	}
	return o.Age
}
