package gcpsm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/ports/extension"
)

const (
	// maxAnswer bounds an answer, in bytes. A secret has at most 64 KiB.
	maxAnswer = 1 << 20
	public    = "https://secretmanager.googleapis.com"
)

// Engine is the engine gcp_secretmanager. It is safe for concurrent use and keeps nothing between two questions.
type Engine struct{ conf Config }

var (
	_ extension.SecretResolver  = (*Engine)(nil)
	_ extension.ConfigDescriber = (*Engine)(nil)
	_ extension.ConfigValidator = (*Engine)(nil)
)

// New returns the engine. It looks for the server's credentials at each call.
func New(c Config) *Engine {
	c.Endpoint = strings.TrimRight(cmp.Or(c.Endpoint, public), "/")
	if c.Options.MaxAnswer <= 0 || c.Options.MaxAnswer > maxAnswer {
		c.Options.MaxAnswer = maxAnswer
	}
	if c.Options.Timeout <= 0 {
		c.Options.Timeout = egress.DefaultTimeout
	}
	return &Engine{conf: c}
}

func (e *Engine) ConfigFields() []extension.ConfigField {
	return []extension.ConfigField{{Name: "project", Required: true}, {Name: "secret", Required: true}, {Name: "version"}}
}

func (e *Engine) ValidateConfig(config map[string]any) error {
	_, err := resource(config)
	return err
}

func (e *Engine) Resolve(ctx context.Context, config map[string]any) (string, error) {
	name, err := resource(config)
	if err != nil {
		return "", fmt.Errorf("google secret manager: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, e.conf.Options.Timeout)
	defer cancel()
	token, err := e.login(ctx)
	if err != nil {
		return "", fmt.Errorf("google secret manager: log in: %w", err)
	}
	value, err := e.read(ctx, name, token)
	if err != nil {
		return "", fmt.Errorf("google secret manager: read: %w", err)
	}
	return value, nil
}

// client follows no redirect. It is for one question.
func (e *Engine) client(p egress.Policy) *http.Client {
	client := egress.Client(p, e.conf.Options)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client
}

func (e *Engine) read(ctx context.Context, name, token string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.conf.Endpoint+"/v1/"+name+":access", nil)
	if err != nil {
		return "", errors.New("the service has no usable address")
	}
	req.Header.Set("Authorization", "Bearer "+token)
	client := e.client(e.conf.Policy)
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return "", egress.Unanswered(err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := egress.ReadAll(resp.Body, maxAnswer)
	if err != nil {
		return "", egress.Unanswered(err)
	}
	if resp.StatusCode != http.StatusOK {
		return "", failure(resp.StatusCode)
	}
	return payload(answer)
}

// payload returns the text of a version after it has verified the checksum.
func payload(answer []byte) (string, error) {
	var version struct {
		Payload struct {
			Data []byte          `json:"data"`
			CRC  json.RawMessage `json:"dataCrc32c"` // a number, as a text
		} `json:"payload"`
	}
	if json.Unmarshal(answer, &version) != nil || version.Payload.Data == nil {
		return "", errors.New("the answer holds no secret")
	}
	data := version.Payload.Data
	if checksum := strings.Trim(string(version.Payload.CRC), `"`); checksum != "" && checksum != "null" {
		sum, err := strconv.ParseInt(checksum, 10, 64)
		if err != nil || sum != int64(crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))) {
			return "", errors.New("the secret was damaged on its way: its checksum is another one")
		}
	}
	if !utf8.Valid(data) {
		return "", errors.New("the secret is not text")
	}
	return string(data), nil
}
