package azure

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	"fsub/cloud/provider"
)

const (
	// createWait is how long Create waits for an operation before it answers KindPending.
	createWait = 20 * time.Second
	// pollEvery is how often an operation is looked at where Azure does not say.
	pollEvery = 5 * time.Second
	// createMost is how long machines may take to be made (Offering.Queue).
	createMost = 20 * time.Minute
)

// gang is a request that is being carried out.
type gang struct {
	p     *Provider
	name  string // of its set
	set   *armcompute.VirtualMachineScaleSet
	count int
}

// resume is how to go on with a request (provider.Error.Resume): with an operation, or with the end of a set that could not be filled.
type resume struct {
	Operation string   `json:"operation,omitempty"` // the SDK's resume token
	Failed    *failure `json:"failed,omitempty"`
}

// failure is a provider.Error that is to be told once nothing of the request is left.
type failure struct {
	Kind  provider.ErrorKind `json:"kind"`
	Scope provider.Scope     `json:"scope"`
	Code  string             `json:"code,omitempty"`
	Text  string             `json:"text"`
	After time.Duration      `json:"after,omitempty"`
}

func (f *failure) error() error {
	return &provider.Error{Kind: f.Kind, Scope: f.Scope, Code: f.Code, Text: f.Text, After: f.After}
}

type createPoller = *runtime.Poller[armcompute.VirtualMachineScaleSetsClientCreateOrUpdateResponse]

// goOn carries a request out, from where the last answer to it left it.
func (p *Provider) goOn(ctx context.Context, g *gang, from string) ([]provider.Instance, error) {
	var r resume
	if from != "" {
		if err := json.Unmarshal([]byte(from), &r); err != nil {
			p.log.Warn("a request cannot be resumed: its set is looked for", "name", g.name, "err", err)
			r = resume{}
		}
	}
	if r.Failed != nil {
		return nil, g.giveUp(ctx, r.Failed)
	}
	if r.Operation != "" {
		poller, err := p.sets.BeginCreateOrUpdate(ctx, p.cfg.ResourceGroup, g.name, armcompute.VirtualMachineScaleSet{},
			&armcompute.VirtualMachineScaleSetsClientBeginCreateOrUpdateOptions{ResumeToken: r.Operation})
		if err == nil {
			return g.follow(ctx, poller)
		}
		p.log.Warn("an operation cannot be resumed: its set is looked for", "name", g.name, "err", err)
	}
	poller, err := p.sets.BeginCreateOrUpdate(ctx, p.cfg.ResourceGroup, g.name, *g.set, &armcompute.VirtualMachineScaleSetsClientBeginCreateOrUpdateOptions{IfNoneMatch: ptr("*")})
	if codeOf(err) == "PreconditionFailed" {
		return g.find(ctx)
	}
	if err != nil {
		return nil, refused(err)
	}
	return g.follow(ctx, poller)
}

// follow waits for the operation that makes the set.
func (g *gang) follow(ctx context.Context, poller createPoller) ([]provider.Instance, error) {
	for end := time.Now().Add(g.p.wait); !poller.Done(); {
		resp, err := poller.Poll(ctx)
		switch {
		case codeOf(err) == "NotFound" || codeOf(err) == "OperationNotFound": // too long ago
			return g.find(ctx)
		case err != nil:
			return nil, g.failed(ctx, err)
		case poller.Done():
		case time.Now().After(end):
			token, err := poller.ResumeToken()
			if err != nil {
				return nil, refused(err)
			}
			return nil, pending("its scale set is being made", resume{Operation: token}, after(resp))
		default:
			if err := sleep(ctx, after(resp)); err != nil {
				return nil, refused(err)
			}
		}
	}
	if _, err := poller.Result(ctx); err != nil {
		return nil, g.failed(ctx, err)
	}
	return g.machines(ctx)
}

// failed is what the operation's failure comes to.
func (g *gang) failed(ctx context.Context, err error) error {
	e := provider.AsError(refused(err))
	switch e.Kind {
	case provider.KindUnavailable, provider.KindThrottled: // asked again, the set is found as it is
		return e
	case provider.KindDenied: // the right to look at it is gone, and the set may be there
		e.Kind = provider.KindUnavailable
		return e
	}
	return g.giveUp(ctx, &failure{e.Kind, e.Scope, e.Code, e.Text, e.After})
}

// find goes on with a set that is there already: an equal request's, or another's.
func (g *gang) find(ctx context.Context) ([]provider.Instance, error) {
	for end := time.Now().Add(g.p.wait); ; {
		got, err := g.p.sets.Get(ctx, g.p.cfg.ResourceGroup, g.name, nil)
		if err != nil {
			return nil, refused(err)
		}
		set := &got.VirtualMachineScaleSet
		if str(set.Tags[tagRequest]) != str(g.set.Tags[tagRequest]) {
			return nil, conflict("the token was used for another request")
		}
		switch stateOf(set) {
		case "Succeeded":
			return g.machines(ctx)
		case "Deleting":
			return nil, conflict("the gang has ended, and is being deleted")
		case "Failed":
			cause, err := g.cause(ctx)
			if err != nil {
				return nil, err
			}
			return nil, g.giveUp(ctx, cause)
		}
		if time.Now().After(end) {
			return nil, pending("its scale set is being made", resume{}, pollEvery)
		}
		if err := sleep(ctx, time.Second/2); err != nil {
			return nil, refused(err)
		}
	}
}

// machines are those of a set that is complete. Fewer are no gang any more: whatever is left of them List shows.
func (g *gang) machines(ctx context.Context) ([]provider.Instance, error) {
	found, err := g.p.members(ctx, &armcompute.VirtualMachineScaleSet{Name: &g.name, Tags: g.set.Tags})
	if err != nil {
		return nil, err
	}
	if len(found) != g.count {
		return nil, conflict("%d of the gang's %d machines are left", len(found), g.count)
	}
	return found, nil
}

// cause is why a set failed, as its view tells: "ProvisioningState/failed/AllocationFailed".
func (g *gang) cause(ctx context.Context) (*failure, error) {
	view, err := g.p.sets.GetInstanceView(ctx, g.p.cfg.ResourceGroup, g.name, nil)
	if err != nil {
		return nil, refused(err)
	}
	for _, s := range view.Statuses {
		if code, ok := strings.CutPrefix(str(s.Code), "ProvisioningState/failed/"); ok {
			m := meaningOf(code, str(s.Message))
			return &failure{m.kind, m.scope, code, scrub(str(s.Message)), m.after}, nil
		}
	}
	return &failure{Kind: provider.KindStockOut, Scope: provider.ScopeOffering, Text: "the scale set could not be filled, and Azure does not say why"}, nil
}

// giveUp deletes a set that could not be filled, with the machines that it has got. The failure is told once it is gone.
func (g *gang) giveUp(ctx context.Context, f *failure) error {
	rest := pending("what it had made is deleted: "+f.Text, resume{Failed: f}, pollEvery)
	if err := g.p.deleteSet(ctx, g.name); err != nil {
		g.p.log.Warn("a scale set that could not be filled is not deleted yet", "name", g.name, "err", err)
		return rest
	}
	for end := time.Now().Add(g.p.wait); ; {
		_, err := g.p.sets.Get(ctx, g.p.cfg.ResourceGroup, g.name, nil)
		if err != nil && unlessGone(err) == nil {
			return f.error()
		}
		if err != nil || time.Now().After(end) || sleep(ctx, time.Second/2) != nil {
			return rest
		}
	}
}

func stateOf(set *armcompute.VirtualMachineScaleSet) string {
	if set.Properties == nil {
		return ""
	}
	return str(set.Properties.ProvisioningState)
}

func pending(text string, r resume, after time.Duration) error {
	to := ""
	if r != (resume{}) {
		b, err := json.Marshal(r)
		if err != nil {
			panic(err) // strings
		}
		to = string(b)
	}
	return &provider.Error{Kind: provider.KindPending, Scope: provider.ScopeOffering, Text: text, Resume: to, After: after}
}

// after is how long an answer asks to wait before the next look.
func after(resp *http.Response) time.Duration {
	if d := retryAfter(resp); d > 0 {
		return d
	}
	return pollEvery
}

// retryAfter is what the answer's header asks for; 0: nothing.
func retryAfter(resp *http.Response) time.Duration {
	if resp == nil {
		return 0
	}
	if ms := resp.Header.Get("x-ms-retry-after-ms"); ms != "" {
		n, _ := strconv.Atoi(ms)
		return time.Duration(max(n, 0)) * time.Millisecond
	}
	return provider.RetryAfter(resp.Header)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// codeOf is Azure's code of an error; "": it is none of Azure's.
func codeOf(err error) string {
	var re *azcore.ResponseError
	if errors.As(err, &re) {
		if re.StatusCode == http.StatusPreconditionFailed {
			return "PreconditionFailed"
		}
		return re.ErrorCode
	}
	return ""
}
