package restd

import (
	"encoding/json"
	"net/http"
	"strings"

	"fsub/federation/api/identity"
)

// document is GET /openapi/v3.
func (s *Server) document(w http.ResponseWriter, _ *http.Request, _ identity.Caller) error {
	w.Header().Set("Content-Type", "application/json")
	w.Write(s.openapi())
	return nil
}

// pathParams are slurmrestd's names of what stands in a path, by what comes before it.
var pathParams = map[string]string{
	"job": "job_id", "node": "node_name", "partition": "partition_name", "reservation": "reservation_name", "cluster": "cluster_name",
	"account": "account_name", "user": "name", "qos": "qos",
}

// queries are the names that listings select by.
var queries = map[string][]string{
	"GET slurm/jobs": {"update_time", "job_id", "users", "states", "name", "partition", "account", "qos", "cluster"}, "GET slurm/jobs/state": {"job_id"},
	"GET slurm/nodes": {"cluster"}, "GET slurm/partitions": {"cluster"}, "GET slurm/licenses": {"cluster"}, "GET slurm/reservations": {"cluster"},
	"GET slurm/shares":         {"account", "user", "cluster"},
	"DELETE slurm/job/{}":      {"signal", "flags"},
	"GET slurmdb/jobs":         {"job_id", "step", "users", "job_name", "partition", "account", "qos", "cluster", "state", "start_time", "end_time", "duplicates"},
	"GET slurmdb/associations": {"account", "user", "cluster", "partition"}, "GET slurmdb/association": {"account", "user", "cluster", "partition"},
	"GET slurmdb/accounts": {"user", "cluster"}, "GET slurmdb/users": {"account", "cluster"},
}

type object = map[string]any

// Document is the OpenAPI document, for a release of Slurm ("24.11.5"), of what is answered under /slurm and /slurmdb: of the routes, as far as their answers have a shape in a
// version. Paths and operations have slurmrestd's names.
func Document(release string) []byte {
	patterns := new(Server).handlers()
	paths, schemas := object{}, object{}
	for version, shapes := range versionShapes() {
		schemas[version+"_reply"] = shapes["reply"].schema()
		for pattern := range patterns {
			key := keyOf(pattern)
			if shapes[key] == nil {
				continue
			}
			schemas[schemaName(version, key)] = shapes[key].schema()
			path, method, op := operation(version, key)
			if paths[path] == nil {
				paths[path] = object{}
			}
			paths[path].(object)[method] = op
		}
	}
	text, _ := json.Marshal(object{ // all of it is plain
		"openapi": "3.0.3",
		"info": object{"title": "Slurm REST API", "version": "Slurm-" + release + "&openapi/slurmctld&openapi/slurmdbd",
			"description": "The federation as one cluster. What it has besides is under /fed/v1: see /fed/v1/openapi.json."},
		"servers":  []object{{"url": "/"}},
		"security": []object{{"user": []string{}, "token": []string{}}, {"token": []string{}}, {"bearerAuth": []string{}}, {}},
		"paths":    paths,
		"components": object{"schemas": schemas, "securitySchemes": object{
			"user":       object{"type": "apiKey", "name": "X-SLURM-USER-NAME", "in": "header"},
			"token":      object{"type": "apiKey", "name": "X-SLURM-USER-TOKEN", "in": "header"},
			"bearerAuth": object{"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
		}},
	})
	return text
}

// schemaName is what an answer's schema is called.
func schemaName(version, key string) string {
	return version + "_" + strings.NewReplacer(" ", "_", "/{}", "_one", "/", "_").Replace(strings.ToLower(key))
}

// operation describes the route of an answer.
func operation(version, key string) (path, method string, op object) {
	method, rest, _ := strings.Cut(key, " ")
	method = strings.ToLower(method)
	top, words, _ := strings.Cut(rest, "/")
	id := top + "_" + strings.ReplaceAll(version, ".", "") + "_" + method
	path = "/" + top + "/" + version
	params := []object{}
	before := ""
	for step := range strings.SplitSeq(words, "/") {
		if step == "{}" {
			step = "{" + pathParams[before] + "}"
			params = append(params, object{"name": pathParams[before], "in": "path", "required": true, "schema": object{"type": "string"}})
		} else {
			id += "_" + step
		}
		path += "/" + step
		before = step
	}
	if !strings.Contains(words, "/") && words != "shares" || words == "jobs/state" {
		path += "/" // as slurmrestd writes it; it is answered without, too
	}
	for _, name := range queries[key] {
		params = append(params, object{"name": name, "in": "query", "schema": object{"type": "string"}})
	}
	answers := func(name string) object {
		return object{"application/json": object{"schema": object{"$ref": "#/components/schemas/" + name}}}
	}
	op = object{
		"operationId": id, "tags": []string{top}, "parameters": params,
		"responses": object{
			"200":     object{"description": "It was done, or errors says why not.", "content": answers(schemaName(version, key))},
			"default": object{"description": "It was refused, or failed.", "content": answers(version + "_reply")},
		},
	}
	if body := bodies[key]; body != nil {
		op["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": body()}}}
	}
	return path, method, op
}

// bodies are the schemas of what requests carry.
var bodies = map[string]func() object{
	"POST slurm/job/submit": func() object {
		return object{"type": "object", "properties": object{"script": object{"type": "string"}, "job": jobBody()}}
	},
	"POST slurm/job/{}": jobBody,
	"DELETE slurm/jobs": func() object { return object{"type": "object"} },
}

// jobBody has the fields of a job's description. A number may be plain or have set, infinite and number; so they have no type.
func jobBody() object {
	properties := object{}
	for name := range jobDescFields() {
		properties[name] = object{}
	}
	return object{"type": "object", "properties": properties}
}

// schema is s in the words of JSON schema.
func (s *shape) schema() object {
	var out object
	switch s.kind {
	case '{':
		properties := object{}
		for name, f := range s.fields {
			properties[name] = f.schema()
		}
		out = object{"type": "object", "properties": properties, "required": s.names}
		if len(s.fields) == 0 {
			delete(out, "required") // which may not be empty
		}
	case '[':
		out = object{"type": "array", "items": s.elem.schema()}
	case 'i':
		out = object{"type": "integer", "format": "int64"}
	case 'f':
		out = object{"type": "number", "format": "double"}
	case 'b':
		out = object{"type": "boolean"}
	case 'N', 'F', 'I':
		number := &shape{kind: map[byte]byte{'N': 'i', 'F': 'f', 'I': 'f'}[s.kind]}
		flag := object{"type": "boolean"}
		out = object{"type": "object", "properties": object{"set": flag, "infinite": flag, "number": number.schema()}}
	default:
		out = object{"type": "string"}
	}
	if s.null {
		out["nullable"] = true
	}
	return out
}
