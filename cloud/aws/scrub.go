package aws

import (
	"errors"
	"regexp"
	"strings"
	"time"

	"fsub/cloud/provider"

	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// What AWS repeats in its refusals of what it was sent: the canonical request holds the session
// token; an encoded authorization failure holds the whole request. Nothing of use to people follows either.
var cutFrom = []string{
	"The Canonical String for this request", "The String-to-Sign", "Encoded authorization failure message", "x-amz-security-token", "X-Amz-Security-Token",
}

var (
	keyID = regexp.MustCompile(`\b(AKIA|ASIA|AROA|AIDA)[A-Z0-9]{8,}`)
	// secretLike is a word that is as long as a secret key (40) and of its letters. Names of ARNs
	// have colons and dashes in between.
	secretLike = regexp.MustCompile(`[A-Za-z0-9/+=]{40,}`)
)

// scrub takes out of a text what may be a credential, and what is too long to be read.
func scrub(text string) string {
	for _, mark := range cutFrom {
		if i := strings.Index(text, mark); i >= 0 {
			text = strings.TrimSpace(text[:i])
		}
	}
	text = keyID.ReplaceAllString(text, "$1...")
	text = secretLike.ReplaceAllString(text, "[...]")
	const most = 500
	if len(text) > most {
		text = text[:most] + " ..."
	}
	return text
}

// sanitized is err if its words can be shown, else an error that says what of them can be.
func sanitized(err error) error {
	if text := scrub(err.Error()); text != err.Error() {
		return errors.New(text)
	}
	return err
}

// retryAfter is what the answer's header asks for.
func retryAfter(resp *smithyhttp.ResponseError) time.Duration {
	if resp == nil || resp.HTTPResponse() == nil {
		return 0
	}
	return provider.RetryAfter(resp.HTTPResponse().Header)
}
