package gce

import (
	"strconv"
	"time"

	"fsub/testbed/machines"
)

// operation is one long-running operation of Compute Engine.
type operation struct {
	name, kind     string
	zone, region   string
	requestID      string
	target         string
	inserted, over time.Time
	errors         []opError
}

// opError is an error of an operation.
type opError struct{ code, text string }

// begin makes an operation that is over after Config.Pending; then do is done, with the lock held, and its errors are the operation's.
func (c *Cloud) begin(kind, target string, r *request, do func() []opError) doc {
	o := &operation{name: "operation-" + machines.RandomHex(24), kind: kind, zone: r.vars["zone"], region: r.vars["region"], target: target, inserted: time.Now(), requestID: r.query.Get("requestId")}
	c.operations[o.name] = o
	if o.requestID != "" {
		c.requests[r.method.ID+" "+o.requestID] = o
	}
	c.Later(c.cfg.Pending, func() {
		if do != nil {
			o.errors = do()
		}
		o.over = time.Now()
	})
	return c.show(o)
}

// again is the operation that an earlier request with this one's ID has begun.
func (c *Cloud) again(r *request) *operation {
	if id := r.query.Get("requestId"); id != "" {
		return c.requests[r.method.ID+" "+id]
	}
	return nil
}

func (c *Cloud) show(o *operation) doc {
	status := "RUNNING"
	if !o.over.IsZero() {
		status = "DONE"
	}
	id, _ := strconv.ParseUint(o.name[len("operation-"):len("operation-")+12], 16, 64)
	d := doc{"kind": "compute#operation", "id": strconv.FormatUint(id, 10), "name": o.name, "operationType": o.kind, "status": status, "targetLink": o.target, "progress": 0,
		"insertTime": o.inserted.Format(time.RFC3339), "startTime": o.inserted.Format(time.RFC3339), "user": "daemon@" + c.cfg.Project + ".iam.gserviceaccount.com"}
	where := []string{"global"}
	if o.zone != "" {
		d["zone"], where = c.url("zones", o.zone), []string{"zones", o.zone}
	} else if o.region != "" {
		d["region"], where = c.url("regions", o.region), []string{"regions", o.region}
	}
	d["selfLink"] = c.url(append(where, "operations", o.name)...)
	if o.requestID != "" {
		d["clientOperationId"] = o.requestID
	}
	if status == "DONE" {
		d["endTime"], d["progress"] = o.over.Format(time.RFC3339), 100
	}
	if len(o.errors) > 0 {
		var list []any
		for _, e := range o.errors {
			list = append(list, doc{"code": e.code, "message": e.text})
		}
		d["error"] = doc{"errors": list}
		d["httpErrorStatusCode"], d["httpErrorMessage"] = statusOf(o.errors[0].code), "SERVICE UNAVAILABLE"
	}
	return d
}

// statusOf is what Google gives as the status of an operation's error.
func statusOf(code string) int {
	switch code {
	case "QUOTA_EXCEEDED":
		return 403
	case "RESOURCE_ALREADY_EXISTS":
		return 409
	}
	return 503
}

// waitOperation answers when the operation is over, or after two minutes.
func (c *Cloud) waitOperation(r *request) (doc, error) {
	o := c.operations[r.vars["operation"]]
	if o == nil {
		return nil, missing("operations", r.vars["operation"])
	}
	for end := time.Now().Add(2 * time.Minute); o.over.IsZero() && time.Now().Before(end) && !c.Closed() && r.Context().Err() == nil; {
		c.Mu.Unlock()
		time.Sleep(2 * time.Millisecond)
		c.Mu.Lock()
	}
	return c.show(o), nil
}
