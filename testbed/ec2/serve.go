package ec2

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"fsub/testbed/ec2/model"
	"fsub/testbed/machines"
)

// maxBody bounds a request: RunInstances with user data of 16 kB needs 24 kB.
const maxBody = 1 << 20

// ServeHTTP answers one call: pricing if it has a target in its header, else EC2.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, "the request is too long", http.StatusRequestEntityTooLarge)
		return
	}
	time.Sleep(c.cfg.Latency)
	if target := r.Header.Get("X-Amz-Target"); target != "" {
		c.servePricing(w, r, body, target)
		return
	}
	form, err := url.ParseQuery(string(body))
	if err != nil || form.Get("Action") == "" {
		form = r.URL.Query()
	}
	action, request := form.Get("Action"), machines.UUID()
	fault := c.Begin(r, action, form)
	fault.Cut(r, c.Done())
	answer, err := c.answer(r, body, form, action, request, fault)
	fault.CutReply()
	w.Header().Set("Content-Type", "text/xml;charset=UTF-8")
	w.Header().Set("X-Amzn-Requestid", request)
	var refused *apiError
	if errors.As(err, &refused) {
		w.WriteHeader(refused.Status)
		answer = errorXML(refused, request)
	}
	w.Header().Set("Content-Length", itoa(len(answer)))
	w.Write(answer)
}

// answer does what is asked. An error is an *apiError.
func (c *Cloud) answer(r *http.Request, body []byte, form url.Values, action, request string, fault *Fault) ([]byte, error) {
	op, act := c.ops[action], actions[action]
	c.Mu.Lock()
	defer c.Mu.Unlock()
	if c.Closed() {
		return nil, &apiError{http.StatusServiceUnavailable, "ServiceUnavailable", "The stand-in is closed."}
	}
	if err := c.admit(r, body, "ec2", action, fault); err != nil {
		return nil, err
	}
	if op == nil || act == nil {
		return nil, refuse("InvalidAction", "The action %s is not valid for this web service.", action)
	}
	args, err := op.Decode(form)
	if err != nil {
		var bad *model.Refusal
		errors.As(err, &bad)
		return nil, refuse(bad.Code, "%s", bad.Text)
	}
	doc, err := act(c, args)
	if err != nil {
		return nil, err
	}
	out, err := op.Encode(doc, request)
	if err != nil { // a fault of the stand-in
		c.cfg.Log.Error("answer does not fit the model", "action", action, "err", err)
		return nil, &apiError{http.StatusInternalServerError, "InternalError", "the stand-in's answer does not fit the model: " + err.Error()}
	}
	return out, nil
}

// admit refuses what has no good signature, comes too often, or is not allowed. The lock is held.
func (c *Cloud) admit(r *http.Request, body []byte, service, action string, fault *Fault) error {
	if err := verify(r, body, c.cfg.AccessKey, c.cfg.SecretKey, service, time.Now()); err != nil {
		return err
	}
	if !c.Allow(action) {
		return &apiError{http.StatusServiceUnavailable, "RequestLimitExceeded", "Request limit exceeded."}
	}
	if c.Denied(action) {
		return &apiError{http.StatusForbidden, "UnauthorizedOperation", "You are not authorized to perform this operation. User: arn:aws:iam::" + owner +
			":user/fsub is not authorized to perform: " + service + ":" + action[strings.LastIndex(action, ":")+1:] + " because no identity-based policy allows it"}
	}
	if fault.Refuses() {
		return refusal(fault)
	}
	return nil
}

// dryRun is the answer to a request that was to be checked only. Call it when everything has been checked.
func dryRun(args model.Doc) error {
	if args.Bool("DryRun") {
		return &apiError{http.StatusPreconditionFailed, "DryRunOperation", "Request would have succeeded, but DryRun flag is set."}
	}
	return nil
}
