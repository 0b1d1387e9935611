package lists

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"testing"

	"fsub/cloud/prices"
)

// page answers the first call with a text, all others with an empty page.
type page struct {
	text  []byte
	calls int
}

func (p *page) RoundTrip(r *http.Request) (*http.Response, error) {
	text := []byte("{}")
	if p.calls++; p.calls == 1 {
		text = p.text
	}
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(text)), Request: r}, nil
}

// FuzzLists has the price lists answer anything: what the catalogue takes of it are prices that can be true, of the cloud that was asked.
func FuzzLists(f *testing.F) {
	for _, name := range []string{"azure-1.json", "azure-2.json", "google-1.json", "google-2.json"} {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(name[0] == 'g', text)
	}
	f.Add(false, []byte(`{"Items":[{"currencyCode":"USD","type":"Consumption","unitOfMeasure":"1 Hour","armSkuName":"Standard_ND96isr_H100_v5","armRegionName":"eastus","retailPrice":1e308}],"NextPageLink":"http://x/%zz"}`))
	f.Add(true, []byte(`{"skus":[{"description":"TpuV5p running in X","category":{"resourceGroup":"TPU","usageType":"OnDemand"},"serviceRegions":["r"],"pricingInfo":[{"pricingExpression":{"usageUnit":"h","tieredRates":[{"unitPrice":{"currencyCode":"USD","units":"NaN","nanos":5}}]}}]}],"nextPageToken":"t"}`))
	f.Fuzz(func(t *testing.T, google bool, text []byte) {
		h := &http.Client{Transport: &page{text: text}}
		var s prices.Source = &Azure{HTTP: h, Now: clock, Types: []string{"Standard_ND96isr_H100_v5"}}
		cloud := prices.Azure
		if google {
			s, cloud = &Google{HTTP: h, Now: clock}, prices.Google
		}
		list, err := s.Prices(context.Background())
		if err != nil && google && len(list) > 0 {
			t.Errorf("%d prices of half a catalogue", len(list))
		}
		c, err := prices.New(prices.Config{})
		if err != nil {
			t.Fatal(err)
		}
		refused := c.Learn(list)
		out := map[prices.Key]bool{}
		for _, r := range refused {
			out[r.Key] = true
		}
		for _, p := range list {
			if p.Cloud != cloud || p.Type == "" || p.Region == "" {
				t.Errorf("%+v", p)
			}
			if usd := float64(p.PerHour); !out[p.Key] && !(usd > 0 && usd < 1e12) {
				t.Errorf("a price of $%g was taken: %+v", usd, p)
			}
		}
	})
}
