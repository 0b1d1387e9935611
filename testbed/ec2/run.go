package ec2

import (
	"maps"
	"net/http"
	"reflect"
	"slices"
	"time"

	"fsub/testbed/ec2/model"
)

// answered is what a client token was used for.
type answered struct {
	args model.Doc
	doc  func() (model.Doc, error)
}

// once answers a request that has a client token: as it was answered the first time if it is the same request, with a refusal if it is not. first is nil if the
// token is new. The lock is held.
func (c *Cloud) once(action string, args model.Doc) (first *answered, err error) {
	token := args.Str("ClientToken")
	if token == "" {
		return nil, nil
	}
	if len(token) > 64 {
		return nil, refuse("InvalidParameterValue", "The client token %s is longer than 64 characters.", token)
	}
	first = c.tokens[action+"/"+token]
	if first != nil && !reflect.DeepEqual(first.args, without(args)) {
		return nil, refuse("IdempotentParameterMismatch", "Arguments on this idempotent request are inconsistent with arguments used in previous request(s).")
	}
	return first, nil
}

// again answers a request that was answered before.
func again(first *answered, args model.Doc, err error) (model.Doc, error) {
	if err == nil {
		err = dryRun(args)
	}
	if err != nil {
		return nil, err
	}
	return first.doc()
}

// remember keeps the answer to a request with a client token.
func (c *Cloud) remember(action string, args model.Doc, doc func() (model.Doc, error)) {
	if token := args.Str("ClientToken"); token != "" {
		c.tokens[action+"/"+token] = &answered{without(args), doc}
	}
}

func without(args model.Doc) model.Doc {
	out := maps.Clone(args)
	delete(out, "DryRun")
	return out
}

func (c *Cloud) runInstances(args model.Doc) (model.Doc, error) {
	if first, err := c.once("RunInstances", args); err != nil || first != nil {
		return again(first, args, err)
	}
	whole, err := c.withTemplate(args)
	if err != nil {
		return nil, err
	}
	l, err := c.plan(whole)
	if err != nil {
		return nil, err
	}
	if err := dryRun(args); err != nil {
		return nil, err
	}
	made := c.make(l)
	c.begins(made)
	answer := func() (model.Doc, error) {
		if !slices.ContainsFunc(made, func(in *instance) bool { return in.state() != terminated }) {
			return nil, refuse("IdempotentInstanceTerminated", "The request to launch an instance uses the same client token as a previous request for which the instance has been terminated.")
		}
		return c.reservationDoc(l, made), nil
	}
	c.remember("RunInstances", args, answer)
	return answer()
}

// reservationDoc shows the instances of one launch as they are now.
func (c *Cloud) reservationDoc(l *launch, instances []*instance) model.Doc {
	var docs []model.Doc
	for _, in := range instances {
		docs = append(docs, c.describe(in, in.state()))
	}
	return model.Doc{"ReservationId": l.id, "OwnerId": owner, "Instances": docs}
}

func (c *Cloud) terminateInstances(args model.Doc) (model.Doc, error) {
	ids := args.Strs("InstanceIds")
	if len(ids) > 1000 {
		return nil, refuse("InvalidParameterValue", "At most 1000 instances can be terminated at once.")
	}
	found, err := c.named(ids)
	if err != nil {
		return nil, err
	}
	if err := dryRun(args); err != nil {
		return nil, err
	}
	var out []model.Doc
	for _, in := range found {
		before := in.state()
		c.end(in, "Client.UserInitiatedShutdown", "User initiated shutdown", "User initiated ("+time.Now().UTC().Format("2006-01-02 15:04:05")+" GMT)")
		out = append(out, model.Doc{"InstanceId": in.id, "PreviousState": stateDoc(before), "CurrentState": stateDoc(in.state())})
	}
	return model.Doc{"TerminatingInstances": out}, nil
}

func stateDoc(s string) model.Doc { return model.Doc{"Code": stateCode[s], "Name": s} }

// named returns the instances with these IDs; all of them or an error that names those that are unknown.
func (c *Cloud) named(ids []string) ([]*instance, error) {
	var out []*instance
	unknown := ""
	for _, id := range ids {
		if !validID(id, "i-") {
			return nil, refuse("InvalidInstanceID.Malformed", "Invalid id: %q", id)
		}
		if in := c.instances[id]; in != nil {
			out = append(out, in)
		} else if unknown != "" {
			unknown += ", " + id
		} else {
			unknown = id
		}
	}
	switch {
	case unknown == "":
		return out, nil
	case len(ids)-len(out) > 1:
		return nil, refuse("InvalidInstanceID.NotFound", "The instance IDs '%s' do not exist", unknown)
	}
	return nil, &apiError{http.StatusBadRequest, "InvalidInstanceID.NotFound", "The instance ID '" + unknown + "' does not exist"}
}
