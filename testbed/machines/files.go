package machines

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// ServeFile answers a request to a metadata service with a value, or with the names below a path.
func ServeFile(w http.ResponseWriter, r *http.Request, files map[string]string) {
	path := strings.Trim(r.URL.Path, "/")
	if value, ok := files[path]; ok {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, value)
		return
	}
	var names []string
	for file := range files {
		if rest, below := strings.CutPrefix(file, path+"/"); below {
			name, _, deeper := strings.Cut(rest, "/")
			if deeper {
				name += "/"
			}
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		http.Error(w, "404 - Not Found", http.StatusNotFound)
		return
	}
	slices.Sort(names)
	fmt.Fprint(w, strings.Join(slices.Compact(names), "\n"))
}
