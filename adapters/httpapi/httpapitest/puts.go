package httpapitest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// PutsBack checks that every PUT of the object "known" accepts the answer of its GET, ignores the other read-only
// members, and refuses another id, kind, creator and time of creation.
func (s *Server) PutsBack() {
	s.t.Helper()
	found := 0
	for _, op := range s.Operations() {
		if op.Method != http.MethodPut || !strings.HasSuffix(op.Path, "/{id}") {
			continue
		}
		found++
		path := strings.Replace(op.Path, "{id}", "known", 1)
		read := s.Call(http.MethodGet, path, "admin", "").Body
		if a := s.Call(http.MethodPut, path, "admin", read); a.Status != http.StatusOK {
			s.t.Errorf("%s refuses what GET returned: %d %s\n%s", path, a.Status, a.Body, read)
		}
		for member, value := range map[string]any{
			"id": "other", "kind": "token", "created_by": "usr_other", "created_at": "2020-01-01T00:00:00Z",
			"updated_at": "2020-01-01T00:00:00Z",
			"has_secret": false, "hosts": 99, "commit": "x", "last_error": "x", "last_run_id": "x",
			"synced_at": "2020-01-01T00:00:00Z",
		} {
			var object map[string]any
			if err := json.Unmarshal([]byte(read), &object); err != nil {
				s.t.Fatal(err)
			}
			if _, has := object[member]; !has {
				continue
			}
			if member == "kind" && object["inventory_id"] != nil {
				value = "script"
				delete(object, "config")
			}
			object[member] = value
			sent, err := json.Marshal(object)
			if err != nil {
				s.t.Fatal(err)
			}
			a := s.Call(http.MethodPut, path, "admin", string(sent))
			if member != "id" && member != "kind" && !strings.HasPrefix(member, "created_") {
				if a.Status != http.StatusOK {
					s.t.Errorf("%s with another %s: %d %s", path, member, a.Status, a.Body)
				}
			} else if where := a.Problem(http.StatusBadRequest, "invalid"); !slices.Equal(where, []string{member}) {
				s.t.Errorf("%s with another %s: %v", path, member, where)
			}
		}
	}
	if found == 0 {
		s.t.Error("there is no PUT of an object")
	}
}
