package gcpsm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/writ-automation/writ/platform/egress"
)

const (
	scope = "https://www.googleapis.com/auth/cloud-platform"
	// maxFile bounds a credentials file, in bytes.
	maxFile = 1 << 20
	// metadataTimeout bounds the request to the metadata server. Most machines have none, and some networks drop the
	// packets.
	metadataTimeout = 5 * time.Second
)

// own returns the policy for the server's own account, which allows the metadata server.
func (e *Engine) own() egress.Policy {
	p := e.conf.Policy
	p.Allow = append(slices.Clone(p.Allow), netip.MustParsePrefix("169.254.169.254/32"),
		netip.MustParsePrefix("fd20:ce::254/128"))
	return p
}

// login returns an access token of the server's own account.
func (e *Engine) login(ctx context.Context) (string, error) {
	text, err := e.credentials()
	if err != nil {
		return "", err
	}
	client := e.client(e.own())
	defer client.CloseIdleConnections()
	var token string
	if text == nil {
		token, err = fromMetadata(ctx, client)
	} else {
		token, err = fromFile(ctx, client, text)
	}
	if err == nil && (token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })) {
		err = errors.New("the answer holds no token")
	}
	return token, err
}

// credentials returns the text of a credentials file, or nil if there is none.
func (e *Engine) credentials() ([]byte, error) {
	if e.conf.Credentials != "" {
		return []byte(e.conf.Credentials.Reveal()), nil
	}
	if path := os.Getenv("GOOGLE_APPLICATION_CREDENTIALS"); path != "" {
		text, err := readFile(path)
		if err != nil {
			return nil, errors.New("the file that GOOGLE_APPLICATION_CREDENTIALS names cannot be read")
		}
		return text, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, nil
	}
	text, err := readFile(filepath.Join(home, ".config", "gcloud", "application_default_credentials.json"))
	if err != nil {
		return nil, nil
	}
	return text, nil
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// fromFile exchanges a credentials file for a token. The file belongs to the operator and may name any address.
func fromFile(ctx context.Context, client *http.Client, text []byte) (string, error) {
	unusable := errors.New("the server's credentials cannot be used")
	var file struct {
		Type google.CredentialsType `json:"type"`
	}
	if json.Unmarshal(text, &file) != nil || !slices.Contains([]google.CredentialsType{
		google.ServiceAccount, google.AuthorizedUser, google.ExternalAccount, google.ExternalAccountAuthorizedUser,
		google.ImpersonatedServiceAccount,
	}, file.Type) {
		return "", unusable
	}
	// Some sources of the library send requests without a context. Every request gets this one.
	bound := &bounded{ctx: ctx, inner: client.Transport}
	client.Transport, client.Timeout = bound, 0 // the context ends a request, with an error that tells why
	ctx = context.WithValue(ctx, oauth2.HTTPClient, client)
	found, err := google.CredentialsFromJSONWithTypeAndParams(ctx, text, file.Type,
		google.CredentialsParams{Scopes: []string{scope}})
	if err != nil {
		return "", unusable
	}
	token, err := found.TokenSource.Token()
	if err != nil {
		return "", refused(ctx, err, bound.failed())
	}
	return token.AccessToken, nil
}

// bounded sends requests within one context and stores the last transport error.
type bounded struct {
	ctx   context.Context
	inner http.RoundTripper
	mu    sync.Mutex
	err   error
}

func (b *bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.inner.RoundTrip(req.WithContext(b.ctx))
	if err != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.err = err
	}
	return resp, err
}

// CloseIdleConnections implements an optional interface of http.Client.
func (b *bounded) CloseIdleConnections() {
	if i, ok := b.inner.(interface{ CloseIdleConnections() }); ok {
		i.CloseIdleConnections()
	}
}

func (b *bounded) failed() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// fromMetadata fetches a token of the machine's account from the metadata server.
func fromMetadata(ctx context.Context, client *http.Client) (string, error) {
	none := errors.New(
		"the server has no credentials of Google: neither GOOGLE_APPLICATION_CREDENTIALS nor a metadata server")
	at := url.URL{
		Scheme: "http", Host: cmp.Or(os.Getenv("GCE_METADATA_HOST"), "169.254.169.254"),
		Path:     "/computeMetadata/v1/instance/service-accounts/default/token",
		RawQuery: url.Values{"scopes": {scope}}.Encode(),
	}
	short, cancel := context.WithTimeout(ctx, metadataTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(short, http.MethodGet, at.String(), nil)
	if err != nil {
		return "", none
	}
	req.Header.Set("Metadata-Flavor", "Google")
	resp, err := client.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return "", egress.Unanswered(err)
		}
		return "", none
	}
	defer func() { _ = resp.Body.Close() }()
	var token struct {
		AccessToken string `json:"access_token"`
	}
	answer, err := egress.ReadAll(resp.Body, maxAnswer)
	switch {
	case err != nil:
		return "", egress.Unanswered(err)
	case resp.StatusCode != http.StatusOK || resp.Header.Get("Metadata-Flavor") != "Google" ||
		json.Unmarshal(answer, &token) != nil:
		return "", errors.New("the metadata server has no token")
	}
	return token.AccessToken, nil
}
