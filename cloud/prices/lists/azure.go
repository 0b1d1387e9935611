package lists

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/federation/decision"
)

// Azure is Azure's Retail Prices API. Nobody has to prove who he is there.
type Azure struct {
	Regions []string // "eastus"; none: all that it has, which takes minutes
	Types   []string // "Standard_ND96isr_H100_v5"; none: those with accelerators that the table knows
	// Endpoint stands in for https://prices.azure.com, and HTTP for the usual client.
	Endpoint string
	HTTP     *http.Client
	Now      func() time.Time
}

var _ prices.Source = (*Azure)(nil)

// Name implements prices.Source.
func (a *Azure) Name() string { return "Azure retail prices" }

// azurePage is an answer, as far as it matters here. See "Azure Retail Prices overview" in Microsoft's documentation of cost management.
type azurePage struct {
	Items []struct {
		CurrencyCode  string  `json:"currencyCode"`
		RetailPrice   float64 `json:"retailPrice"`
		ArmRegionName string  `json:"armRegionName"`
		ArmSkuName    string  `json:"armSkuName"`
		SkuName       string  `json:"skuName"`
		ProductName   string  `json:"productName"`
		MeterName     string  `json:"meterName"`
		UnitOfMeasure string  `json:"unitOfMeasure"`
		Type          string  `json:"type"`
		Minimum       float64 `json:"tierMinimumUnits"`
	} `json:"Items"`
	NextPageLink string `json:"NextPageLink"`
}

// atOnce is how many types one filter names: the list refuses long ones.
const atOnce = 15

// Prices implements prices.Source.
func (a *Azure) Prices(ctx context.Context) ([]prices.Price, error) {
	endpoint := a.Endpoint
	if endpoint == "" {
		endpoint = "https://prices.azure.com"
	}
	now := time.Now
	if a.Now != nil {
		now = a.Now
	}
	types := a.Types
	if len(types) == 0 {
		types = prices.Types(prices.Azure)
	}
	regions := a.Regions
	if len(regions) == 0 {
		regions = []string{""}
	}
	c := client(a.HTTP, endpoint)
	var list []prices.Price
	var errs []error
	for _, region := range regions {
		for some := range slices.Chunk(types, atOnce) {
			filter := "serviceName eq 'Virtual Machines' and priceType eq 'Consumption'"
			if region != "" {
				filter += " and armRegionName eq " + quoted(region)
			}
			names := make([]string, len(some))
			for i, t := range some {
				names[i] = "armSkuName eq " + quoted(t)
			}
			filter += " and (" + strings.Join(names, " or ") + ")"
			r := c.R().SetContext(ctx).SetQueryParams(map[string]string{"api-version": "2023-01-01-preview", "$filter": filter, "currencyCode": "USD"})
			link := "/api/retail/prices"
			for page := 0; link != ""; page++ {
				if page == mostPages {
					errs = append(errs, fmt.Errorf("more than %d pages for %s", mostPages, region))
					break
				}
				var got azurePage
				if err := answered(r.SetResult(&got).Get(link)); err != nil {
					errs = append(errs, err)
					break
				}
				list = got.append(list, now().UTC())
				r, link = c.R().SetContext(ctx), got.NextPageLink // it names filter and place itself
			}
			if len(errs) > 0 {
				return list, errors.Join(errs...) // the others would not be answered either
			}
		}
	}
	return list, nil
}

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// append adds what machines with Linux cost.
func (p *azurePage) append(list []prices.Price, at time.Time) []prices.Price {
	for i := range p.Items {
		it := &p.Items[i]
		if it.CurrencyCode != "USD" || it.Type != "Consumption" || it.UnitOfMeasure != "1 Hour" || it.Minimum != 0 || it.ArmSkuName == "" || it.ArmRegionName == "" {
			continue
		}
		if strings.Contains(it.ProductName, "Windows") || strings.Contains(it.ProductName, "CloudServices") || strings.Contains(it.ProductName, "Cloud Services") ||
			strings.HasSuffix(it.SkuName, "Low Priority") || strings.HasSuffix(it.MeterName, "Expired") {
			continue
		}
		market := provider.OnDemand
		if strings.HasSuffix(it.SkuName, " Spot") {
			market = provider.Spot
		}
		list = append(list, prices.Price{Key: prices.Key{Cloud: prices.Azure, Type: it.ArmSkuName, Region: it.ArmRegionName, Market: market},
			PerHour: decision.Dollars(it.RetailPrice), At: at, From: "retail price list"})
	}
	return list
}
