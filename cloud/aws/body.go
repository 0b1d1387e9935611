package aws

import (
	"bytes"
	"io"
	"net/http"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
)

// ownBody sends each request with a body of its own. smithy-go (1.28.8) closes a request's body as
// soon as it has the header of the answer. That may be before net/http has seen that body's end,
// which takes it for a failure to write, and closes the connection with the rest of the answer on it.
type ownBody struct{ sdk.HTTPClient }

func (o ownBody) Do(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		return o.HTTPClient.Do(r)
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	own := r.WithContext(r.Context())
	own.Body = io.NopCloser(bytes.NewReader(text))
	return o.HTTPClient.Do(own)
}
