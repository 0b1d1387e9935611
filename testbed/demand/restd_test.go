package demand

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"fsub/federation/api/restd"
)

// TestAnswersAreAsDescribed holds what real slurmrestds answer against the OpenAPI document of ours, in each version that they speak.
func TestAnswersAreAsDescribed(t *testing.T) {
	world.Need(t)
	var doc struct {
		Paths      map[string]map[string]operation
		Components struct{ Schemas map[string]*schema }
	}
	if err := json.Unmarshal(restd.Document("24.11.5"), &doc); err != nil {
		t.Fatal(err)
	}
	for _, s := range sites {
		if spoken[s.version] == nil {
			continue
		}
		t.Run(s.version, func(t *testing.T) {
			get := caller(t, s.site)
			id, err := world.Bed.Output(t.Context(), s.site, "alice", "sbatch", "--parsable", "-D", "/", "-o", "/dev/null", "--wrap", "sleep 300")
			if err != nil {
				t.Fatal(err)
			}
			id = strings.TrimSpace(id)
			t.Cleanup(func() { world.Bed.Output(context.Background(), s.site, "alice", "scancel", id) })
			time.Sleep(5 * time.Second) // until it runs, and slurmdbd knows of it
			names := strings.NewReplacer("{job_id}", id, "{node_name}", s.site+"1", "{partition_name}", "main", "{reservation_name}", "none",
				"{cluster_name}", s.site, "{account_name}", "physics", "{name}", "alice", "{qos}", "normal")
			asked := 0
			for path, methods := range doc.Paths {
				op, ok := methods["get"]
				if parts := strings.Split(path, "/"); !ok || !spoken[s.version][parts[2]] || parts[3] == "reservation" {
					continue
				}
				asked++
				query := map[string]string{"association": "?user=alice"}[strings.Split(path, "/")[3]]
				for _, fault := range faults(doc.Components.Schemas, op.schema(), path, get(names.Replace(path)+query)) {
					if !strings.Contains(fault, "job_resources") { // of jobs that do not run: every version has another way to say so
						t.Error(fault)
					}
				}
			}
			if asked < 20 {
				t.Errorf("only %d paths were asked", asked)
			}
		})
	}
}

// spoken are the API versions of each release that we answer, too; 22.05 has none of them.
var spoken = map[string]map[string]bool{
	"24.11": {"v0.0.42": true},
	"26.05": {"v0.0.42": true, "v0.0.43": true, "v0.0.44": true, "v0.0.45": true},
}

type operation struct {
	Responses map[string]struct {
		Content map[string]struct{ Schema *schema }
	}
}

func (o *operation) schema() *schema { return o.Responses["200"].Content["application/json"].Schema }

type schema struct {
	Ref        string `json:"$ref"`
	Type       string
	Nullable   bool
	Items      *schema
	Properties map[string]*schema
	Additional *schema `json:"additionalProperties"`
}

// caller asks a site's slurmrestd as alice.
func caller(t *testing.T, site string) func(path string) any {
	info, err := world.Bed.Site(site)
	if err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(info.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	part := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	now := time.Now().Unix()
	token := part(`{"alg":"HS256","typ":"JWT"}`) + "." + part(fmt.Sprintf(`{"sun":"alice","iat":%d,"exp":%d}`, now, now+1800))
	m := hmac.New(sha256.New, key)
	m.Write([]byte(token))
	token += "." + part(string(m.Sum(nil)))
	return func(path string) (v any) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "GET", info.RestURL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-SLURM-USER-NAME", "alice")
		r.Header.Set("X-SLURM-USER-TOKEN", token)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		// Where nothing has been used yet, shares before v0.0.42 have numbers that are not JSON.
		text = []byte(strings.NewReplacer(": nan", ": 0", ": inf", ": 0", ": NaN", ": 0", ": Infinity", ": 0").Replace(string(text)))
		if err := json.Unmarshal(text, &v); err != nil {
			t.Errorf("%s: %s: %v: %.200s", path, resp.Status, err, text)
		}
		return v
	}
}

// faults are the fields of v that s does not describe, and those that it describes and v does not have.
func faults(all map[string]*schema, s *schema, path string, v any) (out []string) {
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		s = all[name]
	}
	kind := map[bool]string{true: "null"}[v == nil]
	switch v := v.(type) {
	case string:
		kind = "string"
	case bool:
		kind = "boolean"
	case float64:
		if kind = "number"; s.Type == "integer" && v == float64(int64(v)) {
			kind = "integer"
		}
	case []any:
		kind = "array"
		for i := range v {
			if s.Items != nil {
				out = append(out, faults(all, s.Items, fmt.Sprintf("%s[%d]", path, i), v[i])...)
			}
		}
	case map[string]any:
		kind = "object"
		for name := range v {
			switch {
			case s.Properties[name] != nil:
				out = append(out, faults(all, s.Properties[name], path+"."+name, v[name])...)
			case s.Additional != nil:
				out = append(out, faults(all, s.Additional, path+"."+name, v[name])...)
			default:
				out = append(out, path+"."+name+" is not described")
			}
		}
		for name := range s.Properties {
			if _, ok := v[name]; !ok {
				out = append(out, path+"."+name+" is missing")
			}
		}
	}
	if kind != s.Type && !(kind == "null" && s.Nullable) {
		out = append(out, fmt.Sprintf("%s is %s, described as %s", path, kind, s.Type))
	}
	return out
}
