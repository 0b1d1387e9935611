package bill

import (
	"slices"
	"strings"
)

// What a column means.
const (
	billed       = "billed"
	effective    = "effective"
	currency     = "currency"
	chargeStart  = "charge start"
	chargeEnd    = "charge end"
	periodStart  = "period start"
	periodEnd    = "period end"
	invoiceMonth = "invoice month"
	category     = "category"
	service      = "service"
	resource     = "resource"
	tags         = "tags"
)

// form is a kind of file: what its columns are called.
type form struct {
	name    string
	columns map[string]string // by what they mean
	need    []string          // meanings that are told by this form alone
	lastDay bool              // the period's end is its last day, not the one after
}

var forms = []*form{
	{name: "FOCUS", need: []string{billed, effective, chargeStart, chargeEnd, periodStart, periodEnd, category}, columns: map[string]string{
		billed: "billedcost", effective: "effectivecost", currency: "billingcurrency", chargeStart: "chargeperiodstart", chargeEnd: "chargeperiodend",
		periodStart: "billingperiodstart", periodEnd: "billingperiodend", category: "chargecategory", service: "servicename", resource: "resourceid", tags: "tags"}},
	// Columns of its CSV, "lineItem/UnblendedCost", and of its Parquet and CUR 2.0, "line_item_unblended_cost". It tells no effective cost in one column.
	{name: "AWS CUR", need: []string{billed, chargeStart, chargeEnd, periodStart, periodEnd}, columns: map[string]string{
		billed: "lineitemunblendedcost", currency: "lineitemcurrencycode", chargeStart: "lineitemusagestartdate", chargeEnd: "lineitemusageenddate",
		periodStart: "billbillingperiodstartdate", periodEnd: "billbillingperiodenddate", category: "lineitemlineitemtype", service: "lineitemproductcode", resource: "lineitemresourceid"}},
	// The table of detailed usage cost, exported from BigQuery with nested columns as "invoice.month" or "invoice_month".
	{name: "Google Cloud", need: []string{billed, chargeStart, chargeEnd, invoiceMonth}, columns: map[string]string{
		billed: "cost", currency: "currency", chargeStart: "usagestarttime", chargeEnd: "usageendtime", invoiceMonth: "invoicemonth", category: "costtype",
		service: "servicedescription", resource: "resourcename"}},
	// Actual or amortized cost of cost management, by day.
	{name: "Azure", need: []string{billed, chargeStart, category}, lastDay: true, columns: map[string]string{
		billed: "costinbillingcurrency", currency: "billingcurrency", chargeStart: "date", periodStart: "billingperiodstartdate", periodEnd: "billingperiodenddate",
		category: "chargetype", service: "metercategory", resource: "resourceid", tags: "tags"}},
}

// plain is a column's name without what exports write differently.
func plain(name string) string {
	return strings.NewReplacer("_", "", "/", "", ".", "", ":", "", " ", "").Replace(strings.ToLower(strings.TrimPrefix(strings.TrimSpace(name), "\ufeff")))
}

// formOf finds the form with such columns, and where each is.
func formOf(columns []string) (*form, map[string]int, error) {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = plain(c)
	}
	for _, f := range forms {
		at := map[string]int{}
		for meaning, name := range f.columns {
			if i := slices.Index(names, name); i >= 0 {
				at[meaning] = i
			}
		}
		if !slices.ContainsFunc(f.need, func(m string) bool { _, ok := at[m]; return !ok }) {
			return f, at, nil
		}
	}
	return nil, nil, ErrNoBill
}

func (r *reader) has(meaning string) bool {
	_, ok := r.at[meaning]
	return ok
}
