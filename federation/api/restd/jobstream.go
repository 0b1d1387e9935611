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
func streamJobs(w http.ResponseWriter, v *listing.View, list []listing.Part, resp *wire.JobsResponse) error {
	// All but the jobs, which stand first: {"jobs":[],"last_backfill":...}
	rest, err := json.Marshal(resp)
	if err != nil {
		return err
	}
	const empty = `{"jobs":[]`
	rest = bytes.TrimPrefix(rest, []byte(empty))
	w.Header().Set("Content-Type", "application/json")
	out := bufio.NewWriterSize(w, 64<<10)
	out.WriteString(empty[:len(empty)-1])
	for i := range list {
		if i > 0 {
			out.WriteByte(',')
		}
		text, err := json.Marshal(v.Record(&list[i]))
		if err != nil {
			return err
		}
		out.Write(text)
	}
	out.WriteByte(']')
	out.Write(rest)
	out.WriteByte('\n')
	out.Flush() // it fails where the client has gone
	return nil
}
