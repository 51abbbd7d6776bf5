package awssm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/ports/extension"
)

// maxAnswer bounds an answer, in bytes. A secret has at most 64 KiB.
const maxAnswer = 1 << 20

// Engine is the engine aws_secretsmanager. It is safe for concurrent use and keeps nothing between two questions.
type Engine struct{ conf Config }

var (
	_ extension.SecretResolver  = (*Engine)(nil)
	_ extension.ConfigDescriber = (*Engine)(nil)
	_ extension.ConfigValidator = (*Engine)(nil)
)

// New returns the engine. It reads the environment at each call.
func New(c Config) *Engine {
	if c.Options.MaxAnswer <= 0 || c.Options.MaxAnswer > maxAnswer {
		c.Options.MaxAnswer = maxAnswer
	}
	if c.Options.Timeout <= 0 {
		c.Options.Timeout = egress.DefaultTimeout
	}
	return &Engine{conf: c}
}

func (e *Engine) ConfigFields() []extension.ConfigField {
	return []extension.ConfigField{
		{Name: "region"}, {Name: "secret_id", Required: true}, {Name: "field"}, {Name: "access_key_id"},
		{Name: "secret_access_key", Secret: true},
	}
}

// ValidateConfig requires the secret members of the config too.
func (e *Engine) ValidateConfig(config map[string]any) error {
	_, err := parse(config)
	return err
}

// Resolve implements extension.SecretResolver: the text of the secret, or the member field of the JSON object that it
// is.
func (e *Engine) Resolve(ctx context.Context, config map[string]any) (string, error) {
	src, err := parse(config)
	if err != nil {
		return "", fmt.Errorf("aws secrets manager: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, e.conf.Options.Timeout)
	defer cancel()
	out, err := e.read(ctx, src)
	if err != nil {
		return "", fmt.Errorf("aws secrets manager: %w", err)
	}
	value, err := content(out)
	if err == nil && src.field != "" {
		value, err = fieldOf(value, src.field)
	}
	if err != nil {
		return "", fmt.Errorf("aws secrets manager: %w", err)
	}
	return value, nil
}

// content returns the text of a secret. A secret that was stored as bytes has to be valid UTF-8.
func content(out *secretsmanager.GetSecretValueOutput) (string, error) {
	switch {
	case out.SecretString != nil:
		return *out.SecretString, nil
	case out.SecretBinary == nil:
		return "", errors.New("the answer holds no secret")
	case !utf8.Valid(out.SecretBinary):
		return "", errors.New("the secret is not text")
	}
	return string(out.SecretBinary), nil
}

// fieldOf returns a member of an object. One that is no text is the text of its JSON.
func fieldOf(object, field string) (string, error) {
	members := map[string]json.RawMessage{}
	if json.Unmarshal([]byte(object), &members) != nil {
		return "", errors.New("the secret is not a JSON object and has no fields")
	}
	member := members[field]
	var value string
	switch {
	case len(member) == 0 || string(member) == "null":
		return "", fmt.Errorf("the secret has no field %q", field)
	case json.Unmarshal(member, &value) == nil:
		return value, nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, member); err != nil {
		return "", errors.New("the secret is not a JSON object and has no fields")
	}
	return compact.String(), nil
}
