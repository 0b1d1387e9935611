package ec2

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"fsub/testbed/machines"
)

// productsRequest is what pricing:GetProducts is asked, and productsAnswer what it says: JSON 1.1, the price list's entries as JSON texts within it.
type productsRequest struct {
	ServiceCode   string
	FormatVersion string
	Filters       []productFilter
	MaxResults    *int
	NextToken     string
}

type productFilter struct{ Field, Type, Value string }

type productsAnswer struct {
	FormatVersion string
	NextToken     string `json:",omitempty"`
	PriceList     []string
}

// servePricing answers the pricing API, which is another service with another protocol at another host; here it shares the address.
func (c *Cloud) servePricing(w http.ResponseWriter, r *http.Request, body []byte, target string) {
	service := "pricing"
	if strings.HasPrefix(target, "ServiceQuotas") {
		service = "servicequotas"
	}
	action := service + ":" + target[strings.LastIndex(target, ".")+1:]
	fault := c.Begin(r, action, url.Values{"Body": {string(body)}})
	fault.Cut(r, c.Done())
	answer, refused := c.price(r, body, service, action, target, fault)
	fault.CutReply()
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	w.Header().Set("X-Amzn-Requestid", machines.UUID())
	if refused != nil {
		w.WriteHeader(refused.Status)
		answer = map[string]string{"__type": refused.Code, "message": refused.Text}
	}
	json.NewEncoder(w).Encode(answer)
}

func (c *Cloud) price(r *http.Request, body []byte, service, action, target string, fault *Fault) (any, *apiError) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	if err := c.admit(r, body, service, action, fault); err != nil {
		return nil, jsonError(err.(*apiError))
	}
	if action == "servicequotas:ListServiceQuotas" {
		return c.serviceQuotas()
	}
	if target != "AWSPriceListService.GetProducts" {
		return nil, &apiError{http.StatusBadRequest, "UnknownOperationException", "the stand-in's pricing knows GetProducts only"}
	}
	var in productsRequest
	strict := json.NewDecoder(strings.NewReader(string(body)))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&in); err != nil {
		return nil, &apiError{http.StatusBadRequest, "SerializationException", err.Error()}
	}
	if in.ServiceCode != "AmazonEC2" {
		return nil, &apiError{http.StatusBadRequest, "NotFoundException", "the stand-in has prices of AmazonEC2 only"}
	}
	return c.products(in)
}

// jsonError gives a refusal the code that services with a JSON protocol have for it.
func jsonError(e *apiError) *apiError {
	switch e.Code {
	case "AuthFailure":
		return &apiError{400, "UnrecognizedClientException", "The security token included in the request is invalid."}
	case "SignatureDoesNotMatch":
		return &apiError{400, "InvalidSignatureException", e.Text}
	case "UnauthorizedOperation":
		return &apiError{400, "AccessDeniedException", e.Text}
	case "RequestLimitExceeded":
		return &apiError{400, "ThrottlingException", "Rate exceeded"}
	}
	return e
}

func (c *Cloud) products(in productsRequest) (any, *apiError) {
	size := 100
	if in.MaxResults != nil {
		if size = *in.MaxResults; size < 1 || size > 100 {
			return nil, &apiError{400, "InvalidParameterException", "MaxResults must be between 1 and 100"}
		}
	}
	from := 0
	if in.NextToken != "" {
		n, err := readToken(in.NextToken)
		if err != nil {
			return nil, &apiError{400, "InvalidNextTokenException", "The token is invalid"}
		}
		from = n
	}
	var found []string
	for _, p := range c.catalog() {
		ok, bad := fitsAll(p, in.Filters)
		if bad != nil {
			return nil, bad
		}
		if ok {
			found = append(found, priceList(p))
		}
	}
	out := productsAnswer{FormatVersion: "aws_v1", PriceList: []string{}}
	from = min(from, len(found))
	to := min(len(found), from+size)
	out.PriceList = append(out.PriceList, found[from:to]...)
	if to < len(found) {
		out.NextToken = writeToken(to)
	}
	return out, nil
}

// product is one SKU: its attributes and its price, with which its family, "Compute Instance", is left out.
type product struct {
	attributes map[string]string
	price      float64
}

// catalog has for each type the SKUs between which a caller must choose: systems, tenancies, and the two that reservations are billed by.
func (c *Cloud) catalog() []product {
	var out []product
	for _, t := range c.cfg.Types {
		if t.Price == 0 {
			continue
		}
		for _, system := range []string{"Linux", "Windows"} {
			for _, tenancy := range []string{"Shared", "Dedicated"} {
				for _, capacity := range []string{"Used", "UnusedCapacityReservation", "AllocatedCapacityReservation"} {
					out = append(out, c.product(t, system, tenancy, capacity))
				}
			}
		}
	}
	return out
}

func (c *Cloud) product(t *Type, system, tenancy, capacity string) product {
	price := t.Price
	if system == "Windows" {
		price += 0.046 * float64(t.CPUs)
	}
	if tenancy == "Dedicated" {
		price *= 1.1
	}
	usage := map[string]string{"Used": "BoxUsage", "UnusedCapacityReservation": "UnusedBox", "AllocatedCapacityReservation": "Reservation"}[capacity]
	if capacity == "AllocatedCapacityReservation" { // billed as the instances in it
		price = 0
	}
	operation := map[string]string{"Linux": "RunInstances", "Windows": "RunInstances:0002"}[system]
	a := map[string]string{
		"servicecode": "AmazonEC2", "servicename": "Amazon Elastic Compute Cloud", "location": locations[c.cfg.Region], "locationType": "AWS Region", "regionCode": c.cfg.Region,
		"instanceType": t.Name, "currentGeneration": "Yes", "operatingSystem": system, "preInstalledSw": "NA", "tenancy": tenancy, "capacitystatus": capacity,
		"licenseModel": "No License required", "marketoption": "OnDemand", "operation": operation, "usagetype": "USE2-" + usage + ":" + t.Name,
		"vcpu": itoa(t.CPUs), "memory": fmt.Sprintf("%g GiB", float64(t.MemMiB)/1024), "processorArchitecture": "64-bit", "networkPerformance": t.Network,
	}
	if t.Maker == "NVIDIA" || t.Maker == "AMD" {
		a["gpu"], a["gpuMemory"] = itoa(t.Accelerators), "NA"
	}
	return product{a, price}
}

// locations are the names that the price list has for some regions.
var locations = map[string]string{"us-east-1": "US East (N. Virginia)", "us-east-2": "US East (Ohio)", "us-west-2": "US West (Oregon)", "eu-central-1": "EU (Frankfurt)"}

func fitsAll(p product, filters []productFilter) (bool, *apiError) {
	for _, f := range filters {
		have := p.attributes[f.Field]
		if f.Field == "productFamily" {
			have = "Compute Instance"
		}
		values := strings.Split(f.Value, ",")
		var ok bool
		switch f.Type {
		case "TERM_MATCH", "EQUALS":
			ok = have == f.Value
		case "CONTAINS":
			ok = strings.Contains(have, f.Value)
		case "ANY_OF":
			ok = slices.Contains(values, have)
		case "NONE_OF":
			ok = !slices.Contains(values, have)
		default:
			return false, &apiError{400, "InvalidParameterException", "Input Parameters are invalid. Unsupported filter type " + f.Type}
		}
		if !ok {
			return false, nil
		}
	}
	return true, nil
}

// priceList is a product as the price list has it.
func priceList(p product) string {
	sku := strings.ToUpper(digest(fmt.Append(nil, p.attributes))[:16])
	term, rate := sku+".JRTCKXETXF", sku+".JRTCKXETXF.6YS6EN2CT7"
	published := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC).Format(time.RFC3339)
	b, _ := json.Marshal(map[string]any{ // strings and maps: cannot fail
		"product":     map[string]any{"productFamily": "Compute Instance", "attributes": p.attributes, "sku": sku},
		"serviceCode": "AmazonEC2", "version": "20261101000000", "publicationDate": published,
		"terms": map[string]any{"OnDemand": map[string]any{term: map[string]any{
			"sku": sku, "offerTermCode": "JRTCKXETXF", "effectiveDate": published, "termAttributes": map[string]string{},
			"priceDimensions": map[string]any{rate: map[string]any{
				"unit": "Hrs", "beginRange": "0", "endRange": "Inf", "rateCode": rate, "appliesTo": []string{},
				"description":  fmt.Sprintf("$%g per %s %s %s Instance Hour", p.price, p.attributes["tenancy"], p.attributes["operatingSystem"], p.attributes["instanceType"]),
				"pricePerUnit": map[string]string{"USD": fmt.Sprintf("%.10f", p.price)},
			}},
		}}},
	})
	return string(b)
}

// serviceQuotas are some of those that Service Quotas lists for EC2: those of a market all have what SetQuota says, else a new account's.
func (c *Cloud) serviceQuotas() (any, *apiError) {
	list := []any{}
	for _, q := range [][3]string{
		{"L-1216C47A", onDemand, "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances"}, {"L-34B43A08", spot, "All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests"},
		{"L-DB2E81BA", onDemand, "Running On-Demand G and VT instances"}, {"L-3819A6DF", spot, "All G and VT Spot Instance Requests"}, {"L-417A185B", onDemand, "Running On-Demand P instances"},
	} {
		limit, bounded := c.Quota(q[1])
		if !bounded {
			limit = map[bool]int{true: 32}[strings.Contains(q[2], "Standard")]
		}
		list = append(list, map[string]any{"ServiceCode": "ec2", "QuotaCode": q[0], "QuotaName": q[2], "Value": float64(limit), "Unit": "None", "Adjustable": true})
	}
	return map[string]any{"Quotas": list}, nil
}
