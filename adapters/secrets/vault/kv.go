package vault

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/writ-automation/writ/ports/extension"
)

// KV is the engine vault. It is safe for concurrent use and keeps nothing between two questions.
type KV struct{ conf Config }

var (
	_ extension.SecretResolver  = (*KV)(nil)
	_ extension.ConfigDescriber = (*KV)(nil)
	_ extension.ConfigValidator = (*KV)(nil)
)

// NewKV returns the engine for secrets in KV engines.
func NewKV(c Config) *KV { return &KV{conf: c} }

func (k *KV) ConfigFields() []extension.ConfigField {
	return fields(extension.ConfigField{Name: "kv_version"})
}

// ValidateConfig requires the secret members of the config too.
func (k *KV) ValidateConfig(config map[string]any) error {
	_, err := k.parse(config)
	return err
}

func (k *KV) parse(config map[string]any) (source, error) {
	src, err := k.conf.parse(config)
	if err != nil {
		return source{}, err
	}
	v, err := version(config)
	if err != nil || v == 1 {
		return src, err
	}
	src.versioned = true
	src.path, err = versionedPath(src.path)
	return src, err
}

// Resolve implements extension.SecretResolver: the value of the member field, or the text of the JSON object of all
// members.
func (k *KV) Resolve(ctx context.Context, config map[string]any) (string, error) {
	src, err := k.parse(config)
	if err != nil {
		return "", fmt.Errorf("vault: %w", err)
	}
	s, err := k.conf.open(ctx, src)
	if err != nil {
		return "", err
	}
	defer s.end(ctx)
	r, err := s.read(ctx)
	if err != nil {
		return "", err
	}
	data := r.Data
	if src.versioned {
		var version struct {
			Data     json.RawMessage `json:"data"`
			Metadata json.RawMessage `json:"metadata"`
		}
		if err := json.Unmarshal(data, &version); err != nil || !present(version.Metadata) {
			return "", errors.New("vault: the path is not in a KV engine of version 2")
		}
		data = version.Data
	}
	return fieldOf(data, src.field)
}

// present reports whether an answer has a member.
func present(m json.RawMessage) bool { return len(m) > 0 && !bytes.Equal(m, []byte("null")) }

// fieldOf returns a member of an object, or the text of the whole object if field is empty. A member that is not a text
// is returned as JSON.
func fieldOf(data json.RawMessage, field string) (string, error) {
	members := map[string]json.RawMessage{}
	if !present(data) || json.Unmarshal(data, &members) != nil {
		return "", errors.New("vault: the answer holds no secret")
	}
	member := data
	if field != "" {
		member = members[field]
	}
	var value string
	switch {
	case !present(member):
		return "", fmt.Errorf("vault: the secret has no field %q", field)
	case json.Unmarshal(member, &value) == nil:
		return value, nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, member); err != nil {
		return "", errors.New("vault: the answer holds no secret")
	}
	return compact.String(), nil
}
