package ec2

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"strings"
)

// apiError is a refusal as Amazon words it.
type apiError struct {
	Status     int
	Code, Text string
}

func (e *apiError) Error() string { return e.Code + ": " + e.Text }

// refuse is a refusal of the request, status 400.
func refuse(code, format string, args ...any) error {
	return &apiError{http.StatusBadRequest, code, fmt.Sprintf(format, args...)}
}

// statusOf is the HTTP status that EC2 sends some codes with; others come with 400.
func statusOf(code string) int {
	switch code {
	case "InsufficientInstanceCapacity", "InsufficientHostCapacity", "InsufficientReservedInstanceCapacity", "InternalError", "InternalFailure",
		"InsufficientCapacity", "ServerInternal":
		return http.StatusInternalServerError
	case "RequestLimitExceeded", "Unavailable", "ServiceUnavailable":
		return http.StatusServiceUnavailable
	case "AuthFailure":
		return http.StatusUnauthorized
	case "UnauthorizedOperation", "SignatureDoesNotMatch":
		return http.StatusForbidden
	case "DryRunOperation":
		return http.StatusPreconditionFailed
	}
	return http.StatusBadRequest
}

// text is a sentence for a code that a test injects without one.
func textOf(code string) string {
	switch code {
	case "RequestLimitExceeded":
		return "Request limit exceeded."
	case "UnauthorizedOperation":
		return "You are not authorized to perform this operation."
	case "AuthFailure":
		return "AWS was not able to validate the provided access credentials"
	case "InsufficientInstanceCapacity":
		return "There is no capacity available that matches your request."
	}
	return "The request was refused."
}

// errorXML is an error answer of the EC2 query protocol.
func errorXML(e *apiError, request string) []byte {
	var text strings.Builder
	xml.EscapeText(&text, []byte(e.Text))
	return fmt.Appendf(nil, `<?xml version="1.0" encoding="UTF-8"?>`+"\n"+
		`<Response><Errors><Error><Code>%s</Code><Message>%s</Message></Error></Errors><RequestID>%s</RequestID></Response>`, e.Code, text.String(), request)
}

// refusal is the error of a call that a test has refused.
func refusal(f *Fault) error {
	e := &apiError{f.Status, f.Code, f.Text}
	if e.Status == 0 {
		e.Status = statusOf(f.Code)
	}
	str(&e.Text, textOf(f.Code))
	return e
}
