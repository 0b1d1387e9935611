package api

import "reflect"

// Bodies are the types of the bodies that the routes of /fed/v1 take, by method and path.
func (s *Server) Bodies() map[string]reflect.Type {
	all := map[string]reflect.Type{}
	for _, r := range s.fedRoutes() {
		if r.Method != "GET" {
			all[r.Method+" "+r.Path] = nil
		}
		if r.In != nil {
			all[r.Method+" "+r.Path] = reflect.TypeOf(r.In)
		}
	}
	return all
}

// MayCall says who may call the routes of /fed/v1, by method and path.
func (s *Server) MayCall() map[string]string {
	all := map[string]string{}
	for _, r := range s.fedRoutes() {
		all[r.Method+" "+r.Path] = r.Who
	}
	return all
}
