package oidc

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"golang.org/x/oauth2"

	"github.com/writ-automation/writ/ports/identity"
)

// claims are the members of a verified document, by their exact names.
type claims map[string]any

// text returns a claim that is a string, otherwise "". White space alone counts as empty.
func (c claims) text(name string) string {
	s, _ := c[name].(string)
	if strings.TrimSpace(s) == "" {
		return ""
	}
	return s
}

// list returns a claim that is a string or a list of strings.
func (c claims) list(name string) ([]string, error) { return texts(name, c[name]) }

func texts(name string, value any) ([]string, error) {
	switch v := value.(type) {
	case nil:
		return nil, nil
	case string:
		return []string{v}, nil
	case []any:
		out := make([]string, 0, len(v))
		for _, e := range v {
			s, ok := e.(string)
			if !ok {
				return nil, fmt.Errorf("the claim %q holds something that is no text", name)
			}
			out = append(out, s)
		}
		return out, nil
	default:
		return nil, fmt.Errorf("the claim %q is neither a text nor a list of texts", name)
	}
}

// email returns the address if the provider has verified it. Some providers send the flag as a string.
func (c claims) email() string {
	if verified := c["email_verified"]; verified == true || verified == "true" {
		return c.text("email")
	}
	return ""
}

// groups returns the values of a claim. found is false if the claim is absent.
func (c claims) groups(name string) (groups []string, found bool, err error) {
	value := c.at(name)
	if value == nil {
		if c.elsewhere(name) {
			return nil, false, fmt.Errorf("the provider left the claim %q out because it lists too many (overage); "+
				"let it send the groups of this application alone", name)
		}
		return nil, false, nil
	}
	groups, err = texts(name, value)
	return groups, true, err
}

// at finds a claim by its whole name, otherwise by its dots as a path.
func (c claims) at(name string) any {
	if v, ok := c[name]; ok {
		return v
	}
	var v any = map[string]any(c)
	for part := range strings.SplitSeq(name, ".") {
		object, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = object[part]
	}
	return v
}

// elsewhere reports whether the provider sent only a reference to a claim (a distributed claim), which is not
// followed.
func (c claims) elsewhere(name string) bool {
	names, _ := c["_claim_names"].(map[string]any)
	_, moved := names[name]
	return moved || name == "groups" && c["hasgroups"] == true
}

// external returns the identity of the user. It reads the userinfo endpoint if the ID token lacks the required groups
// or a name.
func (p *Provider) external(
	ctx context.Context, d *described, token *oauth2.Token, id claims,
) (identity.External, error) {
	var groups []string
	var found bool
	var err error
	if p.cfg.GroupsClaim != "" {
		if groups, found, err = id.groups(p.cfg.GroupsClaim); err != nil {
			return identity.External{}, refused("the ID token: %w", err)
		}
	}
	var more claims
	if d.userInfo != "" && (p.cfg.GroupsClaim != "" && !found || id.text("preferred_username") == "" && id.email() == "") {
		if more, err = p.userInfo(ctx, d, token, id.text("sub")); err != nil {
			return identity.External{}, err
		}
	}
	if p.cfg.GroupsClaim != "" && !found {
		if groups, _, err = more.groups(p.cfg.GroupsClaim); err != nil {
			return identity.External{}, refused("the userinfo: %w", err)
		}
	}
	email := first(id.email(), more.email())
	return identity.External{
		Link:     identity.Link{Protocol: identity.OIDC, Issuer: p.cfg.Issuer, Subject: id.text("sub")},
		Username: first(id.text("preferred_username"), more.text("preferred_username"), email, id.text("sub")),
		FullName: first(id.text("name"), more.text("name")),
		Email:    email, Groups: groups,
	}, nil
}

func first(texts ...string) string {
	for _, s := range texts {
		if s != "" {
			return s
		}
	}
	return ""
}

// userInfo reads the userinfo endpoint. The answer must have the subject of the ID token.
func (p *Provider) userInfo(ctx context.Context, d *described, token *oauth2.Token, subject string) (claims, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.userInfo, nil)
	if err != nil {
		return nil, refused("the userinfo endpoint: %w", clip(err))
	}
	req.Header.Set("Authorization", "Bearer "+token.AccessToken)
	req.Header.Set("Accept", "application/json")
	resp, err := p.client.Do(req)
	if err != nil {
		return nil, failed("the userinfo endpoint", err)
	}
	defer func() { _ = resp.Body.Close() }()
	switch media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); {
	case resp.StatusCode >= 500:
		return nil, unavailable("the userinfo endpoint answered %d", resp.StatusCode)
	case resp.StatusCode != http.StatusOK:
		return nil, refused("the userinfo endpoint answered %d", resp.StatusCode)
	case media != "application/json":
		return nil, refused("the userinfo endpoint answered with something other than JSON")
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, failed("the userinfo endpoint", err)
	}
	var c claims
	if json.Unmarshal(body, &c) != nil {
		return nil, refused("the userinfo endpoint answered with something other than a JSON object")
	}
	if c.text("sub") != subject {
		return nil, refused("the userinfo is about another subject")
	}
	return c, nil
}
