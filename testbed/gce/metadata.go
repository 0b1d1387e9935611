package gce

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"fsub/testbed/machines"
)

// metadata is a machine's metadata server.
func (c *Cloud) metadata(m *machine) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Metadata-Flavor", "Google")
		w.Header().Set("Server", "Metadata Server for VM")
		if r.Header.Get("Metadata-Flavor") != "Google" {
			http.Error(w, "Missing Metadata-Flavor:Google header.", http.StatusForbidden)
			return
		}
		path, ok := strings.CutPrefix(r.URL.Path, "/computeMetadata/v1/")
		if !ok {
			http.NotFound(w, r)
			return
		}
		read := func() map[string]string {
			c.Mu.Lock()
			defer c.Mu.Unlock()
			return c.facts(m)
		}
		files := read()
		if r.URL.Query().Get("wait_for_change") == "true" { // answers when the value is another than the caller has
			last := r.URL.Query().Get("last_etag")
			for first := files[path]; (last == "" && files[path] == first || last != "" && etag(files[path]) == last) && r.Context().Err() == nil; files = read() {
				select {
				case <-c.Done():
					return
				case <-time.After(20 * time.Millisecond):
				}
			}
		}
		w.Header().Set("ETag", etag(files[strings.TrimSuffix(path, "/")]))
		r.URL.Path = path
		machines.ServeFile(w, r, files)
	})
}

func etag(value string) string {
	var sum uint64 = 14695981039346656037
	for _, b := range []byte(value) {
		sum = (sum ^ uint64(b)) * 1099511628211
	}
	return fmt.Sprintf("%016x", sum)
}

// facts is all that a machine can read of itself. The lock is held.
func (c *Cloud) facts(m *machine) map[string]string {
	f := map[string]string{
		"project/project-id": c.cfg.Project, "instance/id": strconv.FormatUint(m.id, 10), "instance/name": m.name, "instance/hostname": m.name + "." + m.zone + ".c." + c.cfg.Project + ".internal",
		"instance/zone": "projects/123456789012/zones/" + m.zone, "instance/network-interfaces/0/ip": m.addr, "instance/preempted": "FALSE", "instance/maintenance-event": "NONE",
		"instance/scheduling/preemptible": strings.ToUpper(strconv.FormatBool(m.market == "spot")),
	}
	if m.typ != nil {
		f["instance/machine-type"] = "projects/123456789012/machineTypes/" + m.typ.Name
	}
	if m.preempted {
		f["instance/preempted"] = "TRUE"
	}
	if m.node != nil {
		f["instance/attributes/agent-worker-number"] = strconv.Itoa(m.worker)
		f["instance/attributes/accelerator-type"] = m.kind
		f["instance/attributes/tpu-env"] = fmt.Sprintf("ACCELERATOR_TYPE: '%s'\nNODE_ID: '%s'\nWORKER_ID: '%d'\nZONE: '%s'\n", m.kind, m.node.name, m.worker, m.zone)
	}
	for k, v := range m.attributes {
		f["instance/attributes/"+k] = v
	}
	return f
}
