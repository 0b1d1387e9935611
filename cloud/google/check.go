package google

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/api/googleapi"

	"fsub/federation/driver"
)

// Check asks Google what a first day needs to know. It asks in plain requests: the clients of the SDK for all that is looked at would be larger than what they are asked.
type Check struct {
	Project string
	Role    string // the file with the least role, as the documentation names it: "cloud/gcp/role.yaml"

	endpoint string
	http     *http.Client
}

// Check opens a Check with credentials that may look at everything.
func (a *Account) Check(ctx context.Context, project, role string) (*Check, error) {
	client, err := a.Client(ctx, "https://www.googleapis.com/auth/cloud-platform")
	return &Check{Project: project, Role: role, endpoint: a.Endpoint, http: client}, err
}

// compute is a path of Compute Engine's project.
func (c *Check) compute(parts ...string) string {
	return "/compute/v1/projects/" + url.PathEscape(c.Project) + "/" + strings.Join(parts, "/")
}

// Get reads a resource of a service ("compute": compute.googleapis.com).
func (c *Check) Get(ctx context.Context, service, path string, out any) error {
	return c.call(ctx, http.MethodGet, service, path, nil, out)
}

func (c *Check) call(ctx context.Context, method, service, path string, body, out any) error {
	at := c.endpoint
	if at == "" {
		at = "https://" + service + ".googleapis.com"
	}
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, at+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := googleapi.CheckResponse(resp); err != nil {
		return err
	}
	const most = 32 << 20
	return json.NewDecoder(io.LimitReader(resp.Body, most)).Decode(out)
}

// Failed is a check that Google has refused, with what to do. missing is the advice where the thing is not there.
func (c *Check) Failed(name, service string, err error, missing string) driver.SiteCheck {
	k := driver.SiteCheck{Name: name, Result: driver.CheckFailed, Detail: err.Error()}
	var api *googleapi.Error
	text := err.Error()
	if errors.As(err, &api) {
		k.Detail, text = api.Message, api.Body+api.Message
	}
	switch {
	case api == nil && (strings.Contains(text, "oauth2") || strings.Contains(text, "credentials") || strings.Contains(text, "cannot fetch token")):
		k.Advice = "name a service account's key in credentials_file, or run the daemon on a machine of Google's with a service account"
	case api == nil || api.Code >= 500:
		k.Advice = fmt.Sprintf("does https://%s.googleapis.com answer from here?", service)
	case strings.Contains(text, "SERVICE_DISABLED") || strings.Contains(text, "accessNotConfigured") || strings.Contains(text, "has not been used in project"):
		k.Advice = fmt.Sprintf("gcloud services enable %s.googleapis.com --project=%s", service, c.Project)
	case strings.Contains(text, "ACCESS_TOKEN_SCOPE_INSUFFICIENT") || strings.Contains(text, "insufficient authentication scopes"):
		k.Advice = "give the daemon's machine the scope cloud-platform: the service account's role is what limits it"
	case api.Code == http.StatusNotFound:
		k.Advice = missing
	case api.Code == http.StatusUnauthorized || api.Code == http.StatusForbidden:
		k.Advice = "give the daemon's service account the role of " + c.Role + ": see docs/google.md"
	default:
		k.Advice = missing
	}
	return k
}

// Permissions are those of a role's file.
func Permissions(role string) (list []string) {
	for line := range strings.Lines(role) {
		if p, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
			list = append(list, strings.TrimSpace(p))
		}
	}
	return list
}

// Rights says which permissions the daemon lacks in the project.
func (c *Check) Rights(ctx context.Context, permissions []string) driver.SiteCheck {
	var got struct{ Permissions []string }
	const most = 100 // of one call
	lacks := permissions
	for some := range slices.Chunk(permissions, most) {
		err := c.call(ctx, http.MethodPost, "cloudresourcemanager", "/v3/projects/"+url.PathEscape(c.Project)+":testIamPermissions", map[string]any{"permissions": some}, &got)
		if err != nil {
			k := c.Failed("rights", "cloudresourcemanager", err, "is the project's ID right? gcloud projects list")
			k.Result = driver.CheckWarning // nothing but this check needs that API
			return k
		}
		lacks = slices.DeleteFunc(slices.Clone(lacks), func(p string) bool { return slices.Contains(got.Permissions, p) })
	}
	if len(lacks) == 0 {
		return driver.SiteCheck{Name: "rights", Result: driver.CheckOK, Detail: fmt.Sprintf("all %d that are needed", len(permissions))}
	}
	return driver.SiteCheck{Name: "rights", Result: driver.CheckFailed, Detail: "lacks " + strings.Join(lacks, ", "),
		Advice: fmt.Sprintf("gcloud iam roles update ROLE --project=%s --file=%s, and bind that role to the daemon's service account: see docs/google.md", c.Project, c.Role)}
}

// ActAs says whether the daemon may give machines a service account.
func (c *Check) ActAs(ctx context.Context, account string) driver.SiteCheck {
	const right = "iam.serviceAccounts.actAs"
	var got struct{ Permissions []string }
	err := c.call(ctx, http.MethodPost, "iam", "/v1/projects/-/serviceAccounts/"+url.PathEscape(account)+":testIamPermissions", map[string]any{"permissions": []string{right}}, &got)
	if err != nil {
		return c.Failed("service account", "iam", err, "gcloud iam service-accounts list --project="+c.Project)
	}
	k := driver.SiteCheck{Name: "service account", Result: driver.CheckOK, Detail: "machines may be given " + account}
	if !slices.Contains(got.Permissions, right) {
		k.Result, k.Detail = driver.CheckFailed, "the daemon may not give machines "+account
		k.Advice = fmt.Sprintf("gcloud iam service-accounts add-iam-policy-binding %s --role=roles/iam.serviceAccountUser --member=serviceAccount:DAEMON", account)
	}
	return k
}

// Project is what Compute Engine says of the project.
type Project struct {
	DefaultServiceAccount string
	Quotas                []Quota
}

// Quota is a bound of a project or a region.
type Quota struct {
	Metric       string
	Limit, Usage float64
}

// Describe reads the project, which takes credentials and little more.
func (c *Check) Describe(ctx context.Context) (p Project, k driver.SiteCheck) {
	if err := c.Get(ctx, "compute", "/compute/v1/projects/"+url.PathEscape(c.Project), &p); err != nil {
		return p, c.Failed("project", "compute", err, "is the project's ID right? gcloud projects list")
	}
	return p, driver.SiteCheck{Name: "project", Result: driver.CheckOK, Detail: c.Project + " answers"}
}

// QuotaOfZones reads a quota that each zone has for itself, as Cloud Quotas tells. A zone without a value has none of it.
func (c *Check) QuotaOfZones(ctx context.Context, service, id string) (map[string]int, error) {
	var got struct {
		DimensionsInfos []struct {
			Details             struct{ Value string }
			ApplicableLocations []string
		}
	}
	err := c.Get(ctx, "cloudquotas", "/v1/projects/"+url.PathEscape(c.Project)+"/locations/global/services/"+service+"/quotaInfos/"+id, &got)
	limits := map[string]int{}
	for _, info := range got.DimensionsInfos {
		n, _ := strconv.Atoi(info.Details.Value)
		if info.Details.Value == "-1" {
			n = math.MaxInt // no bound
		}
		for _, zone := range info.ApplicableLocations {
			limits[zone] = max(limits[zone], n)
		}
	}
	return limits, err
}
