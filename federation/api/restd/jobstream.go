package restd

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"

	"fsub/federation/api/listing"
	"fsub/slurm/wire"
)

// streamJobs answers with list as slurmrestd does, written job by job: in that shape a hundred thousand jobs are 600 MB.
func streamJobs(w http.ResponseWriter, r *http.Request, v *listing.View, list []listing.Part, resp *wire.JobsResponse) error {
	var rest any = resp // all but the jobs, which stand first
	s := shapeOf(r)
	if s != nil {
		shaped, err := s.answer(resp, replyOf(r))
		if err != nil {
			return err
		}
		delete(shaped, "jobs")
		rest = shaped
	}
	after, err := json.Marshal(rest)
	if err != nil {
		return err
	}
	after = bytes.TrimPrefix(bytes.TrimPrefix(after, []byte(`{"jobs":[],`)), []byte("{"))
	w.Header().Set("Content-Type", "application/json")
	out := bufio.NewWriterSize(w, 64<<10)
	out.WriteString(`{"jobs":[`)
	for i := range list {
		if i > 0 {
			out.WriteByte(',')
		}
		var record any = v.Record(&list[i])
		if s != nil {
			if record, err = generic(record); err != nil {
				return err
			}
			record = s.fields["jobs"].elem.of(record)
		}
		text, err := json.Marshal(record)
		if err != nil {
			return err
		}
		out.Write(text)
	}
	out.WriteString("],")
	out.Write(after)
	out.WriteByte('\n')
	out.Flush() // it fails where the client has gone
	return nil
}
