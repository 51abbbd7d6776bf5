package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// catalogServer keeps a catalog in memory and answers according to section 5 of the contract.
type catalogServer struct {
	*httptest.Server
	mu       sync.Mutex
	objects  map[string]map[string]*kept // by path and id
	next     int
	writes   []string // method, path and name of each change
	bodies   []map[string]any
	unlisted bool // no list of credentials
	page     int  // rows of a list at most
	// forbidden are the lists that the caller may not read, "members" among them.
	forbidden []string
	// before is called with every write, outside of the lock; an answer of false is a 500.
	before func(method, path string, body map[string]any) bool
}

type kept struct {
	fields   obj
	revision int
	members  map[string]string // roles by account
}

// members lists the members that a caller sets, by path. A star marks required ones.
var catalogMembers = map[string][]string{
	"projects": strings.Fields("name* repo_url* branch credential_id install_deps org_id"),
	"inventories": strings.Fields("name* content known_hosts format* credential_ids queue host_key_policy " +
		"max_concurrent org_id"),
	"inventory-sources": strings.Fields(
		"name* kind* config path project_id credential_id inventory_id* update_on_launch sync_interval org_id"),
	"templates": strings.Fields("name* tool playbook command shards inventory_id inventory project_id extra_vars limit " +
		"tags skip_tags forks verbosity diff_mode timeout notifications survey steps credential_ids " +
		"selectable_credential_ids queue labels change dry_run allow_overrides max_concurrent when_busy locks " +
		"exclusive_hosts org_id"),
	"schedules": strings.Fields("name* cron* timezone enabled overlap template_id run pipeline answers dry_run org_id"),
	"triggers":  strings.Fields("name* template_id* require_signature branch events org_id"),
	"orgs":      {"name*"}, "teams": {"name*"}, "queues": {"max_concurrent*"},
	"credential-types": strings.Fields("name* fields* inject"),
	"credentials":      strings.Fields("name* kind settings source type_id fields org_id secret"),
	"windows":          strings.Fields("name* mode* match cron duration from to timezone outside* enabled"),
	"grants":           strings.Fields("subject* object* level*"),
	"policies": strings.Fields("name* effect* enabled match exclude_dry_run risk_at_least actors distinct_approver " +
		"message approvals_needed approver_teams"),
}

var catalogPrefixes = map[string]string{
	"projects": "prj", "inventories": "inv", "inventory-sources": "src", "templates": "tpl", "schedules": "sch",
	"triggers": "trg", "policies": "pol",
	"orgs": "org", "credentials": "crd", "teams": "team", "credential-types": "cty", "windows": "win", "grants": "grt",
	"users": "usr", "queues": "q",
}

func newCatalogServer(t *testing.T) *catalogServer {
	t.Helper()
	s := &catalogServer{objects: map[string]map[string]*kept{}, page: 1000}
	for plural := range catalogPrefixes {
		s.objects[plural] = map[string]*kept{}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/{kind}", s.list)
	mux.HandleFunc("GET /v1/{kind}/{id}", s.get)
	mux.HandleFunc("GET /v1/{kind}/{id}/members", s.members)
	mux.HandleFunc("POST /v1/{kind}/{id}/members", s.addMember)
	mux.HandleFunc("DELETE /v1/{kind}/{id}/members/{user}", s.removeMember)
	mux.HandleFunc("POST /v1/{kind}", s.write)
	mux.HandleFunc("PUT /v1/{kind}/{id}", s.write)
	mux.HandleFunc("DELETE /v1/{kind}/{id}", s.remove)
	mux.HandleFunc("POST /v1/templates/{id}/launch", s.launch)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// put stores an object unchanged, without the API, and returns its id.
func (s *catalogServer) put(plural string, fields obj) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store(plural, fields)
}

func (s *catalogServer) store(plural string, fields obj) string {
	s.next++
	id := fmt.Sprintf("%s_%026d", catalogPrefixes[plural], s.next)
	s.objects[plural][id] = &kept{fields: fields, revision: 1}
	return id
}

func (s *catalogServer) problem(w http.ResponseWriter, code int, format string, args ...any) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(obj{"error": fmt.Sprintf(format, args...)})
}

func (s *catalogServer) answer(w http.ResponseWriter, code int, k *kept, body obj) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("ETag", strconv.Quote(strconv.Itoa(k.revision)))
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

func (s *catalogServer) list(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	plural := r.PathValue("kind")
	all, ok := s.objects[plural]
	if !ok || plural == "credentials" && s.unlisted || slices.Contains(s.forbidden, plural) {
		s.problem(w, http.StatusNotFound, "there is no such page")
		return
	}
	var ids []string
	for id, k := range all {
		if name := r.URL.Query().Get("name"); name == "" || k.fields["name"] == name {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int {
		return strings.Compare(fmt.Sprint(all[a].fields["name"])+a, fmt.Sprint(all[b].fields["name"])+b)
	})
	offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	limit = min(limit, s.page)
	rows := []obj{}
	for _, id := range ids[min(offset, len(ids)):min(offset+limit, len(ids))] {
		rows = append(rows, s.render(plural, id, all[id], false))
	}
	body := obj{strings.ReplaceAll(plural, "-", "_"): rows, "count": len(rows), "total": len(ids), "limit": limit}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}

func (s *catalogServer) get(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	plural, id := r.PathValue("kind"), r.PathValue("id")
	k := s.objects[plural][id]
	if k == nil {
		s.problem(w, http.StatusNotFound, "there is no such object")
		return
	}
	s.answer(w, http.StatusOK, k, s.render(plural, id, k, true))
}

func stale(r *http.Request, k *kept) bool {
	return r.Header.Get("If-Match") != strconv.Quote(strconv.Itoa(k.revision))
}

func (s *catalogServer) write(w http.ResponseWriter, r *http.Request) {
	plural, id := r.PathValue("kind"), r.PathValue("id")
	d := json.NewDecoder(r.Body)
	d.UseNumber()
	var body obj
	if err := d.Decode(&body); err != nil {
		s.problem(w, http.StatusBadRequest, "no JSON")
		return
	}
	if s.before != nil && !s.before(r.Method, r.URL.Path, body) {
		s.problem(w, http.StatusInternalServerError, "the disk is full")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.objects[plural][id]
	switch {
	case plural == "queues":
		if k == nil {
			k = &kept{}
			s.objects[plural][id] = k
		}
		body["name"] = id
		k.fields = body
		s.writes = append(s.writes, fmt.Sprintf("%s %s %s", r.Method, plural, id))
		s.answer(w, http.StatusOK, k, s.render(plural, id, k, true))
		return
	case r.Method == http.MethodPut && k == nil:
		s.problem(w, http.StatusNotFound, "there is no such object")
		return
	case k != nil && stale(r, k):
		s.problem(w, http.StatusPreconditionFailed, "the object has changed")
		return
	}
	fields, wrong := s.fields(plural, id, k, body)
	if wrong != "" {
		s.problem(w, http.StatusBadRequest, "%s", wrong)
		return
	}
	for other, x := range s.objects[plural] {
		if other != id && x.fields["name"] == fields["name"] && x.fields["org_id"] == fields["org_id"] &&
			(plural != "grants" || x.fields["subject"] == fields["subject"] && x.fields["object"] == fields["object"] &&
				x.fields["level"] == fields["level"]) {
			s.problem(w, http.StatusConflict, "the name is taken")
			return
		}
	}
	s.writes = append(s.writes, fmt.Sprintf("%s %s %s", r.Method, plural, cmp.Or[any](fields["name"], fields["level"])))
	s.bodies = append(s.bodies, body)
	if k != nil {
		k.fields, k.revision = fields, k.revision+1
		s.answer(w, http.StatusOK, k, s.render(plural, id, k, true))
		return
	}
	id = s.store(plural, fields)
	k = s.objects[plural][id]
	out := s.render(plural, id, k, true)
	if plural == "triggers" {
		out["token"], out["hook_path"], out["signing_secret"] = "tok"+id, "/hooks/tok"+id, "shh-"+id
	}
	s.answer(w, http.StatusCreated, k, out)
}

// fields checks the members that a caller sets and returns the stored ones: empty members are absent.
func (s *catalogServer) fields(plural, id string, k *kept, body obj) (obj, string) {
	known := catalogMembers[plural]
	for name := range body {
		if !slices.Contains(known, name) && !slices.Contains(known, name+"*") {
			return nil, name + ": unknown field"
		}
	}
	out := obj{}
	for _, m := range known {
		name, required := strings.CutSuffix(m, "*")
		v, provided := body[name]
		if required && !provided || plural == "inventories" && name == "content" && !provided && k == nil {
			return nil, name + ": is missing"
		}
		if k != nil && !provided && (plural == "triggers" || name == "content" || name == "known_hosts") {
			v = k.fields[name]
		}
		switch x := v.(type) {
		case nil, bool, json.Number, string:
			if slices.Contains([]any{nil, "", json.Number("0"), false}, v) && name != "enabled" && name != "require_signature" &&
				(name != "max_concurrent" || plural != "templates" || v == nil) {
				continue
			}
		case obj:
			if len(x) == 0 {
				continue
			}
		case []any:
			if len(x) == 0 {
				continue
			}
		}
		out[name] = v
	}
	if k != nil {
		visible := s.render(plural, id, k, true)
		for name := range out {
			out[name] = unmask(visible[name], out[name], k.fields[name])
		}
	}
	for name, v := range map[string]bool{"enabled": true, "require_signature": true} {
		if slices.Contains(known, name) && out[name] == nil {
			out[name] = v
		}
	}
	if plural == "credentials" && k != nil && out["secret"] == nil {
		out["secret"] = k.fields["secret"]
	}
	for name := range out {
		if ref, ok := out[name].(string); ok && strings.HasSuffix(name, "_id") && !s.exists(ref) {
			return nil, name + ": does not exist"
		}
	}
	return out, ""
}

func (s *catalogServer) exists(id string) bool {
	for _, all := range s.objects {
		if all[id] != nil {
			return true
		}
	}
	return s.unlisted && strings.HasPrefix(id, "crd_")
}

func (s *catalogServer) remove(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	plural, id := r.PathValue("kind"), r.PathValue("id")
	k := s.objects[plural][id]
	switch {
	case k == nil:
		s.problem(w, http.StatusNotFound, "there is no such object")
	case stale(r, k) && plural != "grants":
		s.problem(w, http.StatusPreconditionFailed, "the object has changed")
	case s.used(id):
		s.problem(w, http.StatusConflict, "something uses it")
	default:
		s.writes = append(s.writes, fmt.Sprintf("DELETE %s %s", plural, cmp.Or[any](k.fields["name"], k.fields["level"])))
		delete(s.objects[plural], id)
		w.WriteHeader(http.StatusNoContent)
	}
}

func (s *catalogServer) used(id string) bool {
	for _, all := range s.objects {
		for _, k := range all {
			raw, _ := json.Marshal(k.fields)
			if bytes.Contains(raw, []byte(id)) {
				return true
			}
		}
	}
	return false
}

func (s *catalogServer) launch(w http.ResponseWriter, r *http.Request) {
	d := json.NewDecoder(r.Body)
	d.UseNumber()
	var body obj
	_ = d.Decode(&body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes = append(s.writes, "launch "+r.PathValue("id")+" "+r.Header.Get("Idempotency-Key"))
	s.bodies = append(s.bodies, body)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(obj{"id": "run_1", "status": "pending"})
}

// changed returns the writes since its last call.
func (s *catalogServer) changed() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.writes
	s.writes = nil
	return out
}

// writ runs a command against the server.
func (s *catalogServer) writ(t testing.TB, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	w := environment{out: &o, err: &e, in: strings.NewReader(""),
		environ: []string{"WRIT_SERVER=" + s.URL, "WRIT_TOKEN=writ_test"}}
	code = execute(t.Context(), w, args)
	return code, o.String(), e.String()
}
