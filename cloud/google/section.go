package google

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"fsub/cloud/provider"
)

// CheckSection checks what the sections of Google's clouds have in common. Reservations are named one by one.
func CheckSection(section, project string, markets []provider.Market) error {
	switch {
	case project == "":
		return fmt.Errorf("%s: project is missing: the ID of the project that pays (gcloud projects list)", section)
	case strings.ContainsAny(project, "/ "):
		return fmt.Errorf("%s: invalid project %q: want the ID of the project that pays (gcloud projects list)", section, project)
	}
	return provider.CheckMarkets(section, markets, []provider.Market{provider.OnDemand, provider.Spot, provider.Flex}, "; reservations are listed by their names")
}

// PriceClient opens clients for Google's price list with the credentials in a file, or where Google's own tools look. It calls nobody.
func PriceClient(credentials string) func(ctx context.Context, endpoint string) (*http.Client, error) {
	return func(ctx context.Context, endpoint string) (*http.Client, error) {
		return (&Account{Endpoint: endpoint, CredentialsFile: credentials}).Client(ctx, "https://www.googleapis.com/auth/cloud-billing.readonly")
	}
}
