package restd

import (
	"bufio"
	"bytes"
	"encoding/json"
	"maps"
	"net/http"

	"fsub/federation/api/listing"
	"fsub/slurm/wire"
)

// streamJobs answers with list as slurmrestd does, written job by job: in that shape a hundred thousand jobs are 600 MB.
func streamJobs(w http.ResponseWriter, r *http.Request, v *listing.View, list []listing.Part, resp *wire.JobsResponse) error {
	encode := func(v any) (json.RawMessage, error) { return json.Marshal(v) }
	rest, err := json.Marshal(resp) // all but the jobs, which stand first
	if s := shapeOf(r); s != nil && err == nil {
		encode = s.fields["jobs"].elem.json
		others := &shape{kind: '{', fields: maps.Clone(s.fields)}
		delete(others.fields, "jobs")
		others.order()
		rest, err = others.reshape(rest)
	}
	if err != nil {
		return err
	}
	rest = bytes.TrimPrefix(bytes.TrimPrefix(rest, []byte(`{"jobs":[],`)), []byte("{"))
	w.Header().Set("Content-Type", "application/json")
	out := bufio.NewWriterSize(w, 64<<10)
	out.WriteString(`{"jobs":[`)
	for i := range list {
		if i > 0 {
			out.WriteByte(',')
		}
		text, err := encode(v.Record(&list[i]))
		if err != nil {
			return err
		}
		out.Write(text)
	}
	out.WriteString("],")
	out.Write(rest)
	out.WriteByte('\n')
	out.Flush() // it fails where the client has gone
	return nil
}
