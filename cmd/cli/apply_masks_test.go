package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/writ-automation/writ/ports/runs"
)

// render is an object as it may be read.
func (s *catalogServer) render(plural, id string, k *kept, whole bool) obj {
	out := obj{"id": id, "created_by": "usr_1", "created_at": "2026-05-01T12:00:00Z", "updated_at": "2026-05-01T12:00:00Z",
		"last_error": "a derived member"}
	for name, v := range k.fields {
		out[name] = v
	}
	if plural == "inventories" {
		content, _ := k.fields["content"].(string)
		sum := sha256.Sum256([]byte(content))
		out["digest"], out["hosts"], out["groups"], out["content"] = hex.EncodeToString(sum[:]), 1, 2, content
		if !whole {
			delete(out, "content")
			delete(out, "known_hosts")
		}
	}
	if plural == "credentials" {
		out["has_secret"] = out["secret"] != nil || out["source"] != nil
		delete(out, "secret")
	}
	if plural == "inventory-sources" {
		out["config"] = starred(k.fields["config"])
	}
	return redact("", out).(obj)
}

func starred(config any) any {
	c, _ := config.(obj)
	headers, ok := c["headers"].(obj)
	if !ok {
		return config
	}
	visible := obj{}
	for name := range headers {
		visible[name] = "***"
	}
	return obj{"url": c["url"], "headers": visible}
}

func masked(address string) string {
	scheme, rest, _ := strings.Cut(address, "://")
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + host + "/***"
}

// redact hides the values that the API does not return.
func redact(in string, v any) any {
	switch x := v.(type) {
	case obj:
		out := obj{}
		for name, w := range x {
			switch {
			case in == "extra_vars" && runs.LooksSecret(name):
				out[name] = "[redacted]"
			case in == "notifications" && name == "url":
				out[name] = masked(w.(string))
			case in == "notifications" && name == "key":
				out[name] = "***"
			case in == "extra_vars":
				out[name] = redact(in, w)
			default:
				out[name] = redact(name, w)
			}
		}
		return out
	case []any:
		out := make([]any, 0, len(x))
		for _, w := range x {
			out = append(out, redact(in, w))
		}
		return out
	}
	return v
}

// unmask restores the values that a client sends back masked.
func unmask(visible, provided, stored any) any {
	switch x := provided.(type) {
	case string:
		if was, ok := stored.(string); ok && x == visible && x != was {
			return stored
		}
	case obj:
		a, _ := visible.(obj)
		b, _ := stored.(obj)
		for name := range x {
			x[name] = unmask(a[name], x[name], b[name])
		}
	case []any:
		a, _ := visible.([]any)
		b, _ := stored.([]any)
		for i := range x {
			if i < len(a) && i < len(b) {
				x[i] = unmask(a[i], x[i], b[i])
			}
		}
	}
	return provided
}
