package v1

import "strings"

// MaxHeader bounds the header of a request, its path and query among it, in bytes. A longer query, of thousands of jobs, comes as the body of the GET:
// see [ShortPath].
const MaxHeader = 64 << 10

// QueryType is the content type of a query that comes as a body. It is written as in a URL, and is added to the URL's own.
const QueryType = "application/x-www-form-urlencoded"

// OfCaller stands for the caller in the word users of a query. Commands on other machines use it: their user's name and uid may be others on the daemon's.
const OfCaller = "@me"

// ShortPath splits the path of a GET whose query is too long for a header: the query is to be the body, of type QueryType. It is nil if path may stay as it is.
func ShortPath(path string) (short string, query []byte) {
	short, long, _ := strings.Cut(path, "?")
	if len(path) <= MaxHeader/2 || long == "" {
		return path, nil
	}
	return short, []byte(long)
}
