package azurekv

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/ports/extension"
)

const (
	// maxAnswer bounds an answer, in bytes.
	maxAnswer = 1 << 20
	// apiVersion is that of the Key Vault API.
	apiVersion = "7.4"
)

// Engine is the engine azure_keyvault. It is safe for concurrent use and keeps nothing between two questions.
type Engine struct{ conf Config }

var (
	_ extension.SecretResolver  = (*Engine)(nil)
	_ extension.ConfigDescriber = (*Engine)(nil)
	_ extension.ConfigValidator = (*Engine)(nil)
)

// New returns the engine.
func New(c Config) *Engine {
	c.Login = strings.TrimRight(cmp.Or(c.Login, publicLogin), "/")
	c.Vault = strings.TrimRight(cmp.Or(c.Vault, publicVault), "/")
	c.Scope = cmp.Or(c.Scope, publicScope)
	if c.Options.MaxAnswer <= 0 || c.Options.MaxAnswer > maxAnswer {
		c.Options.MaxAnswer = maxAnswer
	}
	return &Engine{conf: c}
}

func (e *Engine) ConfigFields() []extension.ConfigField {
	return []extension.ConfigField{
		{Name: "vault", Required: true}, {Name: "secret", Required: true}, {Name: "tenant_id", Required: true},
		{Name: "client_id", Required: true},
		{Name: "client_secret", Required: true, Secret: true},
	}
}

// ValidateConfig requires the secret members of the config too.
func (e *Engine) ValidateConfig(config map[string]any) error {
	_, err := e.conf.parse(config)
	return err
}

func (e *Engine) Resolve(ctx context.Context, config map[string]any) (string, error) {
	src, err := e.conf.parse(config)
	if err != nil {
		return "", fmt.Errorf("azure key vault: %w", err)
	}
	client := egress.Client(e.conf.Policy, e.conf.Options)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	defer client.CloseIdleConnections()
	token, err := e.login(ctx, client, src)
	if err != nil {
		return "", fmt.Errorf("azure key vault: log in: %w", err)
	}
	value, err := read(ctx, client, src, token)
	if err != nil {
		return "", fmt.Errorf("azure key vault: read: %w", err)
	}
	return value, nil
}

func (e *Engine) login(ctx context.Context, client *http.Client, src source) (string, error) {
	c := clientcredentials.Config{
		ClientID: src.client, ClientSecret: src.secure, TokenURL: e.conf.Login + "/" + src.tenant + "/oauth2/v2.0/token",
		Scopes: []string{e.conf.Scope}, AuthStyle: oauth2.AuthStyleInParams,
	}
	token, err := c.Token(context.WithValue(ctx, oauth2.HTTPClient, client))
	if err != nil {
		return "", refused(err)
	}
	if strings.ContainsFunc(token.AccessToken, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", errors.New("the answer holds no token")
	}
	return token.AccessToken, nil
}

func read(ctx context.Context, client *http.Client, src source, token string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet,
		src.base+"/secrets/"+src.secret+"?api-version="+apiVersion, nil)
	if err != nil {
		return "", errors.New("the vault has no usable address")
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", "application/json")
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
	var secret struct {
		Value *string `json:"value"`
	}
	if json.Unmarshal(answer, &secret) != nil || secret.Value == nil {
		return "", errors.New("the answer holds no secret")
	}
	return *secret.Value, nil
}
