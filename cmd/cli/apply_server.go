package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/cmd/cli/internal/manifest"
)

// Limits for reading a catalog.
const (
	pageRows   = 1000
	maxObjects = 200_000
)

// stored is an object as the server has it.
type stored struct {
	manifest.Key
	id, tag string
	row     map[string]any // numbers are json.Number
	// levels are the ids of the grants of a subject on an object, by level.
	levels map[string]string
	// closed reports that the caller may not read a part: the members of a group, the object of a grant.
	closed bool
}

// serverObjects are the objects of a server, by name.
type serverObjects struct {
	c       *client
	orgs    map[string]string // names by id
	objects map[manifest.Key]*stored
	keys    map[string]manifest.Key // by id
	// unlisted are the kinds whose objects the server does not list for this caller.
	unlisted map[string]bool
}

// exchange sends a request and returns the object of the answer with its tag. If tag is not empty, the request succeeds
// only while the object has this tag.
func (c *client) exchange(
	ctx context.Context, method, path, tag string, body any,
) (o map[string]any, newTag string, err error) {
	raw, newTag, err := c.exchangeRaw(ctx, method, path, tag, body)
	if err != nil || len(raw) == 0 {
		return nil, "", err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&o); err != nil {
		return nil, "", fmt.Errorf("the answer of %s has an unknown format: %w", c.base, err)
	}
	return o, newTag, nil
}

// exchangeRaw is exchange without decoding the answer, which is empty for 204.
func (c *client) exchangeRaw(
	ctx context.Context, method, path, tag string, body any,
) (raw []byte, newTag string, err error) {
	ctx, cancel := c.within(ctx, method)
	defer cancel()
	with := *c
	if tag != "" {
		with.header = http.Header{"If-Match": {tag}}
	}
	resp, err := with.request(ctx, method, path, body)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, "", cmp.Or(late(ctx), fmt.Errorf("read the answer: %w", err))
	}
	return raw, resp.Header.Get("ETag"), nil
}

// rows reads a whole list.
func (c *client) rows(ctx context.Context, path, member string, query url.Values) ([]map[string]any, error) {
	var out []map[string]any
	for len(out) < maxObjects {
		q := url.Values{"limit": {strconv.Itoa(pageRows)}, "offset": {strconv.Itoa(len(out))}}
		for k, v := range query {
			q[k] = v
		}
		o, _, err := c.exchange(ctx, http.MethodGet, path+"?"+q.Encode(), "", nil)
		if err != nil {
			return nil, err
		}
		list, _ := o[member].([]any)
		for _, x := range list {
			if row, ok := x.(map[string]any); ok {
				out = append(out, row)
			}
		}
		total, _ := o["total"].(json.Number)
		if n, err := total.Int64(); err != nil || len(list) == 0 || int64(len(out)) >= n {
			return out, nil
		}
	}
	return nil, fmt.Errorf("the server has more than %d of %s", maxObjects, member)
}

func stringField(row map[string]any, member string) string {
	s, _ := row[member].(string)
	return s
}

// unlistable reports whether the server refuses a list: it does not have it, or the caller may not read it.
func unlistable(err error) bool {
	var api *apiError
	return errors.As(err, &api) && slices.Contains([]int{http.StatusForbidden, http.StatusNotFound,
		http.StatusMethodNotAllowed}, api.Status)
}

// readServerObjects reads all objects of the kinds, of those that they name, and the names of organizations.
func readServerObjects(ctx context.Context, c *client, kinds []string) (*serverObjects, error) {
	h := &serverObjects{c: c, orgs: map[string]string{}, objects: map[manifest.Key]*stored{},
		keys: map[string]manifest.Key{}, unlisted: map[string]bool{}}
	wanted := append(slices.Clone(kinds), manifest.Org)
	for i := 0; i < len(wanted); i++ {
		k, _ := manifest.KindOf(wanted[i])
		for _, t := range k.Targets() {
			if !slices.Contains(wanted, t) {
				wanted = append(wanted, t)
			}
		}
	}
	all := append([]manifest.Kind{{Name: manifest.User, Plural: "users", Path: "/v1/users"}}, manifest.Kinds()...)
	for _, k := range all {
		if !slices.Contains(wanted, k.Name) {
			continue
		}
		rows, err := c.rows(ctx, k.Path, k.Plural, nil)
		h.unlisted[k.Name] = unlistable(err)
		if err != nil && !unlistable(err) {
			return nil, fmt.Errorf("list the %s: %w", plural(k.Name), err)
		}
		h.add(k.Name, rows)
	}
	return h, nil
}

// plural returns a kind for use within a sentence.
func plural(kind string) string {
	if k, ok := manifest.KindOf(kind); ok && kind != manifest.Org {
		return strings.ReplaceAll(k.Plural, "_", " ")
	}
	return manifest.Noun(kind) + "s"
}

// mayList returns an error that names the kinds that the caller may not list.
func (h *serverObjects) mayList(kinds []string) error {
	var errs []error
	for _, name := range kinds {
		if h.unlisted[name] {
			errs = append(errs, fmt.Errorf("this caller may not list the %s of the server", plural(name)))
		}
	}
	return errors.Join(errs...)
}

func (h *serverObjects) add(kind string, rows []map[string]any) {
	for _, r := range rows {
		id := stringField(r, "id")
		k := manifest.Key{Kind: kind, Name: stringField(r, "name"), Org: h.org(stringField(r, "org_id"))}
		switch kind {
		case manifest.Grant:
			h.addGrant(r)
			continue
		case manifest.User:
			k.Name = stringField(r, "username")
		case manifest.Queue:
			id = k.Name
		case manifest.Org:
			h.orgs[id] = k.Name
		}
		h.objects[k] = &stored{Key: k, id: id, row: r}
		h.keys[id] = k
	}
}

// org returns the name of an organization, or its id if the name is not visible.
func (h *serverObjects) org(id string) string {
	if name := h.orgs[id]; name != "" {
		return name
	}
	return id
}

// orgID returns the id of an organization by its name; ok is false if there is none.
func (h *serverObjects) orgID(name string) (id string, ok bool) {
	for id, n := range h.orgs {
		if n == name {
			return id, true
		}
	}
	return name, name == "" || manifest.IsID(manifest.Org, name)
}

// name returns the name of the object with an id.
func (h *serverObjects) name(kind, id string) manifest.Ref {
	if k, ok := h.keys[id]; ok && k.Kind == kind {
		return manifest.Ref{Key: k}
	}
	return manifest.Ref{Key: manifest.Key{Kind: kind}, ID: id}
}

// id returns the id of an object.
func (h *serverObjects) id(k manifest.Key) (string, error) {
	if o := h.objects[k]; o != nil && o.id != "" {
		return o.id, nil
	}
	if k.Kind == manifest.Queue {
		return k.Name, nil
	}
	return "", fmt.Errorf("there is no %s", k)
}

// spec returns an object in the form of documents.
func (h *serverObjects) spec(o *stored) map[string]any {
	k, _ := manifest.KindOf(o.Kind)
	return manifest.FromAPI(k, o.row, h.name)
}

// index records the names of the objects in a list.
func (h *serverObjects) index(pass func(manifest.Key) bool) manifest.Index {
	x := manifest.Index{}
	for k := range h.objects {
		if pass(k) {
			x.Add(k)
		}
	}
	return x
}

func objectPath(kind, id string) string {
	k, _ := manifest.KindOf(kind)
	return k.Path + "/" + url.PathEscape(id)
}

// whole reads an object with its tag.
func (h *serverObjects) whole(ctx context.Context, o *stored) error {
	if o.Kind == manifest.Grant || o.Kind == manifest.Queue {
		return nil // they have no revisions
	}
	row, tag, err := h.c.exchange(ctx, http.MethodGet, objectPath(o.Kind, o.id), "", nil)
	if err != nil {
		return fmt.Errorf("read %s: %w", o.Key, err)
	}
	if tag == "" {
		return fmt.Errorf("read %s: the server sent no ETag", o.Key)
	}
	if members, ok := o.row["members"]; ok {
		row["members"] = members
	}
	o.row, o.tag = row, tag
	return nil
}
