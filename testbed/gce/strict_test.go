package gce

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// call sends a request, and returns the status and the answer.
func call(t *testing.T, method, url string, body any) (int, string) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	said, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(said)
}

func start(t *testing.T) (*Cloud, string) {
	t.Helper()
	c := New(Config{})
	t.Cleanup(func() { c.Close() })
	url, err := c.Start("")
	if err != nil {
		t.Fatal(err)
	}
	return c, url
}

// edit changes one field of a request, by its path; nil takes it out.
func edit(d doc, path string, value any) {
	keys := strings.Split(path, "/")
	for _, k := range keys[:len(keys)-1] {
		d = d[k].(doc)
	}
	if d[keys[len(keys)-1]] = value; value == nil {
		delete(d, keys[len(keys)-1])
	}
}

func insertion() doc {
	return doc{"count": "1", "perInstanceProperties": doc{"m-0": doc{}}, "instanceProperties": doc{
		"machineType": "g2-standard-4", "labels": doc{"team": "ml"}, "description": "d", "metadata": doc{"items": []any{doc{"key": "k", "value": "v"}}},
		"disks":             []any{doc{"boot": true, "initializeParams": doc{"sourceImage": "projects/debian-cloud/global/images/family/debian-12"}}},
		"networkInterfaces": []any{doc{"network": "projects/project-1/global/networks/default"}},
		"scheduling":        doc{"automaticRestart": false, "onHostMaintenance": "TERMINATE"},
	}}
}

// TestRefusesMachines: what the schema lets through and Google does not take.
func TestRefusesMachines(t *testing.T) {
	c, url := start(t)
	c.policies["near"] = doc{"name": "near"}
	url += "/compute/v1/projects/project-1/zones/us-central1-a/instances/bulkInsert"
	many := doc{}
	for i := range 1001 {
		many[fmt.Sprintf("m-%d", i)] = doc{}
	}
	spot := doc{"provisioningModel": "SPOT", "instanceTerminationAction": "DELETE", "automaticRestart": false, "onHostMaintenance": "TERMINATE"}
	type edits map[string]any
	for name, e := range map[string]edits{
		"name":            {"perInstanceProperties": doc{"Fsub_A": doc{}}},
		"label key":       {"instanceProperties/labels": doc{"Y": "y"}},
		"label value":     {"instanceProperties/labels": doc{"y": "X.z"}},
		"image":           {"instanceProperties/disks": []any{doc{"initializeParams": doc{"sourceImage": "projects/nobody/global/images/none"}}}},
		"network":         {"instanceProperties/networkInterfaces": []any{doc{"network": "global/networks/other"}}},
		"subnetwork":      {"instanceProperties/networkInterfaces": []any{doc{"subnetwork": "regions/us-central1/subnetworks/other"}}},
		"two interfaces":  {"instanceProperties/networkInterfaces": []any{doc{"network": "global/networks/default"}, doc{"subnetwork": "regions/us-central1/subnetworks/default"}}},
		"description":     {"instanceProperties/description": strings.Repeat("x", 3000)},
		"metadata":        {"instanceProperties/metadata": doc{"items": []any{doc{"key": "k", "value": strings.Repeat("x", 300_000)}}}},
		"flex":            {"instanceProperties/scheduling": doc{"provisioningModel": "FLEX_START", "instanceTerminationAction": "DELETE", "automaticRestart": false, "onHostMaintenance": "TERMINATE"}},
		"restart":         {"instanceProperties/scheduling": spot, "instanceProperties/scheduling/automaticRestart": true},
		"too many":        {"count": "1001", "perInstanceProperties": many},
		"policy's URL":    {"instanceProperties/resourcePolicies": []any{"projects/project-1/regions/us-central1/resourcePolicies/near"}},
		"unknown policy":  {"instanceProperties/resourcePolicies": []any{"far"}},
		"unknown project": {"project": "nobody"},
		"ID":              {"id": "abc"},
		"ID of zeros":     {"id": "00000000-0000-0000-0000-000000000000"},
	} {
		body, to := insertion(), url
		for path, value := range e {
			switch path {
			case "project":
				to = strings.Replace(url, "project-1", "nobody", 1)
			case "id":
				to += "?requestId=" + value.(string)
			case "instanceProperties/scheduling":
				copied := doc{}
				for k, v := range value.(doc) {
					copied[k] = v
				}
				edit(body, path, copied)
			}
		}
		for path, value := range e {
			if path != "project" && path != "id" && path != "instanceProperties/scheduling" {
				edit(body, path, value)
			}
		}
		if status, said := call(t, "POST", to, body); status != 400 && status != 404 {
			t.Errorf("%s: %d %s", name, status, said)
		}
	}
	good := insertion()
	edit(good, "instanceProperties/resourcePolicies", []any{"near"})
	edit(good, "instanceProperties/scheduling", spot)
	if status, said := call(t, "POST", url+"?requestId=0a0a0a0a-1111-2222-3333-444444444444", good); status != 200 {
		t.Errorf("%d %s", status, said)
	}
}

// TestRefusesSlices: the same for queued resources.
func TestRefusesSlices(t *testing.T) {
	_, url := start(t)
	url += "/v2alpha1/projects/project-1/locations/us-central1-a/queuedResources?queuedResourceId="
	slice := func() doc {
		return doc{"guaranteed": doc{}, "queueingPolicy": doc{"validUntilDuration": "600s"}, "tpu": doc{"nodeSpec": []any{doc{"parent": "projects/project-1/locations/us-central1-a", "nodeId": "n",
			"node": doc{"acceleratorType": "v5litepod-4", "runtimeVersion": "v2-alpha-tpuv5-lite", "networkConfig": doc{"network": "default"}}}}}}
	}
	node := func(d doc) doc { return d["tpu"].(doc)["nodeSpec"].([]any)[0].(doc)["node"].(doc) }
	i := 0
	for name, change := range map[string]func(d doc){
		"runtime":             func(d doc) { node(d)["runtimeVersion"] = "nonsense" },
		"another's runtime":   func(d doc) { node(d)["runtimeVersion"] = "v2-alpha-tpuv6e" },
		"type and config":     func(d doc) { node(d)["acceleratorConfig"] = doc{"type": "V5LITE_POD", "topology": "2x2"} },
		"spot and guaranteed": func(d doc) { d["spot"] = doc{} },
		"network":             func(d doc) { node(d)["networkConfig"] = doc{"network": "other"} },
		"flex of 30 days": func(d doc) {
			delete(d, "guaranteed")
			d["provisioningModel"], d["runDuration"] = "FLEX_START", doc{"maxRunDuration": "2592000s"}
		},
		"two validities": func(d doc) {
			d["queueingPolicy"] = doc{"validUntilDuration": "600s", "validUntilTime": "2026-12-01T00:00:00Z"}
		},
		"nameless reservation": func(d doc) { d["guaranteed"] = doc{"reserved": true} },
		"name":                 func(d doc) {},
	} {
		body := slice()
		change(body)
		i++
		id := fmt.Sprintf("q-%d", i)
		if name == "name" {
			id = "Q_1"
		}
		if status, said := call(t, "POST", url+id, body); status != 400 && status != 404 {
			t.Errorf("%s: %d %s", name, status, said)
		}
	}
	if status, said := call(t, "POST", url+"good", slice()); status != 200 {
		t.Errorf("%d %s", status, said)
	}
}
