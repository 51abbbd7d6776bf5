package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/cmd/cli/internal/apidoc"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/near"
)

// references are members that hold ids of other objects and do not say so by their names.
func references() map[string]string {
	return map[string]string{"approver_teams": "team", "type_id": "credential-type", "inventory_source_id": "source"}
}

// refersTo returns the noun of the objects whose ids a member holds.
func refersTo(member string) (noun, bool) {
	if name := references()[member]; name != "" {
		return findNoun(name)
	}
	name, one := strings.CutSuffix(member, "_id")
	if !one {
		if name, one = strings.CutSuffix(member, "_ids"); !one {
			return noun{}, false
		}
	}
	return findNoun(strings.ReplaceAll(strings.TrimPrefix(name, "selectable_"), "_", "-"))
}

// namedBy returns the noun of the objects that the values of a member name, empty for none.
func namedBy(m apidoc.Member) string {
	switch m.Name {
	case "queue", "host", "change":
		return m.Name
	case "queues":
		return "queue"
	case "actor":
		return "user"
	case "target":
		return "template"
	}
	n, _ := refersTo(m.Name)
	return n.name
}

// id returns the id of an object by its name; an id is returned unchanged. Runs, of which there are many, have no names
// of their own.
func (n *noun) id(ctx context.Context, c *client, name string) (string, error) {
	if n.prefix == ids.Run {
		return c.runID(ctx, name)
	}
	if n.prefix == "" || ids.Valid(n.prefix, name) {
		return name, nil
	}
	list, ok := n.operation("list")
	if !ok || n.label == "" {
		return name, nil
	}
	query := url.Values{}
	named := hasMember(list.Query, "name")
	if named {
		query.Set("name", name)
	}
	rows, err := c.rows(ctx, list.Path, list.List, query)
	if err != nil {
		return "", err
	}
	id, err := c.pick(ctx, n.label, name, rows)
	if err != nil || id != "" {
		return id, err
	}
	if named {
		rows, _ = c.few(ctx, list, url.Values{})
	}
	return "", n.none(name, rows)
}

// none tells that there is no object of a name, and which there are.
func (n *noun) none(name string, rows []map[string]any) error {
	return fmt.Errorf("there is no %s %q%s", n.words(), name, n.instead(name, rows))
}

// pick returns the id of the row with a name, empty if there is none. It asks the server for names of
// organizations alone.
func (c *client) pick(ctx context.Context, label, name string, rows []map[string]any) (string, error) {
	var found, candidates []string
	for _, r := range rows {
		if stringField(r, label) != name {
			continue
		}
		found = append(found, stringField(r, "id"))
		what := "no organization"
		if o := stringField(r, "org_id"); o != "" {
			what = "organization " + c.orgName(ctx, o)
		} else if user := stringField(r, "username"); user != "" { // of a token
			what = "of " + user
		}
		candidates = append(candidates, oneLine(fmt.Sprintf("%s (%s)", stringField(r, "id"), what), 200))
	}
	if len(found) > 1 {
		return "", fmt.Errorf("several are named %q; give one of the ids: %s", name, strings.Join(candidates, ", "))
	}
	return strings.Join(found, ""), nil
}

// few reads the first rows of a list.
func (c *client) few(ctx context.Context, list operation, query url.Values) ([]map[string]any, error) {
	query.Set("limit", strconv.Itoa(pageRows))
	answer, _, err := c.exchange(ctx, http.MethodGet, list.Path+"?"+query.Encode(), "", nil)
	return objects(answer[list.List]), err
}

func objects(v any) []map[string]any {
	list, _ := v.([]any)
	out := make([]map[string]any, 0, len(list))
	for _, x := range list {
		if row, ok := x.(map[string]any); ok {
			out = append(out, row)
		}
	}
	return out
}

// instead names objects that exist: those with a similar name, else the first ones.
func (n *noun) instead(name string, rows []map[string]any) string {
	const most = 5
	names := make([]string, 0, len(rows))
	for _, r := range rows {
		names = append(names, oneLine(stringField(r, n.label), 80))
	}
	if meant := nearest(name, names); len(meant) > 0 {
		return "; did you mean " + strings.Join(meant, " or ") + "?"
	}
	switch {
	case len(names) == 0:
		return ""
	case len(names) > most:
		return fmt.Sprintf("; there are %s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return "; there are " + strings.Join(names, ", ")
}

// nearest returns at most three of the names that someone may have meant by a word, the nearest first.
func nearest(word string, names []string) []string {
	type candidate struct {
		name string
		far  int
	}
	var found []candidate
	word = strings.ToLower(word)
	for _, name := range names {
		lower := strings.ToLower(name)
		far := near.Edits([]rune(word), []rune(lower), len(word)+1)
		if len(word) > 2 && (strings.HasPrefix(lower, word) || strings.HasPrefix(word, lower) && len(lower) > 2) {
			far = min(far, 1)
		}
		if far <= 1+len(word)/4 && far < len(word) {
			found = append(found, candidate{name, far})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.far, b.far) })
	out := make([]string, 0, 3)
	for _, f := range found[:min(len(found), cap(out))] {
		out = append(out, f.name)
	}
	return out
}

func hasMember(members []apidoc.Member, name string) bool {
	_, ok := memberOf(members, name)
	return ok
}

func memberOf(members []apidoc.Member, name string) (apidoc.Member, bool) {
	i := slices.IndexFunc(members, func(m apidoc.Member) bool { return m.Name == name })
	if i < 0 {
		return apidoc.Member{}, false
	}
	return members[i], true
}

// resolve replaces the names of objects in a body by their ids. It enters only members that the API describes.
func (c *client) resolve(ctx context.Context, body map[string]any, members []apidoc.Member) error {
	for _, m := range members {
		v, ok := body[m.Name]
		if !ok {
			continue
		}
		var err error
		switch x := v.(type) {
		case string:
			body[m.Name], err = c.reference(ctx, m.Name, x)
		case []any:
			for i := range x {
				if text, isText := x[i].(string); isText && err == nil {
					x[i], err = c.reference(ctx, m.Name, text)
				} else if inner, isObject := x[i].(map[string]any); isObject && err == nil {
					err = c.resolve(ctx, inner, m.Members)
				}
			}
		case map[string]any:
			err = c.resolve(ctx, x, m.Members)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	return nil
}

// reference returns what a member holds in place of the name of an object: an id, or user:ID and team:ID where the
// member names accounts and teams. Every other value is returned unchanged.
func (c *client) reference(ctx context.Context, member, v string) (string, error) {
	if n, ok := refersTo(member); ok && v != "" {
		return n.id(ctx, c, v)
	}
	switch member {
	case "target":
		return c.target(ctx, "", v)
	case "actor":
		if !slices.Contains([]string{"", "system", "cli", "worker"}, v) && !ids.Known(v) && !strings.Contains(v, ":") {
			v = "user:" + v
		}
	case "subject", "actors", "object":
	default:
		return v, nil
	}
	i := max(strings.IndexByte(v, ':'), 0)
	if member == "object" { // of an entry of the trail: kind/id
		i = max(strings.IndexAny(v, ":/"), 0)
	}
	n, ok := findNoun(strings.ReplaceAll(v[:i], "_", "-"))
	if !ok || n.prefix == "" {
		return v, nil
	}
	id, err := n.id(ctx, c, v[i+1:])
	if err == nil && (member == "subject" || member == "actors") {
		id = v[:i+1] + id
	}
	return id, err
}

// references replaces the names of objects in a query by their ids.
func (c *client) references(ctx context.Context, query url.Values) (err error) {
	for name, values := range query {
		for i := range values {
			if values[i], err = c.reference(ctx, name, values[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// path returns the path of an operation with its arguments: the object's name or id, and that of a member of it.
func (n *noun) path(ctx context.Context, c *client, o operation, a []string) (string, error) {
	path := o.Path
	for i := 0; strings.Contains(path, "{"); i++ {
		before, rest, _ := strings.Cut(path, "{")
		param, after, _ := strings.Cut(rest, "}")
		of, id, err := n, a[i], error(nil)
		if user, ok := findNoun("user"); ok && param == "userID" {
			of = &user
		}
		if param != versionParam {
			id, err = of.id(ctx, c, id)
		}
		if err != nil {
			return "", err
		}
		path = before + url.PathEscape(id) + after
	}
	return path, nil
}

// fetch reads an answer unchanged.
func (c *client) fetch(ctx context.Context, path string, query url.Values) (json.RawMessage, error) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	var raw json.RawMessage
	err := c.call(ctx, http.MethodGet, path, nil, &raw)
	return raw, err
}
