package submit

import (
	"encoding/json"
	"io"
	"strconv"
	"time"

	"fsub/cmd/internal/conn"
	"fsub/federation"
	v1 "fsub/federation/api/v1"
)

// pollLimit is longer than the daemon keeps a question open.
const pollLimit = 90 * time.Second

// wait returns the job's exit code once it has ended. When the daemon does not answer, it is asked
// again for as long as it takes, as sbatch does with its controller.
func wait(id string, stderr io.Writer, c *conn.Conn) int {
	c.SetTimeout(pollLimit)
	for pause := time.Second; ; {
		status, reply, err := c.Do("GET", "/fed/v1/job/"+id+"/wait", nil)
		switch {
		case err == nil && status == 200:
			var rec v1.JobRecord
			if err := json.Unmarshal(reply, &rec); err != nil {
				say(stderr, "sbatch: error: job "+id+": the daemon's answer cannot be read: "+err.Error())
				return 1
			}
			if rec.Job.State.Ended() {
				return exitCode(&rec)
			}
		case err == nil && status >= 400 && status < 500:
			say(stderr, "sbatch: error: job "+id+" cannot be waited for: the daemon answers with HTTP status "+strconv.Itoa(status))
			return 1
		case err == nil && status == 204:
			pause = time.Second
			continue // still going on
		}
		time.Sleep(pause)
		pause = min(2*pause, 30*time.Second)
	}
}

// exitCode is the highest one of the job's tasks.
func exitCode(rec *v1.JobRecord) int {
	code := oneCode(rec.Job.State, rec.Job.ExitStatus)
	for _, t := range rec.Tasks {
		code = max(code, oneCode(t.State, t.ExitStatus))
	}
	return code
}

// oneCode is 1 for whatever was killed or never ran to its end.
func oneCode(s federation.State, status int32) int {
	code, signal := int(status>>8&255), status&127
	if code == 0 && (signal != 0 || s != federation.Completed) {
		return 1
	}
	return code
}
