package gce

import (
	"net/http"
	"strconv"
)

// page is the part of a listing that a request asks for, and the token of the next.
func (r *request) page(list []any) (part []any, next string, err error) {
	size, from := 500, 0
	if text := r.query.Get("maxResults") + r.query.Get("pageSize"); text != "" {
		if size, err = strconv.Atoi(text); err != nil || size < 1 || size > 500 {
			return nil, "", &refusal{http.StatusBadRequest, "invalid", "Invalid value for field 'maxResults': '" + text + "'. Values must be within the range: [0, 500]"}
		}
	}
	if token := r.query.Get("pageToken"); token != "" {
		if from, err = strconv.Atoi(token); err != nil || from < 0 || from > len(list) {
			return nil, "", &refusal{http.StatusBadRequest, "invalid", "Invalid value for field 'pageToken': '" + token + "'"}
		}
	}
	if end := from + size; end < len(list) {
		return list[from:end], strconv.Itoa(end), nil
	}
	return list[from:], "", nil
}
