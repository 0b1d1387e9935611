package azure

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

type object = map[string]any

const subnetID = "/subscriptions/" + Subscription + "/resourceGroups/fsub/providers/Microsoft.Network/virtualNetworks/net/subnets/machines"

// scaleSet is a good request.
func scaleSet() object {
	return object{"location": "eastus", "tags": object{"team": "ml"}, "sku": object{"name": "Standard_D4s_v5", "capacity": 1}, "properties": object{
		"orchestrationMode": "Flexible", "platformFaultDomainCount": 1, "virtualMachineProfile": object{
			"osProfile":      object{"computerNamePrefix": "m", "linuxConfiguration": object{"ssh": object{}}, "customData": "ZGF0YQ=="},
			"storageProfile": object{"imageReference": object{"publisher": "Canonical", "offer": "o", "sku": "s", "version": "latest"}},
			"networkProfile": object{"networkApiVersion": "2022-11-01", "networkInterfaceConfigurations": []any{object{"name": "main", "properties": object{
				"ipConfigurations": []any{object{"name": "main", "properties": object{"subnet": object{"id": subnetID}}}}}}}},
		}}}
}

// TestRefuses: what the models let through and Azure does not take. A set without custom data is made.
func TestRefuses(t *testing.T) {
	c := New(Config{})
	t.Cleanup(func() { c.Close() })
	put := func(path, version string, body object) (int, string) {
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequestWithContext(t.Context(), "PUT", "http://azure"+path+"?api-version="+version, bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+c.Token())
		r.Header.Set("Content-Type", "application/json")
		answer, err := c.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		said, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, string(said)
	}
	const at, good = "/subscriptions/" + Subscription + "/resourceGroups/fsub/providers/Microsoft.Compute/virtualMachineScaleSets/", "2026-04-01"
	profile := func(d object) object { return d["properties"].(object)["virtualMachineProfile"].(object) }
	for code, change := range map[string]func(d object){
		"LocationNotAvailableForResourceType": func(d object) { d["location"] = "westus" },
		"imageReference":                      func(d object) { delete(profile(d), "storageProfile") },
		"platformFaultDomainCount":            func(d object) { delete(d["properties"].(object), "platformFaultDomainCount") },
		"not supported for Spot": func(d object) {
			profile(d)["priority"], profile(d)["capacityReservation"] = "Spot", object{"capacityReservationGroup": object{"id": "/x"}}
		},
		"networkInterfaceConfigurations": func(d object) { profile(d)["networkProfile"] = object{"networkApiVersion": "2022-11-01"} },
		"TooManyTags": func(d object) {
			for i := range 51 {
				d["tags"].(object)[fmt.Sprint("t", i)] = "x"
			}
		},
		"InvalidTagValueLength": func(d object) { d["tags"].(object)["long"] = strings.Repeat("x", 300) },
	} {
		d := scaleSet()
		change(d)
		if status, said := put(at+"set-1", good, d); status != 400 || !strings.Contains(said, code) {
			t.Errorf("%s: %d %s", code, status, said)
		}
	}
	for code, where := range map[string][2]string{
		"NoRegisteredProviderFound":  {at + "set-1", "1999-01-01"},
		"MissingApiVersionParameter": {at + "set-1", ""},
		"SubscriptionNotFound":       {strings.Replace(at, Subscription, "00000000-0000-0000-0000-000000000000", 1) + "set-1", good},
		"ResourceGroupNotFound":      {strings.Replace(at, "/fsub/", "/other/", 1) + "set-1", good},
		"InvalidResourceName":        {at + "fsub_bad!", good},
	} {
		if status, said := put(where[0], where[1], scaleSet()); status != 400 && status != 404 || !strings.Contains(said, code) {
			t.Errorf("%s: %d %s", code, status, said)
		}
	}
	bare := scaleSet()
	delete(profile(bare)["osProfile"].(object), "customData")
	for name, d := range map[string]object{"set-1": scaleSet(), "set-2": bare} {
		if status, said := put(at+name, good, d); status != 201 {
			t.Errorf("%s: %d %s", name, status, said)
		}
	}
	made := func() bool {
		c.Mu.Lock()
		defer c.Mu.Unlock()
		return len(c.all) == 2
	}
	for !made() { // the second would have panicked for want of custom data
		time.Sleep(5 * time.Millisecond)
	}
}
